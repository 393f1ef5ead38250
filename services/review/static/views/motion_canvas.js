// Canvas of a scene: it pans, zooms, and gives what is dragged or drawn on it in metres.

import { html, useEffect, useLayoutEffect, useRef } from "../html.js";
import { inks } from "./canvas.js";
import { drawScene, projection } from "./motion_drawing.js";
import { HANDLES } from "./motion_path.js";

const NEAR_PX = 16;
const LEAST_SCALE = 0.6;
const MOST_SCALE = 60;

/** Camera that is zoomed by a factor around a point of the scene, which keeps its place on the screen. */
export function zoomed(camera, factor, [x, y]) {
  const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, camera.scale * factor));
  const kept = camera.scale / scale;
  return { x: x + (camera.x - x) * kept, y: y + (camera.y - y) * kept, scale };
}

/**
 * `camera` null: not known before the size is; `sized(width, height)` tells it. `drag(handle, x, y, begins)` moves a
 * handle, `drawn(points, ended)` tells a line while `drawing`.
 */
export function MotionCanvas({ scene, camera, setCamera, sized, shown, words, drawing, chosen, drag, drawn, t }) {
  const place = useRef(null);
  const latest = useRef({});
  latest.current = { scene, camera, setCamera, sized, shown, drawing, chosen, drag, drawn, t };

  const paint = () => {
    const canvas = place.current;
    const now = latest.current;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!now.camera || !width) return;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    drawScene(context, width, height, inks(), now.scene, now.camera, now.shown, now.t);
  };

  useLayoutEffect(() => { // before the pointer can come
    const canvas = place.current;
    latest.current.sized(canvas.clientWidth, canvas.clientHeight);
    const resized = new ResizeObserver(() => { latest.current.sized(canvas.clientWidth, canvas.clientHeight); paint(); });
    resized.observe(canvas);
    const themed = new MutationObserver(paint);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const leave = pointers(canvas, latest);
    return () => { resized.disconnect(); themed.disconnect(); leave(); };
  }, []);
  useEffect(paint);
  return html`<canvas ref=${place} class=${`canvas scene ${drawing ? "drawing" : ""}`} role="img" aria-label=${words}></canvas>`;
}

/** Listen to pointers and the wheel; return a function that ends it. */
function pointers(canvas, latest) {
  let held = null; // what the pointer does: {kind, ...}
  const at = (event) => {
    const bounds = canvas.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  };
  const space = () => projection(latest.current.camera, canvas.clientWidth, canvas.clientHeight);

  function down(event) {
    const now = latest.current;
    if (event.button !== 0 || !now.camera) return;
    canvas.setPointerCapture(event.pointerId);
    const [left, top] = at(event);
    const handle = now.shown.path ? nearest(now.shown.path, space(), left, top) : -1;
    if (now.drawing) held = { kind: "line", points: [space().toScene(left, top)] };
    else if (handle >= 0) {
      const [x, y] = space().toScene(left, top);
      const [ownX, ownY] = now.shown.path[HANDLES[handle]];
      held = { kind: "handle", handle, dx: ownX - x, dy: ownY - y, begins: true };
      now.chosen(handle);
    } else held = { kind: "pan", left, top };
    event.preventDefault();
  }
  function move(event) {
    const now = latest.current;
    const [left, top] = at(event);
    if (!held) {
      const over = now.camera && !now.drawing && now.shown.path && nearest(now.shown.path, space(), left, top) >= 0;
      canvas.style.cursor = now.drawing ? "crosshair" : over ? "grab" : "move";
      return;
    }
    if (held.kind === "pan") {
      const [down, right] = [top - held.top, left - held.left];
      now.setCamera((camera) => ({ ...camera, x: camera.x + down / camera.scale, y: camera.y + right / camera.scale }));
      Object.assign(held, { left, top });
    } else if (held.kind === "handle") {
      const [x, y] = space().toScene(left, top);
      now.drag(held.handle, x + held.dx, y + held.dy, held.begins);
      held.begins = false;
    } else {
      held.points = [...held.points, space().toScene(left, top)];
      now.drawn(held.points, false);
    }
  }
  function up() {
    if (held && held.kind === "line") latest.current.drawn(held.points, true);
    held = null;
  }
  function wheel(event) {
    const now = latest.current;
    if (!now.camera) return;
    event.preventDefault();
    const middle = space().toScene(...at(event));
    now.setCamera((camera) => zoomed(camera, Math.exp(-event.deltaY / 500), middle));
  }
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, wheel };
  for (const [name, listener] of Object.entries(listeners)) canvas.addEventListener(name, listener, { passive: false });
  return () => {
    for (const [name, listener] of Object.entries(listeners)) canvas.removeEventListener(name, listener);
  };
}

/** Handle under a point of the screen; -1 where there is none. */
function nearest(path, { toScreen }, left, top) {
  let best = -1;
  let least = NEAR_PX;
  HANDLES.forEach((step, handle) => {
    const [x, y] = toScreen(...path[step]);
    const distance = Math.hypot(x - left, y - top);
    if (distance <= least) [best, least] = [handle, distance];
  });
  return best;
}
