// Dialogs: a reason or a note in few keys, and the keys themselves.

import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { bound, COMMON, keyText, pressed } from "../keys.js";
import { allActions } from "../views/index.js";

/** Modal dialog: the browser keeps the focus inside, and gives it back. */
function Dialog({ title, close, children }) {
  const place = useRef(null);
  useEffect(() => {
    const node = place.current;
    node.showModal();
    return () => node.close();
  }, []);
  return html`<dialog ref=${place} aria-labelledby="dialog-title" onCancel=${(event) => { event.preventDefault(); close(); }}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

/** Ask for words: a digit chooses one of `presets`, or somebody writes; `optional`: none is needed. */
export function ReasonDialog({ t, title, presets, optional, most, done, close }) {
  const [text, setText] = useState("");
  const choose = (event) => {
    const preset = presets[Number(event.key) - 1];
    if (preset && event.target.tagName !== "TEXTAREA") {
      event.preventDefault();
      done(preset);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    if (text.trim() || optional) done(text.trim());
  };
  return html`<${Dialog} title=${title} close=${close}>
    <div onKeyDown=${choose}>
      <ol class="presets">${presets.map((preset, index) => html`<li><button type="button" onClick=${() => done(preset)}>
        <kbd>${index + 1}</kbd> ${preset}</button></li>`)}</ol>
      <form onSubmit=${submit}>
        <label for="own-words">${t("reason.own")}</label>
        <textarea id="own-words" rows="3" maxlength=${most} value=${text} onInput=${(event) => setText(event.target.value)}
          onKeyDown=${(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event)}></textarea>
        <div class="actions"><button class="main" type="submit" disabled=${!optional && !text.trim()}>${t("action.submit")}</button>
          <button type="button" onClick=${close}>${t("action.close")}</button></div>
      </form>
    </div>
  </${Dialog}>`;
}

/** List of all keys, from the table that binds them; each can be changed. */
export function HelpDialog({ t, actions, own, setOwn, close }) {
  const [changing, setChanging] = useState("");
  const [problem, setProblem] = useState("");
  const everywhere = useMemo(() => allActions().catch(() => []), []); // a common key must be free in each view
  const take = async (event) => {
    if (!changing) return;
    event.preventDefault();
    event.stopPropagation();
    if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
    const key = pressed(event);
    const takes = (action) => action.id !== changing && action.keys.includes(key);
    const holder = actions.find(takes);
    const isCommon = COMMON.some((action) => action.id === changing);
    const elsewhere = isCommon && bound(await everywhere, own).find(takes); // without a network only this view is checked
    if (key === "Escape" || key === "Tab") setChanging("");
    else if (holder) setProblem(t("help.taken", { key: keyText(key, t), action: t(holder.text) }));
    else if (elsewhere) setProblem(t("help.takenIn", { key: keyText(key, t), action: t(elsewhere.text) }));
    else {
      setOwn({ ...own, [changing]: [key] });
      setChanging("");
      setProblem("");
    }
  };
  return html`<${Dialog} title=${t("help.title")} close=${close}>
    <div onKeyDown=${take}>
      <table class="keys"><tbody>${actions.map((action) => html`<tr key=${action.id}>
        <th scope="row">${t(action.text)}</th>
        <td>${action.keys.map((key) => html`<kbd>${keyText(key, t)}</kbd> `)}</td>
        <td><button type="button" aria-label=${`${t("action.change")}: ${t(action.text)}`} onClick=${() => { setChanging(action.id); setProblem(""); }}>
          ${changing === action.id ? t("help.press") : t("action.change")}</button></td></tr>`)}</tbody></table>
      ${problem && html`<p class="bad" role="alert">${problem}</p>`}
      <p class="note">${t("help.note")}</p>
      <div class="actions"><button class="main" type="button" onClick=${close}>${t("action.close")}</button>
        <button type="button" onClick=${() => setOwn({})}>${t("action.reset")}</button></div>
    </div>
  </${Dialog}>`;
}
