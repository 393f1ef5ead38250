// Prediction of a unit, shown after its label was sent: never kept, and gone with the page.

import { number } from "../format.js";
import { html } from "../html.js";

export function RevealPanel({ t, lang, shown, head, view, close }) {
  const { entry, revealed } = shown;
  const words = view.prediction ? view.prediction(revealed.prediction, head, t, lang) : view.summary(revealed.prediction, head, t, lang);
  return html`<section class="reveal" aria-labelledby="reveal-title">
    <h2 id="reveal-title">${t("reveal.title")}</h2>
    <dl class="words">
      <dt>${t("reveal.yours")}</dt><dd>${entry.summary}</dd>
      <dt>${t("reveal.prediction")}</dt><dd>${words}</dd>
      <dt>${t("reveal.error")}</dt><dd>${number(revealed.error, lang)} ${revealed.error_unit === "1" ? "" : revealed.error_unit}</dd>
      <dt>${t("reveal.decision")}</dt><dd>${t(revealed.decision === "defer" ? "reveal.deferred" : "reveal.audited")}</dd>
      ${typeof revealed.worth === "number" && html`<dt>${t("reveal.worth")}</dt>
        <dd>${t("reveal.worthOf", { share: `${number(100 * revealed.worth, lang)} %` })}</dd>`}
      ${revealed.uncertainty !== null && html`<dt>${t("reveal.uncertainty", { measure: revealed.measure || "–" })}</dt>
        <dd>${number(revealed.uncertainty, lang)}${revealed.threshold !== null && html`, ${t("reveal.threshold", { threshold: number(revealed.threshold, lang) })}`}</dd>`}
    </dl>
    <button type="button" onClick=${close}>${t("action.close")}</button>
  </section>`;
}
