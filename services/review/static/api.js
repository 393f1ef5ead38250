// Calls to the console's server. Every call says that it comes from this page, which pages of others cannot.

/** Error of a call: `code` is the server's, or "network" when nothing was answered. */
export class CallError extends Error {
  constructor(status, code, message, field = "") {
    super(message);
    Object.assign(this, { status, code, field });
  }
}

let onNoSession = () => {};

/** Register what happens when the session has ended; the page then asks for a login and keeps all answers. */
export function whenSessionEnds(handler) {
  onNoSession = handler;
}

/** Send a request; return its response if it succeeded, else throw a CallError. */
export async function call(method, path, body, { headers = {}, keepalive = false } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      keepalive,
      headers: { "x-demur-review": "1", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "error",
    });
  } catch (error) {
    throw new CallError(0, "network", String(error.message || error));
  }
  if (response.ok) return response;
  let detail = {};
  try {
    detail = (await response.json()).error || {};
  } catch {
    // an answer of something between: the status says enough
  }
  const ended = ["no_session", "token_refused", "token_expired", "token_needed"].includes(detail.code);
  if (response.status === 401 && ended && path !== "/api/session") onNoSession();
  throw new CallError(response.status, detail.code || `http_${response.status}`, detail.message || response.statusText, detail.field);
}

const json = async (method, path, body, options) => (await call(method, path, body, options)).json();

export const session = () => json("GET", "/api/session");
export const logIn = (login) => json("POST", "/api/session", login);
export const logOut = () => json("DELETE", "/api/session");
export const tasks = async () => (await json("GET", "/api/tasks")).tasks;

/** Figures of reviewers by name, for operators. */
export const reviewers = () => json("GET", "/api/monitor/reviewers");
/** What waiting labels are worth for a figure, for operators. */
export const worth = (query) => json("GET", `/api/monitor/worth?${new URLSearchParams(query)}`);
/** What one more label of an answered and of a deferred unit is worth; empty where no monitor says so. */
export const worthOfKinds = (query) => json("GET", `/api/monitor/worth/kinds?${new URLSearchParams(query)}`);

const base = (task) => `/api/tasks/${encodeURIComponent(task)}/requests`;
const one = (task, request) => `${base(task)}/${encodeURIComponent(request)}`;

export const waiting = (task, query) => json("GET", `${base(task)}/waiting?${new URLSearchParams(query)}`);
export const claim = async (task, body) => (await json("POST", `${base(task)}/claim`, body)).requests;
/** One of extend, release, skip, submit, correct, reveal, flag. */
export const act = (task, request, action, body, options) => json("POST", `${one(task, request)}/${action}`, body, options);
/** Response of a path below a claimed request, such as its input. */
export const content = (task, request, lease, path) =>
  call("GET", `${one(task, request)}/${path}`, undefined, { headers: { "demur-lease": lease } });
