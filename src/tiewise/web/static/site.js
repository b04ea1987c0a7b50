// The pages work without this. It adds keys, guards against double clicks, and a quicker exit.
(() => {
  "use strict";

  // Leave at once: empty the screen first, then go. The server remembers, so that a step back
  // shows nothing of the study.
  const exit = document.querySelector("[data-leave]");
  const leave = () => {
    document.title = "…";
    document.body.replaceChildren();
    location.replace(exit.href);
  };
  if (exit) {
    exit.addEventListener("click", (event) => {
      event.preventDefault();
      leave();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave();
    });
  }

  // A page that the browser kept from before is out of date, and may be one that was left.
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  for (const one of document.querySelectorAll("[data-needs-script]")) one.hidden = false;

  // Send a form once.
  const lost = document.querySelector("[data-offline]");
  for (const form of document.querySelectorAll("form[data-once]")) {
    let sent = false;
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      const offline = lost && navigator.onLine === false;
      if (lost) lost.hidden = !offline;
      if (sent || offline) {
        event.preventDefault();
        return;
      }
      sent = true;
      document.body.classList.add("sending");
      // Later, because a button that is disabled by now would not send its value.
      setTimeout(() => {
        for (const button of document.querySelectorAll("main button")) button.disabled = true;
      });
    });
  }
  addEventListener("online", () => {
    if (lost) lost.hidden = true;
  });

  // Keys for the answers.
  const pair = document.querySelector("form[data-keys]");
  if (pair) {
    const undo = document.querySelector('button[form="undo"]');
    const keys = {};
    // Each button names its keys, as the study's answers have them.
    for (const button of [...pair.querySelectorAll('button[name="outcome"]'), undo]) {
      for (const key of button?.getAttribute("aria-keyshortcuts").split(" ") ?? []) {
        keys[key.length === 1 ? key.toLowerCase() : key] = () => button.disabled || button.click();
      }
    }
    const wanted = document.querySelector("[data-keys-on]");
    try {
      wanted.checked = sessionStorage.getItem("keys") !== "off";
      wanted.addEventListener("change", () => {
        sessionStorage.setItem("keys", wanted.checked ? "on" : "off");
      });
    } catch {
      // A browser that keeps nothing: the choice holds for this page.
    }
    const seen = () =>
      pair.querySelector(".sides").getBoundingClientRect().bottom <=
      pair.querySelector(".bar").getBoundingClientRect().top + 2;
    document.addEventListener("keydown", (event) => {
      if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
      if (!wanted.checked || event.target.localName === "input") return;
      const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      // While part of the pair is out of sight, the arrow scrolls.
      if (!act || (event.key === "ArrowDown" && !seen())) return;
      event.preventDefault();
      act();
    });
  }

  // Tick all, or none.
  const all = document.querySelector("[data-all]");
  if (all) {
    all.addEventListener("click", (event) => {
      event.preventDefault();
      const boxes = [...document.querySelectorAll('input[name="group"]')];
      const tick = !boxes.every((box) => box.checked);
      for (const box of boxes) box.checked = tick;
    });
  }

  // Copy the personal link.
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const field = document.getElementById(button.dataset.copy);
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        button.textContent = button.dataset.copied;
      } catch {
        // It stays selected, to be copied by hand.
      }
    });
  }
})();
