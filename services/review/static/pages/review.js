// One decision a screen: the input, the label, and keys for everything.

import * as api from "../api.js";
import { addressOf } from "../address.js";
import { Feed } from "../feed.js";
import { duration } from "../format.js";
import { announce, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { Inputs } from "../inputs.js";
import { bound, COMMON, keyText, useKeys } from "../keys.js";
import { HelpDialog, ReasonDialog } from "../parts/dialogs.js";
import { OutboxBar, useOutbox } from "../parts/outbox_bar.js";
import { RevealPanel } from "../parts/reveal_panel.js";
import { loadView } from "../views/index.js";

const REASON_CHARACTERS = 255;
const NOTE_CHARACTERS = 2000;

/** Description of the task and module of its view. */
function useTask(name) {
  const [task, setTask] = useState(null);
  const [view, setView] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    api.tasks().then(async (tasks) => {
      const own = tasks.find((one) => one.name === name);
      if (!own || !own.ready) throw new Error(own ? own.reason : name);
      setView(await loadView(own.view));
      setTask(own);
    }).catch(setError);
  }, [name]);
  return { task, view, error };
}

function useFeed(place, store) {
  const [, renew] = useState(0);
  const feed = useMemo(() => new Feed({ task: place.task, head: place.head, queue: place.queue }, store), [addressOf(place), store]);
  useEffect(() => {
    const unsubscribe = feed.subscribe(() => renew((count) => count + 1));
    if (place.request) feed.choose(place.request);
    else feed.fill();
    const touch = () => feed.touch();
    addEventListener("keydown", touch);
    addEventListener("pointerdown", touch);
    const timer = setInterval(() => renew((count) => count + 1), 5000); // the time left
    return () => {
      unsubscribe();
      clearInterval(timer);
      removeEventListener("keydown", touch);
      removeEventListener("pointerdown", touch);
      feed.close();
    };
  }, [feed]);
  return feed;
}

export function ReviewPage({ t, lang, place, store, session, outbox }) {
  const { task, view, error } = useTask(place.task);
  const feed = useFeed(place, session);
  if (error) return html`<main><p class="bad" role="alert">${error.message}</p><p><a href="#/">${t("review.back")}</a></p></main>`;
  if (!task || !view) return html`<main aria-busy="true"></main>`;
  return html`<${ReviewForm} t=${t} lang=${lang} place=${place} store=${store} outbox=${outbox} task=${task} view=${view} feed=${feed} />`;
}

