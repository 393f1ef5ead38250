// Columns of a row with their units, the range of the training data, and their neighbours in time; shared by all views of rows.

import { number } from "../format.js";
import { html, useEffect, useRef } from "../html.js";
import { Scroll } from "../parts/scroll.js";
import { span, Sparkline, useNeighbours } from "./neighbours.js";

/** Columns by name. */
export function byName(request) {
  return Object.fromEntries(((request.input && request.input.columns) || []).map((column) => [column.name, column]));
}

/** Range of the training data, by name of the column: [lower, upper] in its unit, or undefined. */
export function trainedRanges(task) {
  const ranges = Object.create(null); // columns may have the name of a property that every object has
  (task.schema || []).forEach((feature, index) => {
    const lower = task.trained_lower[index];
    const upper = task.trained_upper[index];
    if (Number.isFinite(lower) && Number.isFinite(upper)) ranges[feature.name] = [lower, upper];
  });
  return ranges;
}

/** Table of columns; `only` names those to show, and `get` fetches what is below the request. */
export function Columns({ request, task, locale, t, only, get }) {
  const neighbours = useNeighbours(request, get);
  const ranges = trainedRanges(task);
  const columns = ((request.input && request.input.columns) || []).filter((column) => !only || only.includes(column.name));
  return html`<${Scroll} label=${t("rows.column")}><table class="columns-table">
    <thead><tr><th scope="col">${t("rows.column")}</th><th scope="col" class="num">${t("rows.value")}</th><th scope="col">${t("rows.unit")}</th>
      <th scope="col">${t("rows.trained")}</th>
      ${neighbours && html`<th scope="col" class="nearby" title=${span(neighbours, t)}>${t("rows.near")}</th>`}</tr></thead>
    <tbody>${columns.map((column) => html`<tr key=${column.name} title=${column.description}>
      <th scope="row"><span>${column.name}</span> <small>${column.description}</small></th>
      <td class="num">${column.text ?? (column.value === null ? t("rows.missing") : number(column.value, locale))}</td>
      <td>${column.unit === "1" ? "" : column.unit}</td>
      <td>${ranges[column.name] && column.value !== null && column.text === undefined && html`<${RangeBar} range=${ranges[column.name]} value=${column.value} locale=${locale} t=${t} />`}</td>
      ${neighbours && html`<td class="nearby"><${Sparkline} name=${column.name} neighbours=${neighbours} value=${column.value} locale=${locale} t=${t} /></td>`}
    </tr>`)}</tbody></table></${Scroll}>`;
}

/** Bar of the training range with the value on it; the words say the same. */
export function RangeBar({ range: [lower, upper], value, locale, t }) {
  const place = useRef(null);
  const width = upper - lower || 1;
  const at = Math.min(1.08, Math.max(-0.08, (value - lower) / width));
  const outside = value < lower || value > upper;
  useEffect(() => { place.current.style.left = `${10 + at * 80}%`; }, [at]);
  const words = t(outside ? "rows.outside" : "rows.inside", { lower: number(lower, locale), upper: number(upper, locale) });
  return html`<span class=${`range ${outside ? "outside" : ""}`} role="img" aria-label=${words} title=${words}><i ref=${place}></i></span>`;
}
