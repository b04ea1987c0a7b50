// The pages work without this. It renews what they show, tells of an area, and replays the past.
(() => {
  "use strict";

  const EVERY = 2000; // milliseconds between two looks for something new
  const QUIET = 30000; // and between two words about it to a screen reader
  const STEP = 400; // of the replay
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const read = (selector, within = document) => {
    const there = one(selector, within);
    return there ? JSON.parse(there.textContent) : null;
  };
  const made = (tag, about = {}, ...inside) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(about)) node.setAttribute(name, value);
    node.append(...inside);
    return node;
  };

  const about = read("[data-names]");
  let drawn = read("[data-drawn]");

  // Words for numbers, as the server has them.

  const written = (value) => {
    const { digits, signed } = drawn.scale;
    const text = Math.abs(value).toFixed(digits);
    if (Number(text) === 0) return text;
    return (value < 0 ? "−" : signed ? "+" : "") + text;
  };
  const chance = (value) =>
    value < 0.01 ? "below 1 %" : value > 0.99 ? "above 99 %" : `${Math.round(100 * value)} %`;
  const number = (count, name) => `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
  const ago = (seconds) => {
    const passed = Math.max(0, seconds);
    for (const [end, unit, name] of [
      [60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [Infinity, 86400, "day"],
    ]) {
      if (passed < end) return `${number(Math.floor(passed / unit), name)} ago`;
    }
  };

  // Ages, by the clock of the server.

  let ahead = 0;
  const setClock = () => {
    const told = one("[data-now]");
    if (told) ahead = Date.now() - Date.parse(told.dataset.now);
  };
  const setAges = () => {
    for (const time of all("[data-age]")) {
      time.textContent = ago((Date.now() - ahead - Date.parse(time.dateTime)) / 1000);
    }
  };
  setClock();
  setInterval(setAges, 1000);

  // Maps: colours, and the figures of the area that is pointed at or was tapped.

  const maps = all("[data-map]");
  const panel = one("[data-details]");
  const places = new Map(); // from an item to its path
  for (const area of all("[data-map] [data-k]")) {
    places.set(area.dataset.k, area.getAttribute("href"));
    one("title", area)?.remove(); // the panel says more, and stays up to date
  }
  let chosen = null;
  let shown = null;

  const paint = () => {
    for (const map of maps) {
      const fills = drawn.fills[map.dataset.map];
      if (!fills) continue;
      for (const area of all("[data-k]", map)) area.setAttribute("fill", fills[area.dataset.k]);
      hatch(map);
    }
    one("[data-figures]")?.classList.toggle("early", Boolean(drawn.early));
  };

  // Areas that nobody has compared, drawn once more on top.
  const SVG = "http://www.w3.org/2000/svg";
  const hatch = (map) => {
    const missing = [...places.keys()].filter((k) => drawn.figures[k]?.[7] === 0);
    one("[data-hatches]", map).replaceChildren(
      ...missing.map((k) => {
        const area = document.createElementNS(SVG, "use");
        area.setAttribute("href", places.get(k));
        return area;
      }),
    );
  };

  const line = (name, value) => made("div", {}, made("dt", {}, name), made("dd", {}, value));
  const figures = (told) => {
    const [position, couldBe, estimate, low, high, sd, top, comparisons] = told;
    const list = made("dl");
    if (drawn.early) {
      if (comparisons !== null) list.append(line("Comparisons", comparisons.toLocaleString("en")));
      list.append(line(drawn.scale.title, "too early to say"));
      return list;
    }
    list.append(line(drawn.scale.title, written(estimate)));
    list.append(line("95 % interval", `${written(low)} to ${written(high)}`));
    list.append(line("Position", couldBe ? `${position} (could be ${couldBe})` : `${position}`));
    list.append(line("Uncertainty", `sd ${sd.toFixed(drawn.scale.digits)}`));
    if (top !== null) list.append(line(`Among the top ${about.top}`, chance(top)));
    if (comparisons !== null) list.append(line("Comparisons", comparisons.toLocaleString("en")));
    return list;
  };

  const tell = (k) => {
    if (!panel) return;
    shown = k;
    const told = k === null ? null : drawn.figures[k];
    for (const ring of all("[data-ring]")) {
      if (told && places.has(k)) ring.setAttribute("href", places.get(k));
      else ring.removeAttribute("href");
    }
    if (!told) {
      panel.replaceChildren(hint);
      return;
    }
    const name = made("p", { class: "called", dir: "auto" }, about.names[k]);
    const address = about.item?.replace("NUMBER", k);
    const open = made("a", { href: address }, "Its pairs and answers");
    const more = made("p", {}, open, " ", made("a", { href: `${about.items}#i${k}` }, "In the table"));
    const note = made("p", { class: "hint" }, `${drawn.uncompared_note}.`);
    const notes = told[7] === 0 ? [note] : [];
    const list = figures(told);
    panel.replaceChildren(name, list, ...notes, ...(about.items === null ? [] : [more]));
  };

  // Figures that change under a reader are not read out each time.
  let hush = 0;
  const tellAgain = () => {
    if (shown === null) return;
    panel.setAttribute("aria-live", "off");
    tell(shown);
    clearTimeout(hush);
    hush = setTimeout(() => panel.setAttribute("aria-live", "polite"), 1000);
  };

  const hint = panel ? one("[data-hint]", panel) : null;
  const under = (event) => event.target.closest?.("[data-k]")?.dataset.k ?? null;
  if (panel) {
    document.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") tell(under(event) ?? chosen);
    });
    document.addEventListener("focusin", (event) => {
      if (under(event) !== null) tell(under(event));
    });
    for (const map of maps) {
      map.addEventListener("click", (event) => {
        chosen = under(event) === chosen ? null : under(event);
        tell(chosen);
      });
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") tell((chosen = null));
    });
  }

  // Something new: parts of the page are replaced, and whoever reads is not disturbed.

  const home = one("[data-fresh]");
  const lost = one("[data-offline]");
  const news = one("[data-news]");
  const newer = one("[data-newer]");
  const known = new Map(all("[data-part]").map((part) => [part.dataset.part, null]));
  let spoke = 0;

  const keep = (part) => {
    const inside = part.contains(document.activeElement) ? document.activeElement : null;
    const tag = inside?.localName;
    const place = inside ? all(tag, part).indexOf(inside) : -1;
    const open = all("details", part).map((each) => each.open);
    const along = all(".scroll", part).map((each) => each.scrollLeft);
    return () => {
      all("details", part).forEach((each, k) => (each.open = open[k] ?? false));
      all(".scroll", part).forEach((each, k) => (each.scrollLeft = along[k] ?? 0));
      if (!inside) return;
      const same = inside.dataset.k && one(`${tag}[data-k="${inside.dataset.k}"]`, part);
      (same || all(tag, part)[place])?.focus({ preventScroll: true });
    };
  };

  const replace = (part, fresh) => {
    if (known.get(part.dataset.part) === fresh.innerHTML) return;
    known.set(part.dataset.part, fresh.innerHTML);
    const restore = keep(part);
    part.replaceChildren(...fresh.childNodes);
    restore();
  };

  const renew = (page) => {
    const first = !one("[data-snapshot='yes']") && one("[data-snapshot='yes']", page);
    if (first) {
      location.reload();
      return;
    }
    for (const fresh of all("[data-part]", page)) {
      const part = one(`[data-part="${fresh.dataset.part}"]`);
      if (part) replace(part, fresh);
    }
    setClock();
    setPhase();
    const told = read("[data-part='data'] [data-drawn]");
    if (told) {
      drawn = told;
      paint();
      tellAgain();
    }
    if (newer) newer.hidden = false;
    if (news && Date.now() - spoke > QUIET) {
      spoke = Date.now();
      news.textContent = `The picture is new: ${one(".age")?.textContent ?? ""}`;
    }
  };

  const setPhase = () => {
    const badge = one("[data-phase]");
    const phase = one("[data-in]")?.dataset.in;
    if (!badge || !phase) return;
    badge.textContent = phase;
    badge.className = `phase ${phase}`;
  };

  const look = async () => {
    const url = new URL(home.dataset.fresh, location.href);
    url.searchParams.set("after", one("[data-mark]").dataset.mark);
    try {
      const answer = await fetch(url, { cache: "no-store" });
      if (answer.status === 401) {
        location.reload(); // to sign in again
        return false;
      }
      if (!answer.ok) throw new Error(`${answer.status}`);
      if (answer.status === 200) {
        renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
      }
      lost.hidden = true;
    } catch {
      lost.hidden = false;
    }
    return true;
  };

  if (home) {
    let waiting = 0;
    let looking = false;
    const next = () => {
      clearTimeout(waiting);
      if (!document.hidden) waiting = setTimeout(go, EVERY);
    };
    const go = async () => {
      if (looking) return;
      looking = true;
      const more = await look();
      looking = false;
      if (more) next();
    };
    document.addEventListener("visibilitychange", () => {
      clearTimeout(waiting);
      if (!document.hidden) go();
    });
    next();
  }

  // The replay.

  const player = one("[data-replay]");
  if (player) replay().catch(() => {}); // without it there are the links below

  async function replay() {
    const answer = await fetch(player.dataset.replay, { cache: "no-store" });
    const frames = await answer.json();
    if (frames.length < 2) return;
    const slider = one("input", player);
    const button = one("[data-play]", player);
    const most = Number(player.dataset.most);
    const unsure = Number(player.dataset.unsure);
    const stops = Object.fromEntries(
      Object.entries(about.ramps).map(([key, ramp]) => [key, ramp.map(channels)]),
    );
    const { uncompared_note: note, scale } = drawn;
    const [least, greatest] = scale.limits ?? [-Infinity, Infinity];
    let timer = 0;

    const quality = (estimate) => 0.5 + (estimate - scale.middle) / (2 * most);

    const figuresOf = (frame) => {
      const order = frame.order ?? highestFirst(frame.estimate);
      const rows = frame.estimate.map(() => null);
      const uncompared = new Set(frame.uncompared);
      order.forEach((k, place) => {
        const [estimate, sd] = [frame.estimate[k] / 100, frame.sd[k] / 100];
        const low = Math.max(estimate - 1.96 * sd, least);
        const high = Math.min(estimate + 1.96 * sd, greatest);
        const count = uncompared.has(k) ? 0 : null; // others are not told
        rows[k] = [place + 1, "", estimate, low, high, sd, null, count];
      });
      return [order, rows];
    };

    const show = (k) => {
      const frame = frames[k];
      const [order, rows] = figuresOf(frame);
      drawn = {
        early: frame.early,
        uncompared_note: note,
        scale,
        figures: rows,
        fills: {
          quality: rows.map((row) => (row ? mixed(stops.quality, quality(row[2])) : "")),
          doubt: rows.map((row) => (row ? mixed(stops.doubt, row[5] / unsure) : "")),
        },
      };
      paint();
      tellAgain();
      list(order, rows);
      caveats(frame);
      const when = `${moment(frame.made)}: ${number(frame.comparisons, "judgement")}`;
      const said = `${when}, reliability ${(Math.floor(frame.reliability * 100 + 1e-9) / 100).toFixed(2)}`;
      one("[data-when]").textContent = said;
      slider.setAttribute("aria-valuetext", said);
      slider.value = k;
    };

    const caveats = (frame) => {
      const early = one("[data-early]");
      early.textContent = frame.early;
      early.hidden = !frame.early;
      one("[data-ranked]").hidden = Boolean(frame.early);
      for (const key of all("[data-hatch-key]")) {
        key.hidden = !frame.uncompared.length;
        one("[data-uncompared]", key).textContent = frame.uncompared.length.toLocaleString("en");
      }
    };

    const stop = () => {
      clearInterval(timer);
      timer = 0;
      button.textContent = "Play";
    };
    button.addEventListener("click", () => {
      if (timer) {
        stop();
        return;
      }
      let k = Number(slider.value) >= frames.length - 1 ? 0 : Number(slider.value) + 1;
      button.textContent = "Pause";
      show(k);
      timer = setInterval(() => {
        k = Number(slider.value) + 1;
        if (k >= frames.length) stop();
        else show(k);
      }, STEP);
    });
    slider.addEventListener("input", () => {
      stop();
      show(Number(slider.value));
    });
    slider.max = frames.length - 1;
    const at = frames.findIndex((frame) => String(frame.id) === player.dataset.at);
    slider.value = at < 0 ? frames.length - 1 : at;
    slider.setAttribute("aria-valuetext", one("[data-when]").textContent);
    player.hidden = false;
  }

  const highestFirst = (estimates) =>
    estimates
      .map((_, k) => k)
      .filter((k) => estimates[k] !== null)
      .sort((a, b) => estimates[b] - estimates[a] || a - b);

  const channels = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  function mixed(stops, share) {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    const mix = stops[k].map((from, i) => Math.round(from + (at - k) * (stops[k + 1][i] - from)));
    return `rgb(${mix.join(",")})`;
  }

  const moment = (iso) => {
    const text = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
    const at = new Date(iso);
    return `${at.toLocaleDateString("en-GB", text)}, ${at.toISOString().slice(11, 16)} UTC`;
  };

  // The list of a replay: the rows that are there, filled in anew.
  function list(order, rows) {
    const there = all("[data-list] tbody tr");
    const average = drawn.scale.middle;
    const reach = (row) => (row ? Math.max(average - row[3], row[4] - average) : 0);
    const most = Math.max(...rows.map(reach)) || 1;
    const at = (value) => 60 * (1 + (value - average) / most);
    there.forEach((tr, place) => {
      const row = rows[order[place]];
      const [position, couldBe, name, estimate, bar, interval] = tr.children;
      position.textContent = row[0];
      couldBe.textContent = row[1];
      name.replaceChildren(made("span", { dir: "auto" }, about.names[order[place]]));
      if (row[7] === 0) name.append(" ", made("small", { class: "unmeasured" }, "not compared yet"));
      estimate.textContent = written(row[2]);
      interval.textContent = `${written(row[3])} to ${written(row[4])}`;
      const side = row[3] > average ? "above" : row[4] < average ? "below" : "";
      one("svg", bar).setAttribute("class", `bar ${side}`);
      const [whole, middle] = all("rect", bar);
      whole.setAttribute("x", at(row[3]));
      whole.setAttribute("width", at(row[4]) - at(row[3]));
      middle.setAttribute("x", at(row[2]) - 1.5);
    });
  }
})();
