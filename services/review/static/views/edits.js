// Undo of what is not submitted yet, inside of a view.

import { useEffect, useRef } from "../html.js";

const MOST = 200;

/** Earlier values of a view, the newest last. */
export function useHistory() {
  const kept = useRef([]);
  return {
    push(value) {
      kept.current = [...kept.current.slice(1 - MOST), value];
    },
    pop: () => kept.current.pop(),
    get size() {
      return kept.current.length;
    },
  };
}

/**
 * Let Ctrl with Z undo an edit of the view first, as long as there is one; else the page takes its last answer back.
 * `undo` returns whether there was something to undo.
 */
export function useUndoKey(undo) {
  const latest = useRef(undo);
  latest.current = undo;
  useEffect(() => {
    function listen(event) {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      if (document.querySelector("dialog[open]") || event.target.closest("input[type=text], textarea")) return;
      if (latest.current()) event.preventDefault();
    }
    addEventListener("keydown", listen, true);
    return () => removeEventListener("keydown", listen, true);
  }, []);
}

/** Register handlers by action. */
export function registerActions(onAction, handlers) {
  for (const [id, handler] of Object.entries(handlers)) onAction(id, handler);
}
