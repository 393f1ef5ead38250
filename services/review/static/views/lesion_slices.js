// Slices of a scan as pictures from the server, with the mask painted over them: for browsers without WebGL2.

import { announce, html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { gridOf } from "./lesion_mask.js";

const PLANES = { 2: "axial", 1: "coronal", 0: "sagittal" };
/** World axes of columns and rows by the axis across; both run against the axis: the right is left, the front and the head up. */
const ACROSS = { 2: [0, 1], 1: [0, 2], 0: [1, 2] };
const MOST_PICTURES = 40;
const CROSSHAIR = "rgb(90 190 255)"; // the ground is black in both themes

/** Grid from the server's description of the planes. */
export function gridOfSlices({ shape, spacing_mm: spacing, planes }) {
  const strides = [1, shape[0], shape[0] * shape[1]];
  const [columns, rows, slices] = planes.axial.axes;
  const world = [[columns[0], -columns[1]], [rows[0], -rows[1]], slices];
  const start = world.reduce((sum, [axis, way]) => sum + (way > 0 ? 0 : (shape[axis] - 1) * strides[axis]), 0);
  return gridOf(world.map(([axis]) => shape[axis]), world.map(([axis]) => spacing[axis]), start, world.map(([axis, way]) => way * strides[axis]));
}

const pathOf = (axis, slice, [low, high]) => `slices/${PLANES[axis]}/${slice}.png?low=${low}&high=${high}`;

/** Path of the picture that is shown first, by the server's description. */
export const firstPicture = ({ planes, window }) => pathOf(2, Math.floor(planes.axial.slices / 2), window);

export function SliceDisplay({ get, mask, cursor, shades, axis, zoom, hidden, stroke, ended, look, words, t }) {
  const canvas = useRef(null);
  const pictures = useRef(new Map());
  const [missing, setMissing] = useState({}); // why pictures have not come, by path
  const latest = useRef({});
  latest.current = { mask, cursor, axis, zoom, stroke, ended, look };

  /** Picture of a slice, or undefined until it has come. */
  function picture(slice) {
    const path = pathOf(axis, slice, shades);
    const kept = pictures.current;
    if (slice < 0 || slice >= mask.grid.dims[axis]) return undefined;
    if (!kept.has(path)) {
      if (kept.size >= MOST_PICTURES) drop(kept, kept.keys().next().value);
      const entry = {};
      kept.set(path, entry);
      get(path).then((response) => response.blob()).then(createImageBitmap).then((bitmap) => {
        if (kept.get(path) !== entry) {
          bitmap.close();
          return;
        }
        entry.bitmap = bitmap;
        setMissing((all) => (path in all ? Object.fromEntries(Object.entries(all).filter(([other]) => other !== path)) : all));
        latest.current.paint();
      }, (error) => setMissing((others) => ({ ...others, [path]: error.message })));
    }
    return kept.get(path).bitmap;
  }

  function paint() {
    const place = canvas.current;
    if (!place || !mask) return;
    const [width, height] = [place.clientWidth, place.clientHeight];
    const scale = devicePixelRatio || 1;
    place.width = Math.round(width * scale);
    place.height = Math.round(height * scale);
    const context = place.getContext("2d");
    context.scale(scale, scale);
    context.fillStyle = "black";
    context.fillRect(0, 0, width, height);
    const box = boxOf(latest.current, width, height);
    const bitmap = picture(cursor[axis]);
    if (bitmap) context.drawImage(bitmap, box.left, box.top, box.width, box.height);
    if (!hidden) context.drawImage(overlay(mask, cursor, axis), box.left, box.top, box.width, box.height);
    const [column, row] = ACROSS[axis].map((world) => mask.grid.dims[world] - 1 - cursor[world]);
    crosshair(context, box.left + (column + 0.5) * box.dx, box.top + (row + 0.5) * box.dy, Math.max(8, box.dx), width, height);
    const marks = axis === 0 ? ["A", "P"] : ["R", "L"];
    context.fillStyle = "white";
    context.font = "600 14px system-ui, sans-serif";
    context.fillText(marks[0], 8, height / 2);
    context.fillText(marks[1], width - 18, height / 2);
    context.fillText(axis === 2 ? "A" : "S", width / 2 - 5, 18);
    for (const near of [1, -1]) picture(cursor[axis] + near);
  }

  latest.current.paint = paint; // pictures come later: what is current then is painted
  useEffect(paint);
  useLayoutEffect(() => { // before the pointer can come
    const place = canvas.current;
    const resized = new ResizeObserver(() => latest.current.paint());
    resized.observe(place);
    const leave = pointers(place, latest);
    return () => {
      resized.disconnect();
      leave();
      for (const path of [...pictures.current.keys()]) drop(pictures.current, path);
    };
  }, []);
  const reason = missing[pathOf(axis, cursor[axis], shades)];
  useEffect(() => { if (reason) announce(t("lesion.noSlice", { reason })); }, [reason]);
  function again() {
    for (const path of Object.keys(missing)) drop(pictures.current, path);
    setMissing({});
  }
  return html`${reason && html`<p class="notice" role="alert">${t("lesion.noSlice", { reason })}
      <button type="button" onClick=${again}>${t("review.refresh")}</button></p>`}
    <div class="volume"><canvas ref=${canvas} role="img" aria-label=${words}></canvas></div>`;
}

/** Forget a picture, and free its memory now. */
function drop(kept, path) {
  kept.get(path)?.bitmap?.close();
  kept.delete(path);
}

function crosshair(context, x, y, gap, width, height) {
  context.strokeStyle = CROSSHAIR;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [from, to] of [[[0, y], [x - gap, y]], [[x + gap, y], [width, y]], [[x, 0], [x, y - gap]], [[x, y + gap], [x, height]]]) {
    context.moveTo(...from);
    context.lineTo(...to);
  }
  context.stroke();
}

