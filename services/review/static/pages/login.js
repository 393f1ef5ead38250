// Login by token, or by name where the installation needs none.

import { logIn } from "../api.js";
import { html, useRef, useEffect, useState } from "../html.js";

export function LoginPage({ t, tokens, ended, kept, done }) {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => field.current && field.current.focus(), []);

  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    setError("");
    const text = field.current.value.trim();
    try {
      done(await logIn(tokens ? { token: text } : { name: text }));
    } catch (refused) {
      setError(refused.code === "network" ? t("error.network") : refused.message);
      setBusy(false);
    }
  }

  const kind = tokens ? "login.token" : "login.name";
  return html`<main class="narrow">
    <h1>${t("login.title")}</h1>
    ${ended && html`<p class="notice" role="alert">${t("login.again", { n: kept })}</p>`}
    <form onSubmit=${submit}>
      <label for="login">${t(kind)}</label>
      <input id="login" ref=${field} type=${tokens ? "password" : "text"} autocomplete=${tokens ? "off" : "name"}
        required maxlength="120" aria-describedby="login-help" aria-invalid=${error ? "true" : "false"} />
      <p id="login-help" class="note">${t(`${kind}.help`)}</p>
      ${error && html`<p class="bad" role="alert">${error}</p>`}
      <button class="main" type="submit" disabled=${busy}>${t("login.begin")}</button>
    </form>
  </main>`;
}
