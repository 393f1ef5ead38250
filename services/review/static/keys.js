// The one table of keys: it binds them, `?` lists it, and reviewers may change it.

import { useLayoutEffect } from "./html.js";

/** Actions of every view, with their keys and texts. */
export const COMMON = [
  { id: "submit", keys: ["Enter", "ctrl+Enter"], text: "action.submit" },
  { id: "accept", keys: ["a"], text: "action.accept" },
  { id: "unknown", keys: ["u"], text: "action.unknown" },
  { id: "skip", keys: ["s"], text: "action.skip" },
  { id: "flag", keys: ["f"], text: "action.flag" },
  { id: "undo", keys: ["Backspace", "ctrl+z"], text: "action.undo" },
  { id: "previous", keys: ["p"], text: "action.previous" },
  { id: "send", keys: ["shift+Enter"], text: "action.send" },
  { id: "reveal", keys: ["r"], text: "action.reveal" },
  { id: "release", keys: ["g"], text: "action.release" },
  { id: "help", keys: ["?"], text: "action.help" },
  { id: "queue", keys: ["Escape"], text: "action.queue" },
];

/** Name of a key press, such as "ctrl+z". */
export function pressed(event) {
  const shifted = event.shiftKey && (event.key.length > 1 || event.ctrlKey || event.metaKey);
  const parts = [event.ctrlKey || event.metaKey ? "ctrl" : "", event.altKey ? "alt" : "", shifted ? "shift" : ""];
  const key = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key;
  return [...parts.filter(Boolean), key].join("+");
}

/** Actions with the reviewer's own keys. */
export function bound(actions, own) {
  return actions.map((action) => ({ ...action, keys: own[action.id] || action.keys }));
}

/** Keys that a field keeps for itself while somebody types in it. */
function isTyping(event) {
  const field = event.target.closest("input, textarea, select, [contenteditable]");
  if (!field || field.type === "checkbox" || field.type === "radio" || field.type === "button") return false;
  if (event.ctrlKey || event.metaKey) return event.key === "z" || event.key.length === 1;
  if (event.altKey) return false; // Alt with a letter works in every field
  if (field.dataset.numeric !== undefined) { // a number has few characters: letters are commands
    if (event.key === "Backspace") return field.value !== "";
    return /^[0-9eE.,+-]$/.test(event.key) || ["ArrowLeft", "ArrowRight", "Home", "End", "Delete", "Tab"].includes(event.key);
  }
  if (field.tagName === "TEXTAREA") return event.key !== "Escape";
  return event.key.length === 1 || ["Backspace", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Delete", "Tab"].includes(event.key);
}

/** Bind actions: `handlers` is {id: function}; an open dialog has the keys for itself. */
export function useKeys(actions, handlers) {
  useLayoutEffect(() => { // before the next key
    function listen(event) {
      if (event.defaultPrevented || document.querySelector("dialog[open]") || isTyping(event)) return;
      const name = pressed(event);
      const plain = name.startsWith("alt+") ? name.slice(4) : name;
      const action = actions.find((one) => one.keys.includes(name) || (name !== plain && one.keys.includes(plain)));
      const pressesButton = ["Enter", " "].includes(event.key) && event.target.closest("button, a, summary");
      if (!action || !handlers[action.id] || pressesButton) return;
      event.preventDefault();
      handlers[action.id](event);
    }
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
}

/** Words for a key. */
export function keyText(key, t) {
  const names = { " ": t("key.space"), ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Enter: "↵", Backspace: "⌫", Escape: "Esc" };
  return key.split("+").map((part, index, all) => (part === "" && index === all.length - 1 ? "+" : names[part] || (part === "ctrl" ? t("key.ctrl") : part === "shift" ? "⇧" : part))).join(" ");
}
