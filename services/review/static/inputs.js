// Inputs of claimed requests. Those of the next ones are fetched while somebody works on the one on the screen.

import { content } from "./api.js";

const PAUSE_MS = 300; // what the screen needs itself goes first
const MOST_AHEAD = 3;

export class Inputs {
  constructor(task, fetched = content) {
    Object.assign(this, { task, fetched, kept: new Map(), timer: 0, round: 0 });
  }

  /** Response of a path below a claimed request; one that was fetched ahead is handed out once. */
  get(request, path) {
    const key = keyOf(request, path);
    const prefetched = this.kept.get(key);
    this.kept.delete(key);
    const fetchNow = () => this.fetched(this.task, request.request, request.lease, path);
    return prefetched ? prefetched.catch(fetchNow) : fetchNow();
  }

  /** Fetch what a view needs first of the requests behind the one on the screen; drop responses of requests that are gone. */
  prepare(requests, view) {
    this.stop();
    const keys = requests.map((request) => keyOf(request, ""));
    for (const key of this.kept.keys()) if (!keys.some((own) => key.startsWith(own))) this.kept.delete(key);
    if (view.ahead) this.timer = setTimeout(() => this.fetchAhead(requests.slice(1, 1 + MOST_AHEAD), view, this.round), PAUSE_MS);
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
