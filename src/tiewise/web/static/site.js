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
  for (const form of document.querySelectorAll("form[data-once]")) {
    let sent = false;
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      if (sent) {
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

  // An answer, and why it was given, is sent by the page itself and kept in it until it has
  // arrived: a connection that breaks loses nothing. The server takes either once for an offer,
  // however often it comes.
  const PATIENCE = 20000, FIRST_WAIT = 2000, LONGEST_WAIT = 30000;
  const keepUntilSent = (form) => {
    const lost = document.querySelector("[data-offline]");
    let kept = null;
    let wait = FIRST_WAIT;

    const rest = () => {
      document.body.classList.add("sending");
      for (const button of document.querySelectorAll("main button")) button.disabled = true;
    };
    // Anything but the next page is shown as the server has it.
    const sendPlainly = () => {
      for (const [name, value] of kept) {
        if (form.elements[name]?.type === "hidden") continue;
        const field = document.createElement("input");
        Object.assign(field, { type: "hidden", name, value });
        form.append(field);
      }
      for (const field of form.querySelectorAll("input:not([type=hidden]), textarea, select")) {
        field.disabled = true;
      }
      HTMLFormElement.prototype.submit.call(form);
    };
    const later = () => {
      lost.hidden = false;
      const timer = setTimeout(again, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT);
      addEventListener("online", again, { once: true });
      function again() {
        clearTimeout(timer);
        removeEventListener("online", again);
        send();
      }
    };
    const send = async () => {
      let reply;
      try {
        reply = await fetch(form.getAttribute("action"), {
          method: "POST", body: kept, redirect: "manual", headers: { "X-Next-Page": "?" },
          keepalive: true, signal: AbortSignal.timeout?.(PATIENCE),
        });
      } catch {
        return later();
      }
      if (reply.status === 502 || reply.status === 504) return later();
      const next = reply.status === 204 && reply.headers.get("X-Next-Page");
      if (next) location.assign(next);
      else sendPlainly();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (kept) return;
      kept = new URLSearchParams(new FormData(form));
      if (event.submitter?.name) kept.append(event.submitter.name, event.submitter.value);
      rest();
      send();
    });
  };
  const pair = document.querySelector("form[data-answer]");
  for (const form of document.querySelectorAll("form[data-answer], form[data-reason]")) {
    keepUntilSent(form);
  }

  if (pair) {
    // A card that is pressed twice is chosen; once, it says so.
    const cards = [...pair.querySelectorAll("[data-choose]")];
    const arm = (card) => {
      for (const one of cards) {
        one.classList.toggle("armed", one === card);
        one.querySelector(".again").hidden = one !== card;
      }
    };
    const DOUBLE_CLICK = 350;
    let armed = 0;
    document.addEventListener("click", (event) => {
      const card = event.target.closest("[data-choose]");
      if (card && (event.target.closest("a, button, summary, audio, video") || `${getSelection()}`)) return;
      if (card?.classList.contains("armed")) {
        if (event.timeStamp - armed < DOUBLE_CLICK) return;
        pair.querySelector(`button[value="${card.dataset.choose}"]`)?.click();
      } else {
        armed = event.timeStamp;
        arm(card);
      }
    });
  }

  // Keys for the answers.
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
      if (!wanted.checked || event.target.closest("input, textarea, select, audio, video")) return;
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
