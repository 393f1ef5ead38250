// Texts in English and German, from one table per part of the page.

import common from "./common.js";
import lesion from "./lesion.js";
import motion from "./motion.js";
import operators from "./operators.js";
import views from "./views.js";

const TABLES = [common, views, motion, lesion, operators];
export const LANGUAGES = { en: "English", de: "Deutsch" };

/** Language that the reviewer chose, else the browser's, else English. */
export function language(chosen) {
  const wishes = [chosen, ...(navigator.languages || [])].filter(Boolean).map((wish) => wish.slice(0, 2).toLowerCase());
  return wishes.find((wish) => wish in LANGUAGES) || "en";
}

/** Function that returns a text by its name, with values in braces filled in. */
export function translator(lang) {
  const texts = Object.assign({}, ...TABLES.map((table) => table.en), ...TABLES.map((table) => table[lang] || {}));
  return (name, values = {}) =>
    (texts[name] || name).replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

/** Names that one language has and the other lacks; empty where the table is complete. */
export function missing() {
  return TABLES.flatMap((table) => {
    const english = Object.keys(table.en);
    const german = Object.keys(table.de);
    return [...english.filter((name) => !german.includes(name)), ...german.filter((name) => !english.includes(name))];
  });
}
