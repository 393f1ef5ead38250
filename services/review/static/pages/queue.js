// Queue: what waits by task and head, and the list of waiting requests.

import { tasks as fetchTasks } from "../api.js";
import { addressOf, OPERATORS } from "../address.js";
import { html, useEffect, useState } from "../html.js";
import { Scroll } from "../parts/scroll.js";
import { WaitingList } from "../parts/waiting_list.js";

const REFRESH_MS = 10_000;

export function QueuePage({ t, lang, store }) {
  const [tasks, setTasks] = useState(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let alive = true;
    const load = () => fetchTasks().then(
      (loaded) => alive && (setTasks(loaded), setError("")),
      (failure) => alive && setError(failure.code === "network" ? t("error.network") : failure.message),
    );
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => { alive = false; clearInterval(timer); };
  }, [t]);

  return html`<main>
    <h1>${t("queue.title")}</h1>
    <p class="lead">${t("queue.lead")}</p>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
    ${tasks && (tasks.length ? html`<${Heads} t=${t} tasks=${tasks} />` : html`<p>${t("queue.noTasks")}</p>`)}
    ${tasks && tasks.filter((task) => !task.ready).map((task) =>
      html`<p class="notice">${t("queue.notReady", { task: task.name, reason: task.reason })}</p>`)}
    ${tasks && tasks.filter((task) => task.ready && !task.keeps_inputs).map((task) =>
      html`<p class="notice">${t("queue.noInputs", { task: task.name, setting: task.setting })}</p>`)}
    ${tasks && html`<${WaitingList} t=${t} lang=${lang} store=${store} tasks=${tasks.filter((task) => task.ready)} />`}
    <p><a href=${OPERATORS}>${t("operators.title")}</a></p>
  </main>`;
}

function Heads({ t, tasks }) {
  const rows = tasks.filter((task) => task.ready).flatMap((task) => task.heads.map((head) => ({ task, head })));
  return html`<${Scroll} label=${t("queue.title")}><table class="heads">
    <thead><tr>
      <th scope="col">${t("queue.task")}</th><th scope="col">${t("queue.head")}</th><th scope="col" class="less">${t("queue.label")}</th>
      <th scope="col" class="num">${t("queue.waiting")}</th><th scope="col" class="num less">${t("queue.claimed")}</th>
      <th scope="col" class="num less">${t("queue.labelled")}</th><td></td>
    </tr></thead>
    <tbody>${rows.map(({ task, head }) => {
      const counts = task.counts[head.name] || { requested: 0, claimed: 0, labelled: 0 };
      const place = { task: task.name, head: head.name };
      return html`<tr key=${`${task.name} ${head.name}`}>
        <th scope="row">${task.name}</th><td>${head.name}</td><td class="wrap less">${head.label}</td>
        <td class="num">${counts.requested}</td><td class="num less">${counts.claimed}</td><td class="num less">${counts.labelled}</td>
        <td class="actions">
          <a class="button main" href=${addressOf({ ...place, queue: "blind" })}
            aria-label=${t("queue.start.of", { task: task.name, head: head.name })}>${t("queue.start")}</a>
          ${task.drafts && html`<a class="button" href=${addressOf({ ...place, queue: "drafts" })}>${t("queue.drafts")}</a>`}
          ${task.adjudications > 0 && html`<a class="button" href=${addressOf({ ...place, queue: "adjudication" })}>
            ${t("queue.adjudicate", { n: task.adjudications })}</a>`}
        </td></tr>`;
    })}</tbody></table></${Scroll}>`;
}
