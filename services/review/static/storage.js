// What the browser keeps for a reviewer: settings, and what is claimed. No prediction is ever among them.

const PREFIX = "demur";

/** Values of one reviewer in localStorage (or sessionStorage), by name. */
export function storage(reviewer, area = localStorage) {
  const name = (key) => `${PREFIX}.${reviewer}.${key}`;
  return {
    get(key, otherwise = null) {
      try {
        const text = area.getItem(name(key));
        return text === null ? otherwise : JSON.parse(text);
      } catch {
        return otherwise;
      }
    },
    /** Return false where the browser has no room. */
    set(key, value) {
      try {
        area.setItem(name(key), JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
    remove(key) {
      area.removeItem(name(key));
    },
  };
}
