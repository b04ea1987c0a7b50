// Quick entry of a sheet: a number is the box that is ticked, Backspace takes back the last.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const selector =
    event.key === "Backspace" ? "[data-undo] button" : /^[0-9]$/.test(event.key) ? `[data-keys] button[value="${event.key}"]` : "";
  const button = selector && document.querySelector(selector);
  if (!button || document.body.dataset.sent) return;
  event.preventDefault();
  document.body.dataset.sent = "yes";
  button.click();
});
// A page that is shown again from memory takes keys again.
addEventListener("pageshow", () => delete document.body.dataset.sent);
