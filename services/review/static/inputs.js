// Inputs of claimed requests. That of the one on the screen is fetched before its view is drawn, those of the next ones
// while somebody works on it.

import { content } from "./api.js";

const PAUSE_MS = 300; // what the screen needs itself goes first
const MOST_AHEAD = 3;

export class Inputs {
  constructor(task, fetched = content) {
    Object.assign(this, { task, fetched, kept: new Map(), timer: 0, round: 0, first: "" });
  }

  /** Response of a path below a claimed request; one that was fetched ahead is handed out once. */
  get(request, path) {
    const key = keyOf(request, path);
    const prefetched = this.kept.get(key);
    this.kept.delete(key);
    const fetchNow = () => this.fetched(this.task, request.request, request.lease, path);
    return prefetched ? prefetched.catch(fetchNow) : fetchNow();
  }

  /** Fetch what a view needs first: of a new request on the screen now, of those behind it soon; drop responses of others. */
  prepare(requests, view) {
    this.stop();
    const keys = requests.map((request) => keyOf(request, ""));
    for (const key of this.kept.keys()) if (!keys.some((own) => key.startsWith(own))) this.kept.delete(key);
    if (!view.ahead || !requests.length) return;
    if (keys[0] !== this.first) this.fetchAhead(requests.slice(0, 1), view, this.round);
    [this.first] = keys; // its responses are handed out once
    this.timer = setTimeout(() => this.fetchAhead(requests.slice(1, 1 + MOST_AHEAD), view, this.round), PAUSE_MS);
  }

  /** Fetch nothing more ahead. */
  stop() {
    clearTimeout(this.timer);
    this.round += 1;
  }

  async fetchAhead(requests, view, round) {
    for (const request of requests) {
      if (round !== this.round) return;
      try {
        await view.ahead((path) => this.prefetch(request, path));
      } catch {
        // asked for again, with its error, when it is on the screen
      }
    }
  }

  /** A copy of a response that is kept; its whole body is here. */
  async prefetch(request, path) {
    const key = keyOf(request, path);
    if (!this.kept.has(key)) {
      this.kept.set(key, this.fetched(this.task, request.request, request.lease, path).then(whole));
      this.kept.get(key).catch(() => this.kept.delete(key));
    }
    return (await this.kept.get(key)).clone();
  }
}

const keyOf = (request, path) => `${request.request} ${request.lease} ${path}`;

async function whole(response) {
  return new Response(await response.arrayBuffer(), { headers: response.headers });
}
