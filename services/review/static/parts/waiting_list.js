// List of waiting requests with filters. Only the rows on the screen are in the document, so that ten thousand scroll.

import { waiting } from "../api.js";
import { addressOf } from "../address.js";
import { duration } from "../format.js";
import { html, useEffect, useMemo, useRef, useState } from "../html.js";

const ROW_PX = 34;
const HEIGHT_PX = 408;
const SPARE_ROWS = 6;
const MOST_ROWS = 20_000;
const PAGE = 1000;
const REFRESH_MS = 30_000;
const SPANS = { hour: 3600, day: 86_400, week: 604_800 };
const EMPTY = { task: "", head: "", older: "", due: "", state: "" };

/** All waiting requests, page by page; those of a task that does not answer stay as they were. */
function useRequests(tasks) {
  const [rows, setRows] = useState([]);
  const [loading, setLoading] = useState(true);
  const known = useRef([]);
  const names = tasks.map((task) => task.name).join(" ");
  useEffect(() => {
    let alive = true;
    async function load() {
      setLoading(true);
      let all = [];
      for (const task of names.split(" ").filter(Boolean)) {
        let after = "";
        let own = [];
        do {
          let page;
          try {
            page = await waiting(task, { limit: PAGE, ...(after ? { after } : {}) });
          } catch {
            own = known.current.filter((row) => row.task === task); // the queue above says why
            break;
          }
          own = own.concat(page.requests.map((request) => ({ ...request, task })));
          after = page.next;
        } while (after && all.length + own.length < MOST_ROWS && alive);
        all = all.concat(own);
      }
      if (alive) {
        known.current = all;
        setRows(all);
        setLoading(false);
      }
    }
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => { alive = false; clearInterval(timer); };
  }, [names]);
  return [rows, loading];
}

function matches(row, filter, now) {
  return (!filter.task || row.task === filter.task) && (!filter.head || row.head === filter.head)
    && (!filter.older || now - row.time > SPANS[filter.older])
    && (!filter.due || (row.due !== null && row.due - now < SPANS[filter.due]))
    && (!filter.state || (filter.state === "mine" ? row.mine : row.state === filter.state));
}

export function WaitingList({ t, store, tasks }) {
  const [rows, loading] = useRequests(tasks);
  const [filter, setFilter] = useState(store.get("filter", EMPTY));
  const [saved, setSaved] = useState(store.get("filters", {}));
  const [top, setTop] = useState(0);
  const place = useRef(null);
  const now = Date.now() / 1000;
  const shown = useMemo(() => rows.filter((row) => matches(row, filter, now)), [rows, filter]);
  const change = (part) => {
    const next = { ...filter, ...part };
    store.set("filter", next);
    setFilter(next);
    if (place.current) place.current.scrollTop = 0;
  };
  const save = (next) => {
    store.set("filters", next);
    setSaved(next);
  };
  const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS);
  const last = Math.min(shown.length, Math.ceil((top + HEIGHT_PX) / ROW_PX) + SPARE_ROWS);
  const lift = { transform: `translateY(${first * ROW_PX}px)` };
  const heads = [...new Set(tasks.filter((task) => !filter.task || task.name === filter.task).flatMap((task) => task.heads.map((head) => head.name)))];

  return html`<section aria-labelledby="list-title">
    <h2 id="list-title">${t("list.title")} <small>${loading && !rows.length ? t("list.loading") : t("list.count", { shown: shown.length, all: rows.length })}</small></h2>
    <div class="filters">
      <${Choice} label=${t("queue.task")} value=${filter.task} set=${(task) => change({ task, head: "" })}
        choices=${[["", t("filter.all")], ...tasks.map((task) => [task.name, task.name])]} />
      <${Choice} label=${t("queue.head")} value=${filter.head} set=${(head) => change({ head })}
        choices=${[["", t("filter.all")], ...heads.map((head) => [head, head])]} />
      <${Choice} label=${t("filter.older")} value=${filter.older} set=${(older) => change({ older })} choices=${spans(t)} />
      <${Choice} label=${t("filter.due")} value=${filter.due} set=${(due) => change({ due })} choices=${spans(t)} />
      <${Choice} label=${t("filter.state")} value=${filter.state} set=${(state) => change({ state })}
        choices=${[["", t("filter.any")], ["requested", t("list.open")], ["claimed", t("list.taken")], ["mine", t("list.mine")]]} />
      <${SavedFilters} t=${t} filter=${filter} saved=${saved} save=${save} apply=${change} />
    </div>
    <div class="list" role="table" aria-rowcount=${shown.length} aria-label=${t("list.title")}>
      <div class="row head" role="row">
        ${["list.request", "queue.task", "queue.head", "list.age", "list.due", "list.state"].map((name) => html`<span role="columnheader">${t(name)}</span>`)}
      </div>
      <div class="rows" role="rowgroup" tabindex="0" ref=${place} onScroll=${(event) => setTop(event.target.scrollTop)} aria-label=${t("list.title")}>
        <div class="tall" ref=${(node) => node && (node.style.height = `${shown.length * ROW_PX}px`)} role="presentation">
          <div ref=${(node) => node && (node.style.transform = lift.transform)} role="presentation">
            ${shown.slice(first, last).map((row, index) => html`<${Row} key=${row.request} t=${t} row=${row} now=${now} index=${first + index} />`)}
          </div>
        </div>
        ${!loading && !shown.length && html`<p class="note">${t("queue.nothing")}</p>`}
      </div>
    </div>
  </section>`;
}

