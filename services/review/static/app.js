// Root of the page: who is logged in, which page is shown, and what all pages share.

import { addressOf, OPERATORS, placeOf } from "./address.js";
import * as api from "./api.js";
import { html, render, useEffect, useMemo, useState } from "./html.js";
import { KeptAnswers } from "./kept_answers.js";
import { Outbox } from "./outbox.js";
import { OperatorsPage } from "./pages/operators.js";
import { LoginPage } from "./pages/login.js";
import { QueuePage } from "./pages/queue.js";
import { ReviewPage } from "./pages/review.js";
import { storage } from "./storage.js";
import { LANGUAGES, language, translator } from "./texts/index.js";

const device = storage("device");

function useHash() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = () => setHash(location.hash);
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return hash;
}

function App() {
  const [session, setSession] = useState(null);
  const [ended, setEnded] = useState(false);
  const [chosen, setChosen] = useState(device.get("language"));
  const [theme, setTheme] = useState(device.get("theme", matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  const lang = language(chosen);
  const t = useMemo(() => translator(lang), [lang]);
  const hash = useHash();
  const place = placeOf(hash);
  const name = session && session.reviewer;
  const store = useMemo(() => (name ? storage(name) : null), [name]);
  const claims = useMemo(() => (name ? storage(name, sessionStorage) : null), [name]);
  const [outbox, setOutbox] = useState(null);

  useEffect(() => {
    api.whenSessionEnds(() => setEnded(true));
    api.session().then(setSession, () => setSession({ reviewer: null, tokens: false }));
  }, []);
  useEffect(() => {
    document.documentElement.lang = lang;
    document.documentElement.dataset.theme = theme;
  }, [lang, theme]);
  useEffect(() => { document.title = titleOf(name && !ended, place, hash, t); }, [name, ended, hash, t]);
  useEffect(() => {
    if (!name) return undefined;
    let [alive, opened] = [true, null];
    const send = () => opened && opened.flush();
    KeptAnswers.open(name).then((kept) => {
      if (!alive) return;
      opened = new Outbox(kept);
      setOutbox(opened);
    });
    addEventListener("online", send);
    return () => {
      alive = false;
      removeEventListener("online", send);
      if (opened) opened.close();
      setOutbox(null);
    };
  }, [name]);

  if (session === null || (name && !outbox)) return null;
  const settings = {
    lang, t, theme, store,
    setTheme(value) {
      device.set("theme", value);
      setTheme(value);
    },
  };
  const bar = html`<${Bar} ...${settings} session=${session} outbox=${outbox}
    setLanguage=${(value) => { device.set("language", value); setChosen(value); }}
    logOut=${async () => { await outbox.flush(); await api.logOut(); location.hash = ""; setSession({ ...session, reviewer: null }); }} />`;
  if (!name || ended) {
    const kept = outbox ? outbox.waiting.length : 0;
    return html`${bar}<${LoginPage} t=${t} tokens=${session.tokens} ended=${ended} kept=${kept}
      done=${(next) => { setSession(next); setEnded(false); if (outbox) outbox.flush(); }} />`;
  }
  const shared = { ...settings, outbox, session: claims };
  return html`${bar}${place
    ? html`<${ReviewPage} key=${addressOf(place)} place=${place} ...${shared} />`
    : hash === OPERATORS ? html`<${OperatorsPage} ...${shared} />` : html`<${QueuePage} ...${shared} />`}`;
}

/** Title of the window: the page, then the product. */
function titleOf(inside, place, hash, t) {
  const page = !inside ? t("login.title") : place ? t("review.title", place) : t(hash === OPERATORS ? "operators.title" : "queue.title");
  return `${page} – Demur`;
}

function Bar({ t, lang, theme, setTheme, setLanguage, session, logOut }) {
  return html`<header class="bar">
    <a class="brand" href="#/"><b>demur</b> ${t("product")}</a>
    <span class="spacer"></span>
    <label class="plain"><span class="hidden">${t("language")}</span>
      <select value=${lang} onChange=${(event) => setLanguage(event.target.value)}>
        ${Object.entries(LANGUAGES).map(([code, text]) => html`<option value=${code} selected=${code === lang}>${text}</option>`)}
      </select></label>
    <button type="button" onClick=${() => setTheme(theme === "dark" ? "light" : "dark")}>${t(theme === "dark" ? "theme.light" : "theme.dark")}</button>
    ${session.reviewer && html`<span class="who">${t("session.as", { name: session.reviewer })}</span>
      <button type="button" onClick=${logOut}>${t("session.end")}</button>`}
  </header>`;
}

render(html`<${App} />`, document.getElementById("app"));