/** Place of the slice on the canvas, and the size of a voxel; zoomed around the cursor. */
function boxOf({ mask, cursor, axis, zoom }, width, height) {
  const { dims, spacing } = mask.grid;
  const [u, v] = ACROSS[axis];
  const scale = Math.min(width / (dims[u] * spacing[u]), height / (dims[v] * spacing[v]));
  const [dx, dy] = [spacing[u] * scale * zoom, spacing[v] * scale * zoom];
  const [column, row] = [dims[u] - 0.5 - cursor[u], dims[v] - 0.5 - cursor[v]];
  const free = { left: (width - dims[u] * spacing[u] * scale) / 2, top: (height - dims[v] * spacing[v] * scale) / 2 };
  return {
    left: free.left - column * (dx - dx / zoom), top: free.top - row * (dy - dy / zoom),
    width: dims[u] * dx, height: dims[v] * dy, dx, dy,
  };
}

function overlay(mask, cursor, axis) {
  const { dims } = mask.grid;
  const [u, v] = ACROSS[axis];
  const layer = new OffscreenCanvas(dims[u], dims[v]);
  const context = layer.getContext("2d");
  const pixels = context.createImageData(dims[u], dims[v]);
  const at = [...cursor];
  for (let row = 0; row < dims[v]; row += 1) {
    for (let column = 0; column < dims[u]; column += 1) {
      at[u] = dims[u] - 1 - column;
      at[v] = dims[v] - 1 - row;
      if (mask.at(at)) pixels.data.set([255, 60, 40, 140], 4 * (column + dims[u] * row));
    }
  }
  context.putImageData(pixels, 0, 0);
  return layer;
}

function pointers(canvas, latest) {
  let held = false;
  const voxel = (event) => {
    const { mask, cursor, axis } = latest.current;
    const bounds = canvas.getBoundingClientRect();
    const box = boxOf(latest.current, bounds.width, bounds.height);
    const [u, v] = ACROSS[axis];
    const place = [...cursor];
    place[u] = mask.grid.dims[u] - 1 - Math.floor((event.clientX - bounds.left - box.left) / box.dx);
    place[v] = mask.grid.dims[v] - 1 - Math.floor((event.clientY - bounds.top - box.top) / box.dy);
    return [u, v].every((world) => place[world] >= 0 && place[world] < mask.grid.dims[world]) ? place : null;
  };
  const down = (event) => {
    const place = latest.current.mask && event.button === 0 ? voxel(event) : null;
    if (!place) return;
    held = true;
    canvas.setPointerCapture(event.pointerId);
    latest.current.stroke(place, latest.current.axis, true);
    if (latest.current.zoom === 1) latest.current.look(place, latest.current.axis);
  };
  const move = (event) => {
    const place = held ? voxel(event) : null;
    if (place) latest.current.stroke(place, latest.current.axis, false);
  };
  const up = () => {
    if (held) latest.current.ended();
    held = false;
  };
  const wheel = (event) => {
    event.preventDefault();
    const { mask, cursor, axis } = latest.current;
    if (!mask) return;
    const next = [...cursor];
    next[axis] = Math.min(mask.grid.dims[axis] - 1, Math.max(0, cursor[axis] - Math.sign(event.deltaY)));
    latest.current.look(next, axis);
  };
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, wheel };
  for (const [name, listener] of Object.entries(listeners)) canvas.addEventListener(name, listener, { passive: false });
  return () => {
    for (const [name, listener] of Object.entries(listeners)) canvas.removeEventListener(name, listener);
  };
}
