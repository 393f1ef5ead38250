// Plain map of coast lines around a place, for rows that say where they are.

import { html, useEffect, useState } from "../html.js";
import { Canvas } from "./canvas.js";

const LATITUDE = /(^|_)lat(itude)?$/i;
const LONGITUDE = /(^|_)(lon|lng|long)(itude)?$/i;
const WIDTH_DEGREES = 60;
let land; // fetched once, when the first map is shown

/** Latitude and longitude of a row in degrees; null where it has none. */
export function placeOf(request) {
  const columns = (request.input && request.input.columns) || [];
  const value = (pattern, most) => {
    const column = columns.find((one) => pattern.test(one.name));
    return column && column.value !== null && Math.abs(column.value) <= most ? column.value : null;
  };
  const [latitude, longitude] = [value(LATITUDE, 90), value(LONGITUDE, 360)];
  return latitude === null || longitude === null ? null : { latitude, longitude: ((longitude + 540) % 360) - 180 };
}

export function StationMap({ request, t }) {
  const place = placeOf(request);
  const [rings, setRings] = useState(null);
  useEffect(() => {
    if (!place) return;
    land = land || fetch(new URL("../vendor/natural-earth/land-110m.json", import.meta.url)).then((response) => response.json());
    land.then(setRings, () => {
      land = undefined; // the next row tries again
      setRings([]);
    });
  }, [request.request]);
  if (!place || !rings) return null;
  const words = t("map.words", { latitude: place.latitude.toFixed(1), longitude: place.longitude.toFixed(1) });
  return html`<figure><${Canvas} height=${230} deps=${[request.request, rings]} words=${words}
    draw=${(context, width, height, ink) => draw(context, width, height, ink, rings, place)} /><figcaption>${words}</figcaption></figure>`;
}

function draw(context, width, height, ink, rings, place) {
  const scale = width / WIDTH_DEGREES;
  const stretch = 1 / Math.max(0.3, Math.cos((place.latitude * Math.PI) / 180));
  const x = (longitude) => width / 2 + (longitude - place.longitude) * scale;
  const y = (latitude) => height / 2 - (latitude - place.latitude) * scale * stretch;
  context.fillStyle = ink("raised");
  context.strokeStyle = ink("soft");
  context.lineWidth = 1;
  for (const shift of [-360, 0, 360]) {
    for (const ring of rings) {
      context.beginPath();
      for (let index = 0; index < ring.length; index += 2) context.lineTo(x(ring[index] + shift), y(ring[index + 1]));
      context.closePath();
      context.fill();
      context.stroke();
    }
  }
  context.fillStyle = ink("series-2");
  context.beginPath();
  context.arc(width / 2, height / 2, 6, 0, 2 * Math.PI);
  context.fill();
}
