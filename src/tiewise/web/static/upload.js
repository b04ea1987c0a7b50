// Sends files part by part, and goes on where it was cut off. Without it a plain form sends them.
"use strict";

(() => {
  const PART = 4 * 1024 * 1024;
  const TRIES = 6;
  const form = document.querySelector("[data-drop]");
  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  // While the study is made: look again until there is another page.
  const look = async () => {
    const waiting = document.querySelector("[data-wait]");
    if (!waiting) return;
    await pause(1000);
    try {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const after = page.querySelector("[data-wait]");
      if (!after) return location.reload();
      waiting.replaceWith(document.adoptNode(after));
    } catch {
      // No connection: try again.
    }
    look();
  };
  look();
  if (!form) return;

  const inputs = [...form.querySelectorAll("input[type=file]")];
  const list = form.querySelector("[data-sending]");
  const token = form.querySelector("[name=token]").value;
  form.querySelector("[data-plain]").hidden = true;
  for (const node of form.querySelectorAll("[data-needs-script]")) node.hidden = false;

  class Refused extends Error {}

  const ask = async (url, options = {}) => {
    const answer = await fetch(url, { ...options, headers: { "X-Form-Token": token } });
    const body = await answer.json().catch(() => ({}));
    if (body.fault) throw new Refused(body.fault);
    if (answer.status === 401 || answer.status === 403) throw new Refused("Sign in again, then go on.");
    if (!answer.ok && answer.status !== 409) throw new Error(String(answer.status));
    return body.have;
  };

  const query = (name, size) => `?name=${encodeURIComponent(name)}&size=${size}`;

  const send = async (file, name, show) => {
    let failures = 0;
    let have = null;
    for (;;) {
      try {
        if (have === null) have = await ask(form.dataset.state + query(name, file.size));
        show(have);
        if (have >= file.size && file.size > 0) return;
        const body = file.slice(have, have + PART);
        const url = `${form.dataset.chunk}${query(name, file.size)}&offset=${have}`;
        have = await ask(url, { method: "POST", body });
        failures = 0;
      } catch (error) {
        if (error instanceof Refused || ++failures > TRIES) throw error;
        have = null;
        await pause(500 * 2 ** failures);
      }
    }
  };

  const row = (name) => {
    const line = document.createElement("li");
    const text = document.createElement("span");
    const bar = document.createElement("progress");
    text.textContent = name;
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", name);
    line.append(text, bar);
    list.append(line);
    return {
      show: (share) => { bar.value = share; },
      done: () => line.remove(),
      failed: (why) => {
        bar.remove();
        line.className = "failed";
        text.textContent = `${name}: ${why}`;
      },
    };
  };

  // What is there now; what was typed below stays as it is.
  const renew = async () => {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const after = page.querySelector("[data-listed]");
    if (after) document.querySelector("[data-listed]").replaceWith(document.adoptNode(after));
  };

  // Files of folders are called by their path; what systems hide or leave there is not sent.
  const isHidden = (name) => /^[.~]|^(thumbs\.db|desktop\.ini|__MACOSX)$/i.test(name);
  const chosen = (files) =>
    [...files]
      .map((file) => [file, file.webkitRelativePath || file.name])
      .filter(([, path]) => !path.includes("/") || !path.split("/").some(isHidden));

  const filesIn = async (entry, path = "") => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return [[file, path + entry.name]];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) { // a part of the folder at a time
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!part.length) return found;
      for (const one of part) {
        if (!isHidden(one.name)) found.push(...(await filesIn(one, `${path}${entry.name}/`)));
      }
    }
  };

  const dropped = async (data) => {
    // Before anything is waited for: afterwards the browser has forgotten what was dropped.
    const entries = [...data.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
    if (!entries.length || !entries.every(Boolean)) return chosen(data.files);
    const found = [];
    for (const entry of entries) found.push(...(await filesIn(entry)));
    return found;
  };

  const sendAll = async (files) => {
    for (const [file, name] of files) {
      const line = row(name);
      try {
        await send(file, name, (have) => line.show(have / file.size));
        line.done();
      } catch (error) {
        line.failed(error instanceof Refused ? error.message : "The connection broke. Choose it again to go on.");
      }
    }
    await renew();
    for (const input of inputs) input.value = "";
  };

  for (const input of inputs) input.addEventListener("change", () => sendAll(chosen(input.files)));
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    form.classList.remove("over");
    sendAll(await dropped(event.dataTransfer));
  });
})();
