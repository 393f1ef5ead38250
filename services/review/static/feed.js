// Requests that this page has claimed: the one on the screen and some ahead, with leases that are extended while somebody
// works and given back when the page closes.

import { act, claim } from "./api.js";

export const AHEAD = 3;
export const LEASE_SECONDS = 600;
const EXTEND_BELOW_SECONDS = 400;
const IDLE_MS = 120_000;
const TICK_MS = 15_000;

export class Feed {
  /** `place` is {task, head, queue}; `store` keeps blind claims over a crash of the page. */
  constructor(place, store, { now = () => Date.now() } = {}) {
    Object.assign(this, { place, store, now, requests: [], empty: false, taken: false, error: null, claiming: null, closed: false });
    this.listeners = new Set();
    this.active = now();
    this.key = `claimed.${place.task}.${place.head}.${place.queue}`;
    if (place.queue === "blind") {
      this.requests = (store.get(this.key, []) || []).filter((request) => request.lease_until * 1000 > now());
    }
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.leave = () => this.release();
    addEventListener("pagehide", this.leave);
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  get current() {
    return this.requests[0];
  }

  /** Note that somebody works. */
  touch() {
    this.active = this.now();
  }

  /** Claim a request that somebody chose and put it on the screen, or note that it was taken; then claim more. */
  async choose(id) {
    const kept = this.requests.find((request) => request.listed === id); // of the same page before a reload or a crash
    const [chosen] = kept ? [kept] : await this.fill([id]);
    if (this.closed || (!chosen && this.error)) return;
    if (chosen) this.bringBack(chosen);
    else {
      this.taken = true;
      this.changed();
    }
    await this.fill();
  }

  /** Claim until enough requests are ahead, or some that the list of waiting requests names; return those that are new. */
  async fill(requests) {
    if (this.claiming) return this.claiming;
    const missing = AHEAD + 1 - this.requests.length;
    if (missing <= 0 && !requests) return [];
    this.claiming = (async () => {
      try {
        const body = { count: Math.max(1, missing), seconds: LEASE_SECONDS, head: this.place.head, queue: this.place.queue, inputs: false };
        const claimed = await claim(this.place.task, requests ? { ...body, requests } : body);
        if (this.closed) { // nobody is here for them any more
          this.giveBack(claimed);
          return [];
        }
        const known = new Set(this.requests.map((request) => request.request));
        const added = claimed.filter((request) => !known.has(request.request));
        if (requests) for (const request of added) [request.listed] = requests;
        this.requests = [...this.requests, ...added];
        this.empty = this.requests.length === 0;
        this.error = null;
        return added;
      } catch (error) {
        this.error = error;
        return [];
      } finally {
        this.claiming = null;
        this.changed();
      }
    })();
    return this.claiming;
  }

  /** The current request is decided: show the next one at once, and claim more behind it. */
  advance() {
    this.taken = false;
    this.requests = this.requests.slice(1);
    this.changed();
    this.fill();
  }

  /** Put a request on the screen, before those that were claimed. */
  bringBack(request) {
    this.taken = false;
    this.requests = [request, ...this.requests.filter((one) => one.request !== request.request)];
    this.changed();
  }

  /** Forget a request that was given back or lost. */
  drop(id) {
    this.taken = false;
    this.requests = this.requests.filter((request) => request.request !== id);
    this.changed();
    this.fill();
  }

  async tick() {
    if (this.now() - this.active > IDLE_MS) return;
    const soon = this.now() / 1000 + EXTEND_BELOW_SECONDS;
    await Promise.all(
      this.requests.filter((request) => request.lease_until < soon && !request.sent).map(async (request) => {
        try {
          const body = { lease: request.lease, seconds: LEASE_SECONDS };
          request.lease_until = (await act(this.place.task, request.request, "extend", body)).lease_until;
        } catch (error) {
          if (error.status === 409 || error.code === "no_request") request.lost = true;
        }
      }),
    );
    const left = this.requests.filter((request, place) => place === 0 || !request.lost); // nobody has begun with the others
    const dropped = left.length < this.requests.length;
    this.requests = left;
    this.changed();
    if (dropped) this.fill();
  }

  /** Give everything back that is not decided; also while the page closes. */
  release() {
    this.giveBack(this.requests.filter((one) => !one.sent && !one.lost));
    this.requests = [];
    this.store.remove(this.key);
  }

  giveBack(requests) {
    for (const request of requests) {
      act(this.place.task, request.request, "release", { lease: request.lease }, { keepalive: true }).catch(() => {});
    }
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    removeEventListener("pagehide", this.leave);
    this.release();
  }

  changed() {
    if (this.place.queue === "blind") this.store.set(this.key, this.requests.filter((request) => !request.sent));
    for (const listener of this.listeners) listener();
  }
}
