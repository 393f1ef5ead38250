// Neighbours in time: small plots of a column's values in the rows just before and just after this one.

import { duration, number } from "../format.js";
import { html, useEffect, useMemo, useState } from "../html.js";

const WAIT_MS = 150; // items that are passed over faster fetch nothing
const [WIDTH, HEIGHT, MARGIN] = [120, 24, 4];

/** Neighbours of the request on the screen, fetched once it is drawn; null where there are none. */
export function useNeighbours(request, get) {
  const [neighbours, setNeighbours] = useState(null);
  useEffect(() => {
    setNeighbours(null);
    if (!get || !request.input || !request.input.columns) return undefined;
    let shown = true;
    const timer = setTimeout(async () => {
      try {
        const rows = await (await get("neighbours")).json();
        if (shown && rows.before.length + rows.after.length) setNeighbours(byColumn(rows));
      } catch {
        // without them, the column is left out
      }
    }, WAIT_MS);
    return () => {
      shown = false;
      clearTimeout(timer);
    };
  }, [request.request]);
  return neighbours;
}

/** Values before and after by column, and how far back and ahead they reach, s. */
function byColumn({ names, before, after }) {
  const values = (rows, place) => rows.map((row) => row.values[place]);
  const columns = new Map(names.map((name, place) => [name, { before: values(before, place), after: values(after, place) }]));
  return { columns, from: before.length ? -before[0].seconds : 0, to: after.length ? after.at(-1).seconds : 0 };
}

/** Words for the times that the plots cover. */
export const span = ({ from, to }, t) => t("rows.near.span", { from: duration(from, t), to: duration(to, t) });

/** Plot of a column's values in the order of time, with this row's value marked; the words say the same. */
export function Sparkline({ name, neighbours, value, locale, t }) {
  return useMemo(() => { // keys that are typed into the label draw the page again
    const values = neighbours.columns.get(name);
    if (!values) return null;
    const all = [...values.before, value, ...values.after];
    const known = all.filter((one) => one !== null);
    if (known.length < 2) return null;
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const x = (index) => (MARGIN + (index / Math.max(1, all.length - 1)) * (WIDTH - 2 * MARGIN)).toFixed(1);
    const y = (one) => (high === low ? HEIGHT / 2 : HEIGHT - MARGIN - ((one - low) / (high - low)) * (HEIGHT - 2 * MARGIN)).toFixed(1);
    const path = all.map((one, index) => (one === null ? "" : `${index && all[index - 1] !== null ? "L" : "M"}${x(index)} ${y(one)}h0`)).join("");
    const own = values.before.length;
    const words = wordsOf(values, value, locale, t);
    return html`<svg class="near" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${words}><title>${words}</title>
      <path d=${path} />${value !== null && html`<circle cx=${x(own)} cy=${y(value)} r="3" />`}</svg>`;
  }, [name, neighbours, value, locale]);
}

function wordsOf({ before, after }, value, locale, t) {
  const part = (key, values) => {
    const known = values.filter((one) => one !== null);
    if (!known.length) return [];
    return [t(key, { n: known.length, low: number(Math.min(...known), locale), high: number(Math.max(...known), locale) })];
  };
  const own = t("rows.near.this", { value: value === null ? t("rows.missing") : number(value, locale) });
  return [...part("rows.near.before", before), own, ...part("rows.near.after", after)].join("; ");
}
