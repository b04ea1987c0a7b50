// Several questions on one page: what is ticked is kept at once, so that a reload does not lose it.
"use strict";

(() => {
  const form = document.querySelector("form.pair");
  if (!form || !form.querySelector("[data-asked]")) return;
  const undo = document.getElementById("undo");
  const PATIENCE = 5000;
  let kept = Promise.resolve();
  form.addEventListener("change", (event) => {
    if (event.target.type !== "radio") return;
    const fields = new URLSearchParams(new FormData(form));
    fields.set("half", "1");
    // One after the other, and whatever becomes of it: the button sends everything again.
    const keep = () => fetch(form.action, {
      method: "POST", body: fields, keepalive: true, signal: AbortSignal.timeout?.(PATIENCE),
    });
    kept = kept.then(keep).catch(() => {});
    undo.elements.half.value = form.querySelectorAll("[data-asked] :checked").length;
  });
  // What is taken back has arrived by then: otherwise it would be kept a moment later.
  undo.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    kept.then(() => HTMLFormElement.prototype.submit.call(undo));
  });
})();
