// Canvas that is drawn anew when its data, its size or the theme changes, with sharp lines on every screen.

import { html, useEffect, useRef } from "../html.js";

/** Colours of the theme, by name. */
export function inks() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

/** Canvas of a height; `draw(context, width, height, ink)` fills it, `words` says the same in words. */
export function Canvas({ height, draw, words, deps, className = "" }) {
  const place = useRef(null);
  useEffect(() => {
    const canvas = place.current;
    const paint = () => {
      const width = canvas.clientWidth;
      const scale = devicePixelRatio || 1;
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      const context = canvas.getContext("2d");
      context.scale(scale, scale);
      draw(context, width, height, inks());
    };
    paint();
    const resized = new ResizeObserver(paint);
    resized.observe(canvas);
    const themed = new MutationObserver(paint);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => { resized.disconnect(); themed.disconnect(); };
  }, deps);
  return html`<canvas ref=${(node) => { place.current = node; if (node) node.style.height = `${height}px`; }} class=${`canvas ${className}`} role="img" aria-label=${words}></canvas>`;
}

/** Arrow from a point in a direction, with a head. */
export function arrow(context, x, y, dx, dy, colour, width = 2) {
  const length = Math.hypot(dx, dy);
  if (length < 1) return;
  const [ux, uy] = [dx / length, dy / length];
  const tip = Math.min(9, length);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx - ux * tip, y + dy - uy * tip);
  context.stroke();
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - ux * tip - uy * tip * 0.45, y + dy - uy * tip + ux * tip * 0.45);
  context.lineTo(x + dx - ux * tip + uy * tip * 0.45, y + dy - uy * tip - ux * tip * 0.45);
  context.fill();
}
