// View of a sentence: its source, a field for the translation, and, for drafts, proposals with their differences.

import { html, useLayoutEffect, useRef, useState } from "../html.js";
import { doubtful, wordDifference } from "./word_difference.js";

const PROPOSALS = 9;
const TO = "ru"; // language of translations, for screen readers and spelling

/** Text of an input: UTF-8 in base64. */
function sourceOf(request) {
  if (!request.input || request.input.base64 === undefined) return "";
  const bytes = Uint8Array.from(atob(request.input.base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

/** Words of `changed`, marked where they differ from `base`. */
function difference(base, changed) {
  const marks = { same: (text) => text, new: (text) => html`<ins>${text}</ins>`, gone: (text) => html`<del>${text}</del>` };
  return wordDifference(base, changed).map((part) => marks[part.kind](part.text));
}

const textsOf = (draft) => (draft && draft.texts ? draft.texts.slice(0, PROPOSALS) : []);

function View({ request, value, setValue, draft, t, onAction }) {
  const field = useRef(null);
  const [underlined, setUnderlined] = useState(false);
  const proposals = textsOf(draft);
  const text = value ?? (proposals[0] || "");
  useLayoutEffect(() => field.current.focus(), [request.request]); // before the next key
  proposals.forEach((proposal, index) => onAction(`translation.${index}`, () => setValue(proposal)));
  onAction("translation.doubt", () => setUnderlined((shown) => !shown));
  return html`
    <section class="source" aria-labelledby="source-title"><h2 id="source-title">${t("translation.source")}</h2>
      <p lang="en" class="text">${sourceOf(request)}</p></section>
    <div class="label"><label for="label">${request.label}</label>
      <textarea id="label" lang=${TO} ref=${field} rows="4" value=${text} spellcheck="true" maxlength="20000" onInput=${(event) => setValue(event.target.value)}></textarea>
      <p class="note">${t("translation.keys")}</p></div>
    ${proposals.length > 0 && html`<section aria-labelledby="proposals-title"><h2 id="proposals-title">${t("translation.proposals")}</h2>
      <p class="doubt"><span lang=${TO}>${doubtful(proposals).map((word) => (underlined && word.doubtful ? html`<u class="doubtful">${word.text}</u>` : word.text))}</span>
        <button type="button" class="link" aria-pressed=${underlined} onClick=${() => setUnderlined(!underlined)}>${t("translation.doubt")}</button></p>
      <ol class="proposals">${proposals.map((proposal, index) => html`<li><button type="button" onClick=${() => setValue(proposal)}><kbd>${index + 1}</kbd></button>
        <span lang=${TO}>${difference(proposals[0], proposal)}</span></li>`)}</ol>
      ${text !== proposals[0] && html`<p><b>${t("translation.changes")}</b> <span lang=${TO}>${difference(proposals[0], text)}</span></p>`}
    </section>`}`;
}

export default {
  name: "translation",
  actions: [
    ...Array.from({ length: PROPOSALS }, (_, index) => ({ id: `translation.${index}`, keys: [String(index + 1)], text: `translation.${index}` })),
    { id: "translation.doubt", keys: ["d"], text: "translation.doubt" },
  ],
  View,
  initial: (request) => textsOf(request.draft)[0],
  complete: (value) => typeof value === "string" && value.trim() !== "",
  fromDraft: (draft) => textsOf(draft)[0],
  summary: (value) => (typeof value === "string" ? value.slice(0, 80) : textsOf(value)[0] || "–"),
  prediction: (prediction) => html`<ol class="proposals" lang=${TO}>${textsOf(prediction).map((text) => html`<li>${text}</li>`)}</ol>`,
  flags: ["punctuation", "spelling", "capitalization", "fluency", "slang", "emojis", "tags"].map((name) => `anomaly.${name}`),
};
