// Views of inputs by name. Each is loaded when it is needed, since some bring large libraries.

const VIEWS = {
  rows: () => import("./rows.js"),
  vessel: () => import("./vessel.js"),
  weather: () => import("./weather.js"),
  motion: () => import("./motion.js"),
  lesion: () => import("./lesion.js"),
  translation: () => import("./translation.js"),
};

/** Return the view of a name; inputs without one of their own are shown as rows. */
export async function loadView(name) {
  return (await (VIEWS[name] || VIEWS.rows)()).default;
}

/** Return the actions of all views, with their keys and texts. */
export async function allActions() {
  const views = await Promise.all(Object.keys(VIEWS).map(loadView));
  return views.flatMap((view) => view.actions || []);
}
