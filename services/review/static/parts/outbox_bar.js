// The last answers: what became of each, and what can still be done about it.

import { html, useEffect, useState } from "../html.js";

/** Render again whenever the outbox changes. */
export function useOutbox(outbox) {
  const [, renew] = useState(0);
  useEffect(() => outbox.subscribe(() => renew((count) => count + 1)), [outbox]);
  return outbox.entries;
}

function stateText(entry, t) {
  if (entry.state === "failed") return t("outbox.failed", { error: entry.error });
  if (entry.state === "waiting" && entry.tries > 0) return t("outbox.retry");
  return t(`outbox.${entry.state}`);
}

export function OutboxBar({ t, outbox, task, takeBack, correct }) {
  const entries = useOutbox(outbox).filter((entry) => entry.task === task);
  return html`<section class="outbox" aria-labelledby="outbox-title">
    <h2 id="outbox-title">${t("outbox.title")}</h2>
    ${entries.length === 0 && html`<p class="note">${t("outbox.none")}</p>`}
    <ol>${[...entries].reverse().map((entry) => html`<li key=${entry.id} class=${entry.state}>
      <span class="summary">${entry.summary}</span> <small>${stateText(entry, t)}</small>
      ${entry.state === "waiting" && html`<button type="button" class="link" onClick=${() => takeBack(entry)}>${t("outbox.takeBack")}</button>`}
      ${entry.state === "sent" && entry.action === "submit" && html`<button type="button" class="link" onClick=${() => correct(entry)}>${t("outbox.correct")}</button>`}
      ${entry.state === "failed" && html`
        <button type="button" class="link" onClick=${() => navigator.clipboard && navigator.clipboard.writeText(JSON.stringify(entry.body.value ?? entry.body))}>${t("outbox.copy")}</button>
        <button type="button" class="link" onClick=${() => outbox.remove(entry)}>${t("outbox.forget")}</button>`}
    </li>`)}</ol>
  </section>`;
}
