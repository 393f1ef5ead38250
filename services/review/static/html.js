// Preact with tagged templates, and what modules of the page share of it.
export {
  html, render, useState, useEffect, useLayoutEffect, useMemo, useRef, useCallback,
} from "./vendor/htm/standalone.module.js";

/** Say something to people who use a screen reader; errors are shown as well. */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = text;
}
