// Two long things to read, listen to or watch: a pane for each, with pages, sizes and tabs. Without
// this they follow each other on the page.
(() => {
  "use strict";

  const pair = document.querySelector("form[data-answer]");
  const sides = pair.querySelector(".sides");
  const LARGEST = { page: 5, prose: 2.5 }, SMALLEST = { page: 0.5, prose: 0.8 };
  const SHARP_FROM = 1.2; // from which size the large copy of a page is fetched
  const AS_SEEN = 1000; // milliseconds that a pane has to be on the screen

  // A pane: its pages, and how large they are shown.

  const makePane = (side) => {
    const pane = side.querySelector(".pane");
    const pages = [...pane.querySelectorAll(".page")];
    const prose = [...pane.querySelectorAll(".prose")];
    const tools = side.querySelector(".tools");
    const kind = pages.length ? "page" : "prose";
    const place = tools?.querySelector("[data-page-of]"); // where there are several pages
    const size = tools?.querySelector("[data-sizes] output");
    let scale = 1;

    // The page that crosses the upper third of the pane.
    const current = () => {
      const line = pane.getBoundingClientRect().top + pane.clientHeight / 3;
      const below = pages.findIndex((page) => page.getBoundingClientRect().bottom > line);
      return below < 0 ? pages.length - 1 : below;
    };
    const tell = () => {
      if (!place) return;
      const number = current();
      const text = place.dataset.pageOf.replace("#", number + 1).replace("%", pages.length);
      if (place.textContent !== text) place.textContent = text;
      tools.querySelector('[data-turn="-1"]').disabled = number === 0;
      tools.querySelector('[data-turn="1"]').disabled = number === pages.length - 1;
    };
    const turn = (step) => {
      const page = pages[Math.min(Math.max(current() + step, 0), pages.length - 1)];
      if (!page) return;
      const gap = page.getBoundingClientRect().top - pane.getBoundingClientRect().top;
      pane.scrollBy({ top: gap - pane.clientTop, behavior: "instant" });
      tell();
    };

    const sharpen = async (image) => {
      const large = image.dataset.large;
      if (!large || image.dataset.sharp) return;
      image.dataset.sharp = "1";
      const copy = new Image();
      copy.src = large;
      try {
        await copy.decode();
        image.removeAttribute("srcset");
        image.src = large;
      } catch {
        delete image.dataset.sharp; // the next step asks again
      }
    };
    // The point of a page that is at (x, y) of the window stays there.
    const resize = (to, x, y) => {
      const before = scale;
      scale = Math.min(Math.max(to, SMALLEST[kind]), LARGEST[kind]);
      if (Math.abs(scale - 1) < 0.04) scale = 1;
      if (scale === before) return;
      const box = pane.getBoundingClientRect();
      x ??= box.left + box.width / 2;
      y ??= box.top + box.height / 3;
      const parts = pages.length ? pages : prose;
      const held = parts.find((part) => part.getBoundingClientRect().bottom > y) ?? parts.at(-1);
      const old = held.getBoundingClientRect();
      const across = (x - old.left) / old.width, down = (y - old.top) / old.height;
      pane.style.setProperty("--zoom", scale);
      pane.style.setProperty("--text", Math.min(scale, LARGEST.prose));
      pane.classList.toggle("wide", scale > 1 && pages.length > 0);
      const now = held.getBoundingClientRect();
      pane.scrollBy({
        left: now.left + across * now.width - x, top: now.top + down * now.height - y,
        behavior: "instant",
      });
      if (size) size.textContent = `${Math.round(100 * scale)} %`;
      if (scale >= SHARP_FROM) pages.forEach((page) => page.querySelectorAll("img").forEach(sharpen));
      if (kind === "prose") remember(scale);
      if (pages.length) tell();
    };

    tools?.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.turn) turn(Number(button.dataset.turn));
      if (button?.dataset.zoom) step(Number(button.dataset.zoom));
    });
    const step = (by) => resize(by ? scale * Gestures.STEP ** by : 1);
    if (pages.length) {
      pane.addEventListener("scroll", () => requestAnimationFrame(tell), { passive: true });
      tell();
    }
    if (pages.length || prose.length) {
      Gestures.wheel(pane, () => scale, resize, (event) => event.ctrlKey);
    }
    if (pages.length) Gestures.pinch(pane, () => scale, resize);
    // A mouse drags a page that is larger than its pane; fingers scroll it.
    if (pages.length) {
      Gestures.drag(pane, (across, down) => pane.scrollBy(-across, -down), (event) =>
        event.pointerType === "mouse" && pane.classList.contains("wide") && event.target.closest(".page"));
    }
    return { side, pane, turn, step, resize, pages };
  };

  // The size of text is that of the pair before.
  const remember = (scale) => {
    try {
      sessionStorage.setItem("text-size", scale);
    } catch {
      // A browser that keeps nothing: the size holds for this page.
    }
  };
  const remembered = () => {
    try {
      return Number(sessionStorage.getItem("text-size")) || 1;
    } catch {
      return 1;
    }
  };

  const panes = [...sides.querySelectorAll(".side")].map(makePane);
  for (const one of panes) if (!one.pages.length && remembered() !== 1) one.resize(remembered());

  // Tabs, where there is room for one pane alone.

  const narrow = matchMedia("(max-width: 47.99rem) and (min-height: 26rem)");
  const tabs = [...pair.querySelectorAll("[data-tab]")];
  let active = panes[0];
  const show = (name) => {
    sides.dataset.shown = name;
    active = panes.find((one) => one.side.id === name);
    for (const tab of tabs) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
    }
    watch();
  };
  const arrange = () => {
    const roles = narrow.matches ? ["tablist", "tab", "tabpanel"] : [];
    const give = (element, role) =>
      role ? element.setAttribute("role", role) : element.removeAttribute("role");
    give(pair.querySelector(".tabs"), roles[0]);
    for (const tab of tabs) {
      give(tab, roles[1]);
      tab.setAttribute("aria-controls", tab.dataset.tab);
    }
    for (const one of panes) give(one.side, roles[2]);
    show(active.side.id);
  };
  for (const tab of tabs) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      show(tab.dataset.tab);
    });
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight", " "].includes(event.key)) return;
      event.preventDefault();
      const other = event.key === " " ? tab : tabs[event.key === "ArrowLeft" ? 0 : 1];
      show(other.dataset.tab);
      other.focus();
    });
  }

  // Both seen: each has been on the screen for a moment, and what can be played has been begun.

  const seen = pair.querySelector("[data-seen]");
  const open = new Set(seen ? panes : []);
  let timer = 0;
  const watch = () => {
    clearTimeout(timer);
    if (!open.size) return;
    timer = setTimeout(() => {
      const shown = narrow.matches ? [active] : panes;
      for (const one of shown) {
        const played = [...one.pane.querySelectorAll("audio, video")];
        if (!document.hidden && played.every((media) => media.dataset.begun)) open.delete(one);
      }
      if (open.size) return;
      seen.value = "yes";
      pair.querySelector("[data-unseen]").hidden = true;
    }, AS_SEEN);
  };
  if (seen) {
    seen.value = "no";
    document.addEventListener("visibilitychange", watch);
    pair.addEventListener("submit", (event) => {
      if (!open.size || event.submitter?.classList.contains("skip")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      pair.querySelector("[data-unseen]").hidden = false;
      if (narrow.matches) show([...open][0].side.id);
    }, { capture: true });
  }

  // Controls are shown once they know how long they are: browsers move their parts then.
  for (const media of sides.querySelectorAll("audio")) {
    const ready = () => media.classList.add("ready");
    if (media.readyState) ready();
    for (const event of ["loadedmetadata", "error", "play"]) media.addEventListener(event, ready);
    media.querySelector("source")?.addEventListener("error", ready);
  }

  // One thing plays at a time.
  document.addEventListener("play", (event) => {
    event.target.dataset.begun = "1";
    for (const media of document.querySelectorAll("audio, video")) {
      if (media !== event.target) media.pause();
    }
    watch();
  }, { capture: true });

  // Keys. Arrows scroll the pane that was used last.

  for (const one of panes) {
    for (const use of ["focusin", "pointerdown"]) one.side.addEventListener(use, () => (active = one));
  }
  const SCROLLS = { ArrowDown: 60, ArrowUp: -60 };
  const wanted = document.querySelector("[data-keys-on]");
  const go = (one) => {
    show(one.side.id);
    one.pane.focus({ preventScroll: true });
  };
  const acts = {
    "+": () => active.step(1), "=": () => active.step(1), "-": () => active.step(-1),
    n: () => active.turn(1), p: () => active.turn(-1), a: () => go(panes[0]), b: () => go(panes[1]),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest("input, textarea, select, audio, video")) return;
    if (event.target === document.body) {
      const height = active.pane.clientHeight * 0.9;
      const by = { ...SCROLLS, PageDown: height, PageUp: -height }[event.key];
      if (by) {
        event.preventDefault();
        active.pane.scrollBy({ top: by });
      }
    }
    const act = wanted.checked && acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });

  narrow.addEventListener("change", arrange);
  arrange();
})();
