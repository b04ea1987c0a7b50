// Copies what is shown once, and looks whether papers are done. Without it a field can be copied by
// hand, and the page loads itself again.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = button.dataset.copied;
    } catch {
      // It stays selected.
    }
  });
}

function look() {
  const before = document.querySelector("[data-look]");
  if (!before) return;
  setTimeout(async () => {
    try {
      const answer = await fetch(before.dataset.look);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const after = page.getElementById(before.id);
      if (after && after.outerHTML !== before.outerHTML) before.replaceWith(document.adoptNode(after));
    } catch {
      // No connection: try again.
    }
    look();
  }, 2000);
}
look();

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
