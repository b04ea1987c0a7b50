"use strict";
(() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Very many items: the page lists both ends, and rows of what is searched for are made here.
  const most = 100;
  const searchAll = (data) => {
    const numbers = (text, Kind) => {
      const signs = atob(text);
      const bytes = new Uint8Array(signs.length);
      for (let k = 0; k < signs.length; k += 1) bytes[k] = signs.charCodeAt(k);
      return new Kind(bytes.buffer);
    };
    const thousandths = Object.fromEntries(
      ["mean", "low", "high", "sd"].map((name) => [name, numbers(data[name], Int16Array)]));
    const first = data.first && numbers(data.first, Uint32Array);
    const last = data.last && numbers(data.last, Uint32Array);
    const chance = data.chance && numbers(data.chance, Uint8Array);
    const compared = numbers(data.compared, Uint32Array);
    const group = data.groups && numbers(data.group, Uint32Array);
    const groupOf = (k) => group && data.groups[group[k]];
    const texts = data.names.map((name, k) => {
      const others = [data.ids && data.ids[k], groupOf(k)].filter(Boolean);
      return plain([name, ...others].join(" "));
    });
    const unknown = -32768;
    const whole = (value) => value.toLocaleString("en-GB");
    const scores = data.scores && Object.fromEntries(
      Object.entries(data.scores).map(([name, text]) => [name, numbers(text, Float32Array)]));
    const number = (name, k, sign) => {
      if (scores) {
        const score = scores[name][k];
        return Number.isNaN(score) ? "–" : score.toFixed(data.digits).replace("-", "−");
      }
      const value = thousandths[name][k];
      if (value === unknown) return "–";
      const text = Math.abs(value / 1000).toFixed(2);
      if (Number(text) === 0) return text;
      return (value < 0 ? "−" : sign) + text;
    };
    const ends = find("#ends");
    const matches = find("#matches");
    const pattern = find("tr", ends);
    const besides = (k) => [groupOf(k), data.ids && data.ids[k]].filter(Boolean).join(", ");
    const could = (k) => (first[k] < last[k] ? `could be ${whole(first[k])} to ${whole(last[k])}` : "no other");
    const off = (name, k) => (scores ? scores[name][k] - data.average : thousandths[name][k] / 1000);
    const place = (name, k) => 60 + (60 * Math.min(Math.max(off(name, k) / data.reach || 0, -1), 1));
    const rowOf = (k) => {
      const row = pattern.cloneNode(true);
      const [low, high] = [thousandths.low[k], thousandths.high[k]];
      row.className = low > 0 ? "above" : high < 0 ? "below" : "between";
      const cells = [...row.cells];
      const called = document.createElement("bdi");
      called.textContent = data.names[k];
      const more = document.createElement("span");
      more.className = "besides" + (data.groups ? " below" : "");
      more.textContent = besides(k);
      cells[0].replaceChildren(called, " ", more);
      if (!compared[k]) {
        const borrowed = document.createElement("span");
        borrowed.className = "borrowed";
        borrowed.textContent = stored.dataset.uncompared;
        cells[0].append(" ", borrowed);
      }
      cells[1].textContent = number("mean", k, "+");
      find(".ends", cells[2]).textContent = `${number("low", k, "+")} to ${number("high", k, "+")}`;
      find("rect", cells[2]).setAttribute("x", place("low", k));
      find("rect", cells[2]).setAttribute("width", Math.max(place("high", k) - place("low", k), 0));
      find("circle", cells[2]).setAttribute("cx", place("mean", k));
      cells[3].textContent = number("sd", k, "");
      cells[4].textContent = whole(k + 1);
      if (first) {
        const range = document.createElement("span");
        range.className = "quiet";
        range.textContent = could(k);
        cells[4].append(" ", range);
      }
      if (chance) cells[5].textContent = data.chances[chance[k]];
      cells[cells.length - 1].textContent = compared[k] ? whole(compared[k]) : "never";
      return row;
    };
    const search = find("#search");
    const count = find("#count");
    const everybody = count.textContent;
    const narrow = () => {
      const words = plain(search.value).split(/\s+/).filter(Boolean);
      const seen = [];
      if (words.length) {
        texts.forEach((text, k) => {
          if (words.every((word) => text.includes(word))) seen.push(k);
        });
      }
      // Who types a whole name or id means that one, however many others hold it, too.
      const typed = words.join(" ");
      const exact = (k) => [data.names[k], data.ids && data.ids[k]].some((own) => own && plain(own) === typed);
      const inOrder = [...seen.filter(exact), ...seen.filter((k) => !exact(k))];
      matches.replaceChildren(...inOrder.slice(0, most).map(rowOf));
      matches.hidden = !words.length;
      ends.hidden = words.length > 0;
      const shown = seen.length > most ? `, ${most} of them here` : "";
      count.textContent = words.length ? `${whole(seen.length)} of ${everybody}${shown}` : everybody;
    };
    search.addEventListener("input", narrow);
    if (search.value) narrow();
  };

  document.documentElement.classList.add("script");
  for (const part of all(".script-only")) part.hidden = false;
  for (const part of all(".no-script")) part.hidden = true;

  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const stored = find("#all-items");
  if (stored) {
    searchAll(JSON.parse(stored.textContent));
    return;
  }

  const table = find("#items");
  const body = find("tbody", table);
  const headings = all("thead th", table);
  const rows = all("tr", body);

  // Searching: rows that do not hold every word are hidden, and the count is said aloud.
  const spoken = headings.map((heading, k) => k).filter((k) => headings[k].dataset.sort === "text");
  const texts = rows.map((row) => plain(spoken.map((k) => row.cells[k].textContent).join(" ")));
  const search = find("#search");
  const count = find("#count");
  const everybody = count.textContent;
  const narrow = () => {
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    let seen = 0;
    rows.forEach((row, k) => {
      row.hidden = !words.every((word) => texts[k].includes(word));
      seen += row.hidden ? 0 : 1;
    });
    count.textContent = words.length ? `${seen} of ${everybody}` : everybody;
  };
  search.addEventListener("input", narrow);

  // Sorting: a heading becomes a button; what is missing goes last, and equals keep their order.
  const names = new Intl.Collator(undefined, { numeric: true });
  const valueOf = (row, column) => row.cells[column].dataset.value;
  const compare = (column, kind, way) => (one, two) => {
    const [a, b] = [valueOf(one, column), valueOf(two, column)];
    if (a === "" || b === "") return (a === "") - (b === "");
    return way * (kind === "text" ? names.compare(a, b) : a - b);
  };
  const sort = (heading) => {
    const column = headings.indexOf(heading);
    const kind = heading.dataset.sort;
    const now = heading.getAttribute("aria-sort");
    const first = kind === "text" || heading.dataset.first === "ascending" ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const next = now === first ? other : first;
    for (const one of headings) one.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", next);
    const sorted = [...rows].sort(compare(column, kind, next === "ascending" ? 1 : -1));
    body.append(...sorted);
  };
  for (const heading of headings.filter((one) => one.dataset.sort)) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(heading));
    heading.append(button);
  }

  const map = find("#areas");
  if (!map) return;
  const details = find("#details");
  const rings = [find("#ring-back"), find("#ring")];
  const shapes = all(".area", map);
  const keyOf = (shape) => shape.id.slice(1);
  const rowOf = (shape) => document.getElementById("i" + keyOf(shape));
  let chosen = null;

  // What is known of an area is what its row says.
  const element = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const tell = (shape) => {
    for (const ring of rings) ring.setAttribute("d", shape ? shape.getAttribute("d") : "");
    if (!shape) {
      details.replaceChildren(element("p", details.dataset.hint, "quiet"));
      return;
    }
    const row = rowOf(shape);
    const list = element("dl");
    headings.forEach((heading, k) => {
      if (k === 0) return;
      const cell = row.cells[k];
      const said = find(".ends", cell) || cell;
      list.append(element("dt", heading.textContent), element("dd", said.textContent));
    });
    const called = element("p", "", "called");
    called.append(...[...row.cells[0].childNodes].map((node) => node.cloneNode(true)));
    const link = find("a", called);
    if (link) link.replaceWith(...link.childNodes);
    const back = element("a", "Show in the list");
    back.href = "#" + row.id;
    details.replaceChildren(called, list, back);
  };

  const choose = (shape) => {
    if (chosen) {
      chosen.setAttribute("aria-selected", "false");
      rowOf(chosen).classList.remove("chosen");
    }
    chosen = shape;
    if (shape) {
      shape.setAttribute("aria-selected", "true");
      map.setAttribute("aria-activedescendant", shape.id);
      rowOf(shape).classList.add("chosen");
    } else {
      map.removeAttribute("aria-activedescendant");
    }
    tell(shape);
  };

  // The map is one stop for the keyboard, and its areas are options to move between.
  map.setAttribute("role", "listbox");
  map.setAttribute("aria-label", map.dataset.called);
  map.setAttribute("aria-describedby", "map-help");
  map.tabIndex = 0;
  const places = new Map();
  for (const shape of shapes) {
    shape.setAttribute("role", "option");
    shape.setAttribute("aria-selected", "false");
    shape.setAttribute("aria-label", valueOf(rowOf(shape), 0));
    const box = shape.getBBox();
    places.set(shape, { x: box.x + box.width / 2, y: box.y + box.height / 2 });
  }
  tell(null);

  const highest = document.getElementById("a0") || shapes[0];
  const lowest = document.getElementById("a" + (rows.length - 1)) || shapes[shapes.length - 1];
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const nextTo = (shape, [dx, dy]) => {
    const here = places.get(shape);
    let best = shape;
    let least = Infinity;
    for (const [other, there] of places) {
      const ahead = (there.x - here.x) * dx + (there.y - here.y) * dy;
      const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
      const far = ahead + 2 * aside;
      if (other !== shape && ahead > 0 && aside <= 2 * ahead && far < least) [best, least] = [other, far];
    }
    return best;
  };
  map.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    let next;
    if (event.key in ways) next = chosen ? nextTo(chosen, ways[event.key]) : highest;
    else if (event.key === "Home") next = highest;
    else if (event.key === "End") next = lowest;
    else if (event.key === "Escape") next = null;
    else return;
    event.preventDefault();
    choose(next);
    if (next) follow(next);
  });
  map.addEventListener("focus", () => {
    if (!chosen && map.matches(":focus-visible")) choose(highest);
  });

  // Hovering tells, a tap keeps.
  const areaAt = (event) => event.target.closest(".area");
  map.addEventListener("pointerover", (event) => {
    const shape = areaAt(event);
    if (shape && event.pointerType === "mouse") tell(shape);
  });
  map.addEventListener("pointerleave", () => tell(chosen));

  // Closer and further: the view is a part of the drawing.
  const [left, top, width, height] = map.getAttribute("viewBox").split(" ").map(Number);
  let view = { x: left, y: top, share: 1 };
  const within = (value, least, room) => Math.min(Math.max(value, least), least + room);
  const look = (x, y, share) => {
    share = Math.min(Math.max(share, 1 / 16), 1);
    const rest = 1 - share;
    view = { x: within(x, left, width * rest), y: within(y, top, height * rest), share };
    map.setAttribute("viewBox", [view.x, view.y, width * share, height * share].join(" "));
    map.classList.toggle("near", share < 1);
  };
  const around = (place, share) => look(place.x - (width * share) / 2, place.y - (height * share) / 2, share);
  const middle = () => ({ x: view.x + (width * view.share) / 2, y: view.y + (height * view.share) / 2 });
  const zoom = (factor) => around(chosen ? places.get(chosen) : middle(), Math.min(view.share * factor, 1));
  const follow = (shape) => {
    const { x, y } = places.get(shape);
    const [right, low] = [view.x + width * view.share, view.y + height * view.share];
    if (x < view.x || x > right || y < view.y || y > low) around({ x, y }, view.share);
  };
  find("#closer").addEventListener("click", () => zoom(1 / 2));
  find("#further").addEventListener("click", () => zoom(2));
  find("#whole").addEventListener("click", () => look(left, top, 1));

  let drag = null;
  map.addEventListener("pointerdown", (event) => {
    if (view.share < 1) drag = { x: event.clientX, y: event.clientY, from: view, moved: false };
  });
  map.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    drag.moved = drag.moved || Math.hypot(dx, dy) > 6;
    const unit = (width * view.share) / map.clientWidth;
    if (drag.moved) look(drag.from.x - dx * unit, drag.from.y - dy * unit, view.share);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    window.addEventListener(end, () => setTimeout(() => { drag = null; }));
  }
  map.addEventListener("click", (event) => {
    const shape = areaAt(event);
    if (shape && !(drag && drag.moved)) choose(shape);
  });

  // From the list to the map.
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const shape = document.getElementById("a" + row.id.slice(1));
    if (!shape) return;
    choose(shape);
    follow(shape);
    if (!event.target.closest("a")) return;
    event.preventDefault();
    map.focus({ preventScroll: true });
    find("#map").scrollIntoView();
  });

  // What the colours mean.
  find("#colouring").addEventListener("change", (event) => {
    const kind = event.target.value;
    for (const shape of shapes) {
      shape.dataset.quality ||= shape.getAttribute("fill");
      shape.setAttribute("fill", shape.dataset[kind]);
    }
    map.classList.toggle("dark-unsure", kind === "unsure");
    for (const legend of all(".legend")) legend.hidden = legend.id !== "legend-" + kind;
  });
})();
