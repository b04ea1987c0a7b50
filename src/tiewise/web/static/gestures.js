// Fingers, wheel and mouse: what panes to read and maps to move have in common.
const Gestures = (() => {
  "use strict";

  // Two fingers: `resize(scale, x, y)` is told the point between them.
  const pinch = (element, scale, resize) => {
    let apart = 0, from = 1;
    const distance = ([one, other]) =>
      Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    element.addEventListener("touchstart", (event) => {
      if (event.touches.length !== 2) return;
      apart = distance(event.touches);
      from = scale();
    }, { passive: true });
    element.addEventListener("touchmove", (event) => {
      if (event.touches.length !== 2 || !apart) return;
      event.preventDefault();
      const [one, other] = event.touches;
      const x = (one.clientX + other.clientX) / 2, y = (one.clientY + other.clientY) / 2;
      resize(from * distance(event.touches) / apart, x, y);
    }, { passive: false });
  };

  // The wheel, for those turns that are `wanted`; the others scroll.
  const wheel = (element, scale, resize, wanted) => {
    element.addEventListener("wheel", (event) => {
      if (!wanted(event)) return;
      event.preventDefault();
      resize(scale() * Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    }, { passive: false });
  };

  // One pointer that drags, where it is `wanted`; with a second one it is a pinch.
  const drag = (element, move, wanted) => {
    const down = new Map();
    element.addEventListener("pointerdown", (event) => {
      if (event.button || !wanted(event)) return;
      event.preventDefault();
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      element.classList.add("dragged");
      down.set(event.pointerId, [event.clientX, event.clientY]);
    });
    element.addEventListener("pointermove", (event) => {
      const before = down.get(event.pointerId);
      if (!before) return;
      down.set(event.pointerId, [event.clientX, event.clientY]);
      if (down.size === 1) move(event.clientX - before[0], event.clientY - before[1]);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      element.addEventListener(end, (event) => {
        down.delete(event.pointerId);
        if (!down.size) element.classList.remove("dragged");
      });
    }
  };

  return { STEP: 1.25, pinch, wheel, drag };
})();
