// Page of operators: error, agreement and pace of reviewers, the forecast of the queue, and what a waiting label is worth.

import { reviewers as fetchReviewers, worth as fetchWorth } from "../api.js";
import { moment, number } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { Scroll } from "../parts/scroll.js";

const REFRESH_MS = 30_000;
const FIGURES = ["system_error", "answered_error", "mean_error", "error", "r_auc"];
const MEASURES = ["kappa", "icc", "alpha", "difference"];
const MOST_UNITS = 20;

function useFetched(load, dependencies) {
  const [state, setState] = useState({ value: null, error: null });
  useEffect(() => {
    let alive = true;
    setState({ value: null, error: null });
    const refresh = () => load().then(
      (value) => alive && setState({ value, error: null }),
      (error) => alive && setState({ value: null, error }),
    );
    refresh();
    const timer = setInterval(refresh, REFRESH_MS);
    return () => { alive = false; clearInterval(timer); };
  }, dependencies);
  return state;
}

export function OperatorsPage({ t, lang }) {
  const { value, error } = useFetched(fetchReviewers, []);
  const queues = value ? value.queues : [];
  const heads = value ? value.heads : [];
  const named = [...heads, ...queues.filter((queue) => !heads.some((head) => same(head, queue)))];
  return html`<main>
    <p><a href="#/">${t("review.back")}</a></p>
    <h1>${t("operators.title")}</h1>
    <p class="lead">${t("operators.lead")}</p>
    ${error && html`<p class="bad" role="alert">${error.status === 403 ? t("operators.forbidden") : error.message}</p>`}
    ${value && !named.length && html`<p>${t("operators.nothing")}</p>`}
    ${named.map((place) => html`<${Head} key=${`${place.task} ${place.head}`} t=${t} lang=${lang}
      own=${heads.find((head) => same(head, place))} queue=${queues.find((queue) => same(queue, place))} place=${place} />`)}
  </main>`;
}

const same = (one, other) => one.task === other.task && one.head === other.head;

/** Figure with its interval. */
function range(bounds, lang, unit = "") {
  if (!bounds || bounds.estimate === null) return "–";
  const ends = `${number(bounds.low, lang)} – ${bounds.high === null ? "∞" : number(bounds.high, lang)}`;
  return `${number(bounds.estimate, lang)}${unit && unit !== "1" ? ` ${unit}` : ""} (${ends})`;
}

function Head({ t, lang, own, queue, place }) {
  return html`<section aria-label=${`${place.task}, ${place.head}`}>
    <h2>${place.task}, ${place.head}</h2>
    <dl class="words">
      ${own && html`<dt>${t("operators.error")}</dt><dd>${own.human_error
        ? `${range(own.human_error, lang, own.error_unit)}; ${t("operators.basis", { second: own.second_opinions, known: own.known_units })}`
        : t("operators.noOpinions")}</dd>`}
      ${own && MEASURES.filter((name) => own.agreement[name]).map((name) => html`<dt>${t(`operators.${name}`)}</dt>
        <dd>${range(own.agreement[name], lang, name === "difference" ? own.difference_unit : "")}</dd>`)}
      ${own && html`<dt>${t("operators.pace")}</dt><dd>${t("operators.paceOf", {
        labels: own.pace.labels, median: number(own.pace.seconds.median, lang) })}</dd>`}
      ${queue && html`<dt>${t("operators.queue")}</dt><dd>${queueText(queue, t, lang)}</dd>`}
    </dl>
    ${own && own.reviewers.length > 0 && html`<${People} t=${t} lang=${lang} own=${own} />`}
    ${own && own.pairs.length > 0 && html`<${Pairs} t=${t} lang=${lang} own=${own} />`}
    <${Worth} t=${t} lang=${lang} place=${place} unit=${own ? own.error_unit : ""} />
  </section>`;
}

function queueText(queue, t, lang) {
  const hours = queue.hours_to_empty.estimate;
  const empty = hours === null ? t("operators.never") : t("operators.empty", { hours: number(hours, lang) });
  return `${empty}; ${t("operators.tomorrow", { waiting: range(queue.waiting_tomorrow, lang) })}`;
}

/** Name of a measure, with its unit where it has one. */
const measureName = (name, own, t) => t(`operators.${name}`) + (name === "difference" && own.difference_unit !== "1" ? `, ${own.difference_unit}` : "");

