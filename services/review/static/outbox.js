// Answers on their way: the last ten stay here and can be taken back; older ones are sent. Sending is repeated until the
// server has answered, also after a reload or without a network; the same answer twice is one label.

import { act } from "./api.js";

export const KEPT = 10;
export const SEND_AFTER_MS = 30_000;
const RETRY_MS = [1_000, 3_000, 10_000, 30_000];

/** Errors after which sending again cannot help. */
const FINAL = new Set(["lease_lost", "wrong_state", "no_request", "already_labelled", "superseded", "must_complete"]);
const isFinal = (error) => FINAL.has(error.code) || [400, 409, 413, 415, 422].includes(error.status); // 404: a service may be down

/** What the browser may keep of an entry: the draft and the answers of others stay in memory. */
const withoutPredictions = (entry) => ({ ...entry, request: { ...entry.request, draft: null, answers: [] } });

export class Outbox {
  /** `kept` holds answers over a reload, see KeptAnswers. */
  constructor(kept, { now = () => Date.now(), send = act } = {}) {
    Object.assign(this, { kept, now, send, entries: [], underWay: new Map(), listeners: new Set(), timer: null });
    for (const entry of [...kept.entries].sort((one, other) => one.at - other.at)) {
      this.entries.push({ ...entry, state: entry.state === "sending" ? "waiting" : entry.state });
    }
    this.trim();
    this.schedule();
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Entries that are not sent, the oldest first. */
  get waiting() {
    return this.entries.filter((entry) => entry.state !== "sent" && entry.state !== "failed");
  }

  /** Add an answer: {task, request (as claimed, blind), action, body, summary}. */
  add({ task, request, action, body, summary }) {
    this.entries = this.entries.filter((entry) => entry.id !== request.request);
    const entry = {
      id: request.request, task, action, body, summary, at: this.now(), state: "waiting", tries: 0, error: "",
      request: { ...request },
    };
    this.entries.push(entry);
    this.kept.put(withoutPredictions(entry)).then((safe) => {
      if (safe) return;
      entry.due = 0; // it would be lost by a reload
      this.schedule();
    });
    this.trim();
    this.changed();
    this.schedule();
    return entry;
  }

  /** Take the newest entry back that is not sent; undefined where there is none. */
  takeBack(id) {
    const open = this.entries.filter((one) => one.state === "waiting" || one.state === "failed");
    const entry = id ? this.entries.find((one) => one.id === id) : open.at(-1);
    if (!entry || (entry.state !== "waiting" && entry.state !== "failed")) return undefined;
    this.remove(entry);
    return entry;
  }

  remove(entry) {
    this.entries = this.entries.filter((one) => one !== entry);
    this.kept.remove(entry.id);
    this.changed();
  }

  /** Send everything now; resolves when every entry was answered, or has failed once. */
  async flush() {
    await Promise.all(this.waiting.map((entry) => this.transmit(entry)));
  }

  schedule() {
    clearTimeout(this.timer);
    const waiting = this.entries.filter((entry) => entry.state === "waiting");
    if (!waiting.length) return;
    const due = Math.min(...waiting.map((entry, index) => this.dueOf(entry, waiting.length - index)));
    this.timer = setTimeout(() => this.work(), Math.max(0, due - this.now()));
  }

  dueOf(entry, place) {
    if (entry.due !== undefined) return entry.due;
    return place > KEPT ? 0 : entry.at + SEND_AFTER_MS;
  }

  async work() {
    const waiting = this.entries.filter((entry) => entry.state === "waiting");
    const ready = waiting.filter((entry, index) => this.dueOf(entry, waiting.length - index) <= this.now());
    await Promise.all(ready.map((entry) => this.transmit(entry)));
    this.schedule();
  }

  /** Send an entry; resolves when it was answered, also where it is on its way already. */
  transmit(entry) {
    if (entry.state === "waiting") this.underWay.set(entry, this.deliver(entry).finally(() => this.underWay.delete(entry)));
    return this.underWay.get(entry) || Promise.resolve();
  }

  async deliver(entry) {
    entry.state = "sending";
    this.changed();
    try {
      entry.result = await this.send(entry.task, entry.id, entry.action, entry.body);
      entry.state = "sent";
      entry.error = "";
      this.kept.remove(entry.id);
    } catch (error) {
      entry.error = error.message;
      entry.code = error.code;
      if (isFinal(error)) {
        entry.state = "failed"; // kept, so that the value can be copied
        this.kept.put(withoutPredictions(entry));
      } else {
        entry.state = "waiting";
        entry.due = this.now() + RETRY_MS[Math.min(entry.tries, RETRY_MS.length - 1)];
        entry.tries += 1;
      }
    }
    this.trim();
    this.changed();
    this.schedule();
  }

  /** Forget sent entries beyond the last ten. */
  trim() {
    const sent = this.entries.filter((entry) => entry.state === "sent");
    const old = new Set(sent.slice(0, Math.max(0, sent.length - KEPT)));
    this.entries = this.entries.filter((entry) => !old.has(entry));
  }

  changed() {
    for (const listener of this.listeners) listener();
  }

  close() {
    clearTimeout(this.timer);
  }
}
