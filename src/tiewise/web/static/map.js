// The large map: moved by dragging and arrow keys, enlarged by wheel, fingers, buttons and keys. On the page of
// a pair it opens in a box below the header. Without this, maps are links to a page with the same map.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  // As in judge/maps/labels.py: the first level of labels is for a map of so many pixels.
  const LETTERS = 12, SMALLEST = 96, RATIO = 1.25, LONGEST = 2016;
  const AROUND = 5; // how much is shown around an area that is jumped to
  const CLOSEST = 2.5; // how much larger than a jump to the smaller area it can become
  const PIN = 14, ABOVE = 26, STEP = 80; // pixels: a letter's radius, its way up from its area's name, that of an arrow key

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  // The map of the study, with the two areas marked.
  const draw = (picture, sides) => {
    const svg = make("svg", { class: "whole-map", "aria-hidden": "true" });
    svg.append(...[...picture.children].map((child) => document.importNode(child, true)));
    const areas = svg.querySelector(".areas"), labels = svg.querySelector(".labels");
    labels.removeAttribute("display");
    const pins = sides.map((side) => {
      const area = areas.querySelector(`#a${side.number}`);
      area.setAttribute("class", `here ${side.name}`);
      areas.append(area); // above its neighbours' borders
      const text = make("text", { dy: ".35em" }, side.mark);
      return make("g", { class: `letter ${side.name}` }, make("path", { d: `M0 0v${ABOVE - 8}` }), make("circle", { r: PIN }), text);
    });
    svg.append(...pins);
    for (const one of svg.querySelectorAll("[id]")) one.removeAttribute("id");
    return { svg, labels, pins };
  };

  const activate = async (atlas) => {
    const surface = atlas.querySelector("[data-surface]");
    const jumps = [...atlas.querySelectorAll("[data-jump]")];
    const reply = await fetch(atlas.dataset.atlas);
    if (!reply.ok) return;
    const picture = new DOMParser().parseFromString(await reply.text(), "image/svg+xml").documentElement;
    const sides = jumps.filter((one) => one.dataset.number).map((one) => ({
      name: one.dataset.jump, number: one.dataset.number, mark: one.querySelector(".mark").textContent,
      x: Number(one.dataset.x), y: Number(one.dataset.y),
    }));
    const { svg, labels, pins } = draw(picture, sides);
    const texts = [...labels.querySelectorAll("text")];
    const [left, top, wide, high] = atlas.dataset.frame.split(" ").map(Number);
    surface.replaceChildren(svg);
    surface.tabIndex = 0;
    surface.setAttribute("role", "application");
    surface.setAttribute("aria-label", surface.dataset.label);
    atlas.classList.add("ready");

    const whole = { x: left, y: top, width: wide, height: high };
    const boxes = { all: whole };
    for (const side of sides) {
      const box = svg.querySelector(`.here.${side.name}`).getBBox();
      const length = AROUND * Math.max(box.width, box.height);
      const x = box.x + box.width / 2, y = box.y + box.height / 2;
      boxes[side.name] = { x: x - length / 2, y: y - length / 2, width: length, height: length };
    }
    const fitting = (box) =>
      Math.min(surface.clientWidth / box.width, surface.clientHeight / box.height);

    // The point in the middle, and pixels for each unit of the map.
    const view = { x: 0, y: 0, scale: 1 };
    let level = -1;
    const show = () => {
      const width = surface.clientWidth / view.scale, height = surface.clientHeight / view.scale;
      svg.setAttribute("viewBox", `${view.x - width / 2} ${view.y - height / 2} ${width} ${height}`);
      labels.style.fontSize = `${LETTERS / view.scale}px`;
      const now = Math.floor(Math.log(view.scale * LONGEST / SMALLEST) / Math.log(RATIO) + 1e-6);
      if (now !== level) {
        level = now;
        for (const text of texts) text.style.display = text.dataset.level <= level ? "block" : "none";
      }
      place();
    };
    // Letters keep their size, and do not cover each other.
    const place = () => {
      const [one, other] = sides.map((side) => [side.x, side.y]);
      const across = other[0] - one[0], down = other[1] - one[1], far = Math.hypot(across, down) || 1;
      const push = Math.max(0, 2.2 * PIN / view.scale - far) / 2;
      pins.forEach((pin, k) => {
        const by = (k ? push : -push) / far;
        const at = [one, other][k];
        pin.setAttribute("transform", `translate(${at[0] + by * across} ${at[1] + by * down - ABOVE / view.scale}) scale(${1 / view.scale})`);
      });
    };
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        show();
      });
    };
    const within = (value, low, high) => Math.min(Math.max(value, low), high);
    const settle = (scale, x, y) => {
      if (!surface.clientWidth) return; // closed
      const closest = Math.max(...Object.values(boxes).map(fitting)) * CLOSEST;
      view.scale = within(scale, fitting(whole), closest);
      view.x = within(x, left, left + wide);
      view.y = within(y, top, top + high);
      if (view.scale <= fitting(whole) * 1.001) [view.x, view.y] = [left + wide / 2, top + high / 2];
      soon();
    };
    // The point of the map that is at (x, y) of the window stays there.
    const resize = (scale, x, y) => {
      const box = surface.getBoundingClientRect();
      const across = (x ?? box.left + box.width / 2) - box.left - box.width / 2;
      const down = (y ?? box.top + box.height / 2) - box.top - box.height / 2;
      const at = [view.x + across / view.scale, view.y + down / view.scale];
      const to = within(scale, fitting(whole), Infinity);
      settle(to, at[0] - across / to, at[1] - down / to);
    };
    const move = (across, down) => settle(view.scale, view.x + across / view.scale, view.y + down / view.scale);
    const jump = (name) => {
      const box = boxes[name];
      settle(fitting(box), box.x + box.width / 2, box.y + box.height / 2);
      for (const one of jumps) {
        if (one.dataset.jump === name) one.setAttribute("aria-current", "true");
        else one.removeAttribute("aria-current");
      }
    };
    const step = (by) => (by ? resize(view.scale * Gestures.STEP ** (2 * by)) : jump("all"));

    for (const one of jumps) {
      one.addEventListener("click", (event) => {
        event.preventDefault();
        jump(one.dataset.jump);
      });
    }
    for (const button of atlas.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => step(Number(button.dataset.zoom)));
    }
    Gestures.pinch(surface, () => view.scale, resize);
    Gestures.wheel(surface, () => view.scale, resize, () => true);
    Gestures.drag(surface, (across, down) => move(-across, -down), () => true);
    const acts = {
      ArrowLeft: () => move(-STEP, 0), ArrowRight: () => move(STEP, 0), ArrowUp: () => move(0, -STEP),
      ArrowDown: () => move(0, STEP), "+": () => step(1), "=": () => step(1), "-": () => step(-1), 0: () => step(0),
    };
    surface.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    });
    new ResizeObserver(() => settle(view.scale, view.x, view.y)).observe(surface);
    jump(atlas.dataset.shown);
    show();
  };

  // On a page of its own.
  const own = document.querySelector("[data-atlas]");
  if (own) activate(own);

  // In a box below the header, which stays in reach: help, and the way out.
  const rest = [document.querySelector("main"), document.querySelector("footer")].filter(Boolean);
  const open = async (link) => {
    let atlas = null;
    try {
      const reply = await fetch(link.href);
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      atlas = page.querySelector("[data-atlas]");
    } catch {
      // Not reached: the page says so.
    }
    if (!atlas) return location.assign(link.href);
    const box = document.createElement("dialog");
    box.className = "map-box";
    box.setAttribute("aria-label", atlas.querySelector("h1").textContent);
    box.append(document.adoptNode(atlas));
    document.body.append(box);
    box.style.top = `${Math.max(0, document.querySelector("header").getBoundingClientRect().bottom)}px`;
    for (const one of rest) one.inert = true;
    box.show();

    // Keys are for the map alone while it is open, and not for answers.
    const keep = (event) => {
      if (event.key === "Escape" && !document.querySelector("[data-leave]")) history.back();
      if (event.key !== "Escape" && !box.contains(event.target)) event.stopImmediatePropagation();
    };
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") event.stopPropagation();
    });
    addEventListener("keydown", keep, { capture: true });
    // The button of the browser goes back to the pair, too.
    history.pushState({ map: true }, "");
    addEventListener("popstate", () => {
      removeEventListener("keydown", keep, { capture: true });
      box.remove();
      for (const one of rest) one.inert = false;
      link.focus();
    }, { once: true });
    box.querySelector("[data-close]").addEventListener("click", (event) => {
      event.preventDefault();
      history.back();
    });
    await activate(atlas);
    box.querySelector("[data-surface]").focus();
  };
  for (const link of document.querySelectorAll("[data-map]")) {
    let opening = false;
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      if (opening) return;
      opening = true;
      await open(link);
      opening = false;
    });
  }
})();