function Row({ t, row, now, index }) {
  const state = row.mine ? "list.mine" : row.state === "claimed" ? "list.taken" : "list.open";
  const name = row.request.slice(0, 8);
  const address = addressOf({ task: row.task, head: row.head, queue: "blind", request: row.request });
  return html`<div class="row" role="row" aria-rowindex=${index + 1}>
    <span role="cell">${row.state === "requested" ? html`<a href=${address}><code>${name}</code></a>` : html`<code>${name}</code>`}</span>
    <span role="cell">${row.task}</span><span role="cell">${row.head}</span>
    <span role="cell">${duration(now - row.time, t)}</span>
    <span role="cell">${row.due === null ? t("list.never") : duration(row.due - now, t)}</span>
    <span role="cell">${t(state)}</span>
  </div>`;
}

function Choice({ label, value, set, choices }) {
  return html`<label class="choice">${label}
    <select value=${value} onChange=${(event) => set(event.target.value)}>
      ${choices.map(([code, text]) => html`<option value=${code} selected=${code === value}>${text}</option>`)}
    </select></label>`;
}

function SavedFilters({ t, filter, saved, save, apply }) {
  const field = useRef(null);
  const names = Object.keys(saved);
  return html`<form class="saved" onSubmit=${(event) => {
    event.preventDefault();
    const name = field.current.value.trim().slice(0, 40);
    if (name) save({ ...saved, [name]: filter });
    field.current.value = "";
  }}>
    <label class="choice">${t("filter.name")} <input ref=${field} type="text" maxlength="40" /></label>
    <button type="submit">${t("filter.save")}</button>
    ${names.length > 0 && html`<span class="saved-names" aria-label=${t("filter.saved")}>${names.map((name) => html`
      <span class="tag"><button type="button" class="link" onClick=${() => apply(saved[name])}>${name}</button>
      <button type="button" class="link" aria-label=${t("filter.remove", { name })} onClick=${() => {
        const { [name]: gone, ...rest } = saved;
        save(rest);
      }}>×</button></span>`)}</span>`}
  </form>`;
}

const spans = (t) => [["", t("filter.any")], ["hour", t("filter.hour")], ["day", t("filter.day")], ["week", t("filter.week")]];
