// Inputs of claimed requests. Those of the next ones are fetched while somebody works on the one on the screen.

import { content } from "./api.js";

const PAUSE_MS = 300; // what the screen needs itself goes first

export class Inputs {
  constructor(task, fetched = content) {
    Object.assign(this, { task, fetched, kept: new Map(), timer: 0 });
  }

  /** Response of a path below a claimed request; one that was fetched ahead is handed out once. */
  get(request, path) {
    const key = keyOf(request, path);
    const early = this.kept.get(key);
    this.kept.delete(key);
    const late = () => this.fetched(this.task, request.request, request.lease, path);
    return early ? early.catch(late) : late();
  }

  /** Fetch what a view needs first of all requests but the one on the screen; forget that of others. */
  prepare(requests, view) {
    clearTimeout(this.timer);
    const keys = requests.map((request) => keyOf(request, ""));
    for (const key of this.kept.keys()) if (!keys.some((own) => key.startsWith(own))) this.kept.delete(key);
    if (!view.ahead) return;
    this.timer = setTimeout(async () => {
      for (const request of requests.slice(1)) {
        try {
          await view.ahead((path) => this.early(request, path));
        } catch {
          // asked for again, with its error, when it is on the screen
        }
      }
    }, PAUSE_MS);
  }

  /** A copy of a response that is kept; its whole body is here. */
  async early(request, path) {
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
