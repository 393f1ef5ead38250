// Field for a label: a number with its unit, or one of several classes.

import { number, typedNumber } from "../format.js";
import { html, useLayoutEffect, useRef } from "../html.js";

const MOST_DIGITS = 10;

/** Names of the classes of a head; their numbers where they have no names. */
export function classNames(head) {
  if (head.class_names && head.class_names.length) return head.class_names;
  return Array.from({ length: head.classes || 0 }, (_, index) => String(index));
}

/** Field whose value is the text that is typed, or the place of a class. */
export function LabelField({ request, head, value, setValue, t, onAction }) {
  if (head.kind === "categorical") return html`<${Classes} head=${head} value=${value} setValue=${setValue} t=${t} onAction=${onAction} label=${request.label} />`;
  return html`<${NumberField} request=${request} head=${head} value=${value} setValue=${setValue} t=${t} />`;
}

function NumberField({ request, head, value, setValue, t }) {
  const field = useRef(null);
  useLayoutEffect(() => field.current.focus(), [request.request]); // before the next key
  const typed = typedNumber(value ?? "");
  const outside = !possible(typed, head);
  return html`<div class="label">
    <label for="label">${request.label}</label>
    <span class="unitfield"><input id="label" ref=${field} data-numeric inputmode="decimal" autocomplete="off" type="text" maxlength="40"
      value=${value ?? ""} onInput=${(event) => setValue(onlyNumber(event.target))} aria-describedby="label-note" /> <span class="unit">${head.unit}</span></span>
    <p id="label-note" class=${outside ? "bad" : "note"}>${outside ? t("label.outside", { lower: head.lower ?? "−∞", upper: head.upper ?? "∞" }) : ""}</p>
  </div>`;
}

/** Text of a field without what no number has: letters are commands. */
function onlyNumber(field) {
  const text = field.value.replace(/[^0-9eE.,+\-\s]/g, "");
  if (text !== field.value) field.value = text;
  return text;
}

function Classes({ head, value, setValue, t, onAction, label }) {
  const names = classNames(head);
  for (let digit = 0; digit < Math.min(names.length, MOST_DIGITS); digit += 1) onAction(`class.${digit}`, () => setValue(digit));
  return html`<fieldset class="label classes"><legend>${label}</legend>
    ${names.map((name, index) => html`<label class=${index === value ? "chosen" : ""}>
      <input type="radio" name="class" checked=${index === value} onChange=${() => setValue(index)} />
      ${index < MOST_DIGITS && html`<kbd>${(index + 1) % 10}</kbd>`} ${name}</label>`)}
  </fieldset>`;
}

/** Actions of classes: digits choose the first ten. */
export const CLASS_ACTIONS = Array.from({ length: MOST_DIGITS }, (_, index) => ({
  id: `class.${index}`, keys: [String((index + 1) % 10)], text: `class.${index}`,
}));

/** Whether a head's target can have a value; a slip of the finger is no label. */
const possible = (value, head) => !((head.lower !== null && value < head.lower) || (head.upper !== null && value > head.upper));

/** Parts of a view whose labels are numbers or classes. */
export const LABELS = {
  complete(value, head) {
    if (head.kind === "categorical") return Number.isInteger(value);
    return Number.isFinite(typedNumber(value)) && possible(typedNumber(value), head);
  },
  toValue: (value, head) => (head.kind === "categorical" ? value : typedNumber(value)),
  fromValue: (value, head) => (head.kind === "categorical" ? classNames(head).indexOf(String(value)) >= 0 && typeof value === "string" ? classNames(head).indexOf(value) : value : String(value)),
  fromDraft: (draft, head) => (draft === null ? undefined : head.kind === "categorical" ? draft : String(Number(draft.toPrecision(6)))),
  summary: (value, head, t, locale) => {
    if (value === null || value === undefined) return "–";
    return head.kind === "categorical" ? classNames(head)[value] ?? String(value) : `${number(typeof value === "string" ? typedNumber(value) : value, locale)} ${head.unit}`;
  },
};
