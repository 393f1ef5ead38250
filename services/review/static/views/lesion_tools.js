// Buttons and keys of the view of scans.

import { html } from "../html.js";

const MOVES = { left: "ArrowLeft", right: "ArrowRight", up: "ArrowUp", down: "ArrowDown" };

/** Keys beside those of every view. */
export const ACTIONS = [
  { id: "lesion.look", keys: ["1"] },
  { id: "lesion.paint", keys: ["2"] },
  { id: "lesion.erase", keys: ["3"] },
  { id: "lesion.grow", keys: ["4"] },
  { id: "lesion.apply", keys: [" "] },
  { id: "lesion.pen", keys: ["m"] },
  { id: "lesion.fill", keys: ["o"] },
  { id: "lesion.between", keys: ["i"] },
  { id: "lesion.undo", keys: ["z"] },
  { id: "lesion.empty", keys: ["N"] },
  { id: "lesion.smaller", keys: ["[", "j"] },
  { id: "lesion.larger", keys: ["]", "k"] },
  ...Object.entries(MOVES).flatMap(([name, key]) => [
    { id: `lesion.${name}`, keys: [key] },
    { id: `lesion.${name}.far`, keys: [`shift+${key}`] },
  ]),
  { id: "lesion.before", keys: [",", "PageDown"] },
  { id: "lesion.on", keys: [".", "PageUp"] },
  { id: "lesion.before.far", keys: ["shift+PageDown", "<", ";"] },
  { id: "lesion.on.far", keys: ["shift+PageUp", ">", ":"] },
  { id: "lesion.plane", keys: ["t"] },
  { id: "lesion.layout", keys: ["v"] },
  { id: "lesion.hide", keys: ["h"] },
  { id: "lesion.closer", keys: ["+", "="] },
  { id: "lesion.farther", keys: ["-"] },
  { id: "lesion.darker", keys: ["q"] },
  { id: "lesion.brighter", keys: ["w"] },
  { id: "lesion.less", keys: ["d"] },
  { id: "lesion.more", keys: ["e"] },
  { id: "lesion.window", keys: ["l", "0"] },
  { id: "lesion.nextPart", keys: ["n"] },
  { id: "lesion.previousPart", keys: ["b"] },
  { id: "lesion.accept", keys: ["y"] },
  { id: "lesion.reject", keys: ["x"] },
].map((action) => ({ ...action, text: action.id }));

const keyOf = (id) => ACTIONS.find((action) => action.id === id).keys[0];

export function Toolbar({ tool, brush, pen, hidden, layout, volumes, handlers, t }) {
  const button = (name, more = {}) => html`<button type="button" ...${more} onClick=${handlers[`lesion.${name}`]}>
    ${t(`lesion.${name}`)} <kbd>${keyOf(`lesion.${name}`) === " " ? t("key.space") : keyOf(`lesion.${name}`)}</kbd></button>`;
  const tools = ["look", "paint", "erase", ...(volumes ? ["grow"] : [])];
  return html`
    <div class="toolbar" role="group" aria-label=${t("lesion.tools")}>
      ${tools.map((name) => button(name, { "aria-pressed": tool === name }))}
      <span>${t("lesion.brush", { n: 2 * brush + 1 })}</span>
      <button type="button" aria-label=${t("lesion.smaller")} onClick=${handlers["lesion.smaller"]}>− <kbd>[</kbd></button>
      <button type="button" aria-label=${t("lesion.larger")} onClick=${handlers["lesion.larger"]}>+ <kbd>]</kbd></button>
      ${button("pen", { "aria-pressed": pen })} ${button("fill")} ${button("between")} ${button("undo")}
    </div>
    <div class="toolbar" role="group" aria-label=${t("lesion.display")}>
      ${volumes ? html`<button type="button" onClick=${handlers["lesion.layout"]}>${t(`lesion.layout.${layout}`)} <kbd>v</kbd></button>` : button("plane")}
      ${button("hide", { "aria-pressed": hidden })} ${button("darker")} ${button("brighter")} ${button("less")} ${button("more")}
      ${button("closer")} ${button("farther")} ${button("window")}
    </div>`;
}

/** The lesions of the mask one by one. */
export function Candidates({ mask, candidate, words, handlers, t }) {
  const button = (name, disabled) => html`<button type="button" disabled=${disabled} onClick=${handlers[`lesion.${name}`]}>
    ${t(`lesion.${name}`)} <kbd>${keyOf(`lesion.${name}`)}</kbd></button>`;
  const none = mask.parts.length === 0;
  return html`<div class="toolbar" role="group" aria-label=${t("lesion.parts")}>
    ${button("previousPart", none)} ${button("nextPart", none)} ${button("accept", candidate < 0)} ${button("reject", candidate < 0)}
    ${button("empty", false)}</div>
    <p class="note">${words}</p>`;
}

export const Keys = ({ t }) => html`<p class="note">${t("lesion.keys")}</p>`;