function People({ t, lang, own }) {
  const measures = MEASURES.filter((name) => own.agreement[name]);
  return html`<${Scroll} label=${t("operators.people")}><table><caption>${t("operators.people")}</caption>
    <thead><tr><th scope="col">${t("operators.name")}</th><th scope="col" class="num">${t("operators.labels")}</th>
      <th scope="col" class="num">${t("operators.seconds")}</th>${measures.map((name) => html`<th scope="col">${measureName(name, own, t)}</th>`)}</tr></thead>
    <tbody>${own.reviewers.map((person) => html`<tr key=${person.name}><th scope="row">${person.name}</th>
      <td class="num">${person.pace.labels}</td><td class="num">${number(person.pace.seconds.median, lang)}</td>
      ${measures.map((name) => html`<td>${range(person.agreement[name], lang)}</td>`)}</tr>`)}</tbody></table></${Scroll}>`;
}

function Pairs({ t, lang, own }) {
  const measures = MEASURES.filter((name) => own.agreement[name]);
  return html`<${Scroll} label=${t("operators.pairs")}><table><caption>${t("operators.pairs")}</caption>
    <thead><tr><th scope="col">${t("operators.name")}</th><th scope="col">${t("operators.name")}</th>
      <th scope="col" class="num">${t("operators.both")}</th>${measures.map((name) => html`<th scope="col">${measureName(name, own, t)}</th>`)}</tr></thead>
    <tbody>${own.pairs.map(({ names, agreement }) => html`<tr key=${names.join(" ")}><th scope="row">${names[0]}</th><td>${names[1]}</td>
      <td class="num">${agreement.difference ? agreement.difference.pairs : "–"}</td>
      ${measures.map((name) => html`<td>${range(agreement[name], lang)}</td>`)}</tr>`)}</tbody></table></${Scroll}>`;
}

/** What one more label narrows: by kind of request, and the most valuable units. */
function Worth({ t, lang, place, unit }) {
  const [figure, setFigure] = useState(FIGURES[0]);
  const { value, error } = useFetched(
    () => fetchWorth({ task: place.task, head: place.head, figure }), [place.task, place.head, figure],
  );
  return html`<h3>${t("worth.title")}</h3>
    <label class="choice">${t("worth.figure")} <select value=${figure} onChange=${(event) => setFigure(event.target.value)}>
      ${FIGURES.map((name) => html`<option value=${name} selected=${name === figure}>${t(`worth.${name}`)}</option>`)}</select></label>
    ${error && html`<p class="note">${error.message}</p>`}
    ${value && html`<p class="note">${value.half_width === null ? t("worth.unknown") : t("worth.now", { half: `${number(value.half_width, lang)} ${unit === "1" ? "" : unit}` })}</p>
      <${Scroll} label=${t("worth.title")}><table><thead><tr><th scope="col">${t("worth.kind")}</th><th scope="col" class="num">${t("worth.propensity")}</th>
        <th scope="col" class="num">${t("queue.waiting")}</th><th scope="col" class="num">${t("worth.narrowing")}</th></tr></thead>
      <tbody>${value.strata.map((stratum, index) => html`<tr key=${index}><th scope="row">${t(`worth.${stratum.decision}`)}</th>
        <td class="num">${stratum.propensity.map((share) => number(share, lang)).filter((text, at, all) => all.indexOf(text) === at).join(" – ")}</td>
        <td class="num">${stratum.waiting}</td><td class="num">${share(stratum, lang, t)}</td></tr>`)}</tbody></table></${Scroll}>
      ${value.units.length > 0 && html`<details><summary>${t("worth.units", { n: Math.min(MOST_UNITS, value.units.length), all: value.waiting })}</summary>
        <${Scroll} label=${t("worth.unit")}><table><thead><tr><th scope="col">${t("worth.unit")}</th><th scope="col">${t("worth.time")}</th>
          <th scope="col" class="num">${t("worth.narrowing")}</th></tr></thead>
        <tbody>${value.units.slice(0, MOST_UNITS).map((own) => html`<tr key=${own.unit}><th scope="row"><code>${own.unit}</code></th>
          <td>${moment(own.time, lang)}</td><td class="num">${number(own.narrowing, lang)}</td></tr>`)}</tbody></table></${Scroll}></details>`}`}`;
}

/** Share of the interval that one more label takes away. */
function share(stratum, lang, t) {
  if (stratum.narrowing === null || stratum.narrowing_share === null) return t("worth.first");
  return `${number(100 * stratum.narrowing_share, lang)} %`;
}