function ReviewForm({ t, lang, place, store, outbox, task, view, feed }) {
  const [values, setValues] = useState({}); // by request: what is typed is kept while other answers are looked at
  const latest = useRef({}); // the same before the page is drawn again: keys come faster than frames
  const [dialog, setDialog] = useState("");
  const [message, setMessage] = useState("");
  const [shown, setShown] = useState(null); // prediction of an answer that was sent
  const [own, setOwn] = useState(store.get("keys", {}));
  const viewHandlers = useRef({ request: undefined, byAction: {} });
  const began = useRef({});
  const current = feed.current;
  const headOf = (name) => task.heads.find((one) => one.name === name) || task.heads[0];
  const head = headOf(current ? current.head : place.head);
  const value = current ? values[current.request] : undefined;
  const actions = useMemo(() => bound([...COMMON, ...(view.actions || [])], own), [view, own]);
  const inputs = useMemo(() => new Inputs(task.name), [task]);
  useOutbox(outbox);
  if (viewHandlers.current.request !== (current && current.request)) { // before the view of the next one registers its own
    viewHandlers.current = { request: current && current.request, byAction: {} };
  }

  useLayoutEffect(() => {
    if (current && !(current.request in began.current)) began.current[current.request] = performance.now();
    if (current) announce(t("review.question", { label: current.label }));
  }, [current && current.request]);

  useLayoutEffect(() => { // before the view of a new request asks for its input
    inputs.prepare(feed.requests, view);
    return () => inputs.stop();
  }, [inputs, feed.requests, view]);

  const say = (text) => { setMessage(text); announce(text); };
  const keep = (request, next) => {
    latest.current = { ...latest.current, [request]: next };
    setValues(latest.current);
  };
  const forget = (request) => {
    const { [request]: gone, ...rest } = latest.current;
    latest.current = rest;
    setValues(rest);
  };
  const setValue = (next) => current && keep(current.request, typeof next === "function" ? next(latest.current[current.request]) : next);
  const seconds = (request) => Math.min(86_400, Math.round((performance.now() - (began.current[request] || performance.now())) / 100) / 10);
  const presets = (view.flags || []).map((name) => t(name));

  const lastEntry = (fits) => outbox.entries.filter((entry) => entry.task === place.task && fits(entry)).at(-1);

  /** Put the decision about the request on the screen into the outbox, and show the next one. */
  function decide(action, body, summary) {
    const decided = feed.current;
    outbox.add({ task: place.task, request: decided, action, body: { lease: decided.lease, ...body }, summary });
    if ("value" in body) forget(decided.request); // the outbox has it, and a mask is large
    setMessage("");
    decided.sent = true; // it is not given back when the page closes: the outbox has it
    feed.advance();
  }

  const handlers = {
    submit() {
      const request = feed.current; // not the one that was drawn: a key may come before the next frame
      if (!request) return;
      const typed = latest.current[request.request];
      const own = headOf(request.head);
      const label = typed === undefined && view.initial ? view.initial(request, own) : typed;
      if (label === undefined || !view.complete(label, own)) {
        say(t("review.incomplete"));
        return;
      }
      const sent = view.toValue ? view.toValue(label, own) : label;
      decide(request.correcting ? "correct" : "submit", { value: sent, seconds: seconds(request.request) }, view.summary(label, own, t, lang));
    },
    accept() {
      if (current && current.draft !== null && view.fromDraft) setValue(view.fromDraft(current.draft, head));
    },
    unknown() {
      if (feed.current && feed.current === current && !current.correcting) decide("skip", { reason: t("reason.unknown"), unlabelable: true }, t("outbox.unknown"));
    },
    skip: () => current && !current.correcting && (current.must_complete ? say(t("review.mustComplete")) : setDialog("skip")),
    flag: () => current && setDialog("flag"),
    release: () => current && !current.correcting && setDialog("release"),
    undo() {
      const waiting = lastEntry((entry) => entry.state === "waiting");
      if (waiting) reopen(waiting);
      else handlers.previous();
    },
    previous() {
      const last = lastEntry((entry) => entry.action !== "skip");
      if (!last) return;
      if (last.state === "waiting") reopen(last);
      else if (last.state === "sent") correct(last);
    },
    async send() {
      await outbox.flush();
    },
    async reveal() {
      const last = lastEntry((entry) => entry.action !== "skip");
      if (!last) return;
      if (last.state === "waiting") await outbox.transmit(last);
      if (last.state !== "sent") return;
      try {
        const revealed = await api.act(place.task, last.id, "reveal", { lease: last.body.lease });
        setShown({ entry: last, revealed: { ...revealed, worth: await worthOf(revealed, last.request.head) } });
        last.revealed = true;
      } catch (failure) {
        say(failure.message);
      }
    },
    help: () => setDialog("help"),
    queue: () => (shown ? setShown(null) : leave()),
  };

  /** What a label of this kind is worth; undefined where no monitor says so. */
  async function worthOf(revealed, name) {
    try {
      return (await api.worthOfKinds({ task: place.task, head: name }))[revealed.decision];
    } catch {
      return undefined;
    }
  }

  async function leave() {
    await outbox.flush();
    location.hash = "#/";
  }

  /** What the view edits, from the value of an answer. */
  const typedOf = ({ body, request }) => (view.fromValue ? view.fromValue(body.value, headOf(request.head)) : body.value);

  /** Take an answer back that was not sent. */
  function reopen(entry) {
    const back = outbox.takeBack(entry.id);
    if (!back) return;
    if ("value" in back.body) keep(back.id, typedOf(back));
    feed.bringBack({ ...back.request, sent: Boolean(back.request.correcting) });
  }

  /** Open an answer that was sent, to correct it. */
  function correct(entry) {
    keep(entry.id, typedOf(entry));
    feed.bringBack({ ...entry.request, sent: true, correcting: true, revealed: entry.revealed });
  }

  async function ended(action, reason) {
    setDialog("");
    if (action === "skip") {
      decide("skip", { reason, unlabelable: false }, `${t("outbox.skipped")}: ${reason}`);
      return;
    }
    try {
      if (action === "flag") {
        await api.act(place.task, current.request, "flag", { lease: current.lease, note: reason });
        say(t("flag.sent"));
      } else {
        await api.act(place.task, current.request, "release", { lease: current.lease, ...(reason ? { reason } : {}) });
        feed.drop(current.request);
      }
    } catch (failure) {
      say(failure.code === "network" ? t("error.network") : failure.message);
    }
  }

  const all = { ...handlers };
  for (const action of view.actions || []) all[action.id] = (event) => viewHandlers.current.byAction[action.id] && viewHandlers.current.byAction[action.id](event);
  useKeys(actions, all);
  const key = (id) => keyText((actions.find((action) => action.id === id) || { keys: [""] }).keys[0], t);
  const button = (id, name = `action.${id}`, main = false) => html`<button type="button" class=${main ? "main" : ""} onClick=${() => handlers[id]()}>${t(name)} <kbd>${key(id)}</kbd></button>`;
  const onAction = (id, handler) => { viewHandlers.current.byAction[id] = handler; };
  const change = (next) => { setOwn(next); store.set("keys", next); };

  return html`<main class="review">
    <div class="reviewhead">
      <h1>${t("review.title", { task: task.name, head: head.name })}</h1>
      ${current && !current.correcting && html`<span class="lease">${t("review.lease", { time: duration(current.lease_until - Date.now() / 1000, t) })}</span>`}
      <span class="soft">${t("review.ahead", { n: Math.max(0, feed.requests.length - 1) })}</span>
    </div>
    <div class="columns">
      <div class="work">
        ${feed.error && html`<p class="bad" role="alert">${feed.error.code === "network" ? t("error.network") : feed.error.message}
          <button type="button" onClick=${() => feed.fill()}>${t("review.refresh")}</button></p>`}
        ${!current && !feed.error && feed.empty && html`<p>${t("review.empty")} <button type="button" onClick=${() => feed.fill()}>${t("review.refresh")}</button></p>`}
        ${feed.taken && html`<p class="notice" role="alert">${t("review.taken")} ${current && t("review.next")}</p>`}
        ${current && html`
          ${current.lost && html`<p class="notice" role="alert">${t("review.lost")} <button type="button" onClick=${() => feed.drop(current.request)}>${t("review.continue")}</button></p>`}
          ${current.correcting && html`<p class="notice">${t("review.correcting")} ${current.revealed && t("review.assisted")}</p>`}
          ${current.queue === "drafts" && html`<p class="notice">${t("review.draft")}</p>`}
          ${current.queue === "adjudication" && html`<${TwoLabels} t=${t} lang=${lang} view=${view} head=${head} answers=${current.answers} choose=${setValue} />`}
          ${current.input === null && html`<p class="notice">${t("review.inputMissing", { setting: task.setting })}</p>`}
          <${view.View} key=${current.request} request=${current} head=${head} task=${task} value=${value} setValue=${setValue}
            draft=${current.draft} locale=${lang} t=${t} onAction=${onAction} submit=${handlers.submit}
            get=${(path) => inputs.get(current, path)} />`}
        <p class="message" role="status">${message}</p>
        ${current && html`<div class="actions">
          ${button("submit", "action.submit", true)} ${current.draft !== null && view.fromDraft && button("accept")}
          ${button("unknown")} ${button("skip")} ${button("flag")} ${button("release")} ${button("help")}</div>`}
      </div>
      <aside class="side">
        ${shown && html`<${RevealPanel} t=${t} lang=${lang} shown=${shown} head=${headOf(shown.entry.request.head)} view=${view} close=${() => setShown(null)} />`}
        <${OutboxBar} t=${t} outbox=${outbox} task=${place.task} takeBack=${reopen} correct=${correct} />
        <div class="actions">${button("undo")} ${button("reveal")} ${button("send")} ${button("queue")}</div>
      </aside>
    </div>
    ${dialog === "help" && html`<${HelpDialog} t=${t} actions=${actions} own=${own} setOwn=${change} close=${() => setDialog("")} />`}
    ${dialog === "flag" && html`<${ReasonDialog} t=${t} title=${t("flag.title")} most=${NOTE_CHARACTERS} presets=${presets}
      done=${(reason) => ended("flag", reason)} close=${() => setDialog("")} />`}
    ${dialog === "skip" && html`<${ReasonDialog} t=${t} title=${t("reason.title")} most=${REASON_CHARACTERS}
      presets=${["reason.tired", "reason.later", "reason.input", "reason.conflict"].map((name) => t(name))}
      done=${(reason) => ended("skip", reason)} close=${() => setDialog("")} />`}
    ${dialog === "release" && html`<${ReasonDialog} t=${t} title=${t("reason.release")} most=${REASON_CHARACTERS} optional=${true}
      presets=${["reason.tired", "reason.conflict"].map((name) => t(name))}
      done=${(reason) => ended("release", reason)} close=${() => setDialog("")} />`}
  </main>`;
}

/** Two labels that differ: one of them may be taken over. */
function TwoLabels({ t, lang, view, head, answers, choose }) {
  return html`<section class="notice two"><p>${t("review.two")}</p>
    <ol>${answers.map((answer, index) => html`<li><button type="button" onClick=${() => choose(view.fromValue ? view.fromValue(answer, head) : answer)}>
      ${t("review.answer", { n: index + 1 })}: ${view.summary(answer, head, t, lang)}</button></li>`)}</ol></section>`;
}
