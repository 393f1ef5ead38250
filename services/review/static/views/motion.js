// View of a traffic scene from above: it plays, and the true path of one vehicle is drawn, dragged or typed with arrows.

import { number } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { keyText } from "../keys.js";
import { registerActions, useHistory, useUndoKey } from "./edits.js";
import { MotionCanvas, zoomed } from "./motion_canvas.js";
import { stateAt, usualCamera } from "./motion_drawing.js";
import { alongLine, constantSpeed, hardest, HANDLES, isPath, moved, speedAt, standing, STEP_S, STEPS } from "./motion_path.js";

const PROPOSALS = 5;
const NUDGE_M = 0.5;
const FAR_NUDGE_M = 2;
const ZOOM = 1.25;
const HARD_M_S2 = 8;
const NUDGES = { ahead: [1, 0], rear: [-1, 0], left: [0, 1], right: [0, -1] };
const ARROWS = { ahead: "ArrowUp", rear: "ArrowDown", left: "ArrowLeft", right: "ArrowRight" };

const plansOf = (draft) => (draft && Array.isArray(draft.plans) ? draft.plans.slice(0, PROPOSALS) : []);

/** Scene of a request, or the error of loading it. */
function useScene(get) {
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    let left = false;
    get("scene").then((response) => response.json()).then(
      (scene) => left || setLoaded({ scene }),
      (error) => left || setLoaded({ error }),
    );
    return () => { left = true; };
  }, []);
  return loaded;
}

/** Time in steps from now: it plays until the past, or the drawn path, ends. */
function useTime(first, last) {
  const [time, setTime] = useState(0);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    let frame = 0;
    let before = performance.now();
    const advance = (now) => {
      const steps = (now - before) / 1000 / STEP_S;
      before = now;
      setTime((from) => Math.min(last, from + steps));
      frame = requestAnimationFrame(advance);
    };
    frame = requestAnimationFrame(advance);
    return () => cancelAnimationFrame(frame);
  }, [playing, last]);
  useEffect(() => { if (playing && time >= last) setPlaying(false); }, [playing, time, last]);
  return {
    time,
    playing,
    toggle() {
      if (!playing && time >= Math.max(0, last)) setTime(first);
      setPlaying(!playing);
    },
    go(to) {
      setPlaying(false);
      setTime((from) => Math.min(last, Math.max(first, Math.round(to(from)))));
    },
  };
}

function View(props) {
  const { scene, error } = useScene(props.get);
  const { t } = props;
  if (error) return html`<p class="notice" role="alert">${t("motion.none")} ${error.message}</p>`;
  if (!scene) return html`<p aria-busy="true">${t("motion.loading")}</p>`;
  return html`<${Scene} ...${props} scene=${scene} />`;
}

function Scene({ request, scene, value, setValue, draft, t, locale, onAction }) {
  const [camera, setCamera] = useState(null);
  const [handle, setHandle] = useState(HANDLES.length - 1);
  const [drawing, setDrawing] = useState(false);
  const [line, setLine] = useState(null);
  const latest = useRef({}); // keys come faster than frames
  const history = useHistory();
  const answered = isPath(value);
  const path = answered ? value : constantSpeed(scene.speed_m_s);
  const clock = useTime(1 - scene.steps, answered ? STEPS : 0);
  const proposals = [
    ...plansOf(draft).map((plan, index) => ({ path: plan, name: String(index + 1) })),
    ...(request.answers || []).map((plan, index) => ({ path: plan, name: t("review.answer", { n: index + 1 }) })),
  ].filter((proposal) => Array.isArray(proposal.path)).slice(0, PROPOSALS);
  latest.current.handle = handle;
  if (!latest.current.single) latest.current.single = !answered; // only the last handle was moved: it bends the path

  /** Change the answer; `change` gets the path so far. */
  function edit(change, { single = false, step = true } = {}) {
    setValue((old) => {
      const before = isPath(old) ? old : undefined;
      if (step) history.push({ value: old, single: latest.current.single });
      latest.current.single = single;
      return change(before || constantSpeed(scene.speed_m_s));
    });
  }
  function shift(dx, dy, step = true, chosen = latest.current.handle) {
    const single = latest.current.single && chosen === HANDLES.length - 1;
    edit((from) => moved(from, chosen, dx, dy, single), { single, step });
  }
  function undo() {
    const last = history.pop();
    if (!last) return false;
    latest.current.single = last.single;
    setValue(last.value);
    return true;
  }
  function pick(index) {
    if (proposals[index] && isPath(proposals[index].path)) edit(() => proposals[index].path);
  }
  function choose(next) {
    latest.current.handle = Math.min(HANDLES.length - 1, Math.max(0, next(latest.current.handle)));
    setHandle(latest.current.handle);
  }
  function drag(chosen, x, y, begins) {
    setValue((old) => {
      const from = isPath(old) ? old : constantSpeed(scene.speed_m_s);
      if (begins) history.push({ value: old, single: latest.current.single });
      latest.current.single = latest.current.single && chosen === HANDLES.length - 1;
      const [ownX, ownY] = from[HANDLES[chosen]];
      return moved(from, chosen, x - ownX, y - ownY, latest.current.single);
    });
  }
  function drawn(points, ended) {
    setLine(ended ? null : points);
    if (!ended) return;
    if (points.length > 1) edit(() => alongLine(points, scene.speed_m_s));
    setDrawing(false);
  }

  const handlers = {
    "motion.play": clock.toggle,
    "motion.back": () => clock.go((time) => time - 1),
    "motion.forward": () => clock.go((time) => time + 1),
    "motion.now": () => clock.go(() => 0),
    "motion.previous": () => choose((from) => from - 1),
    "motion.next": () => choose((from) => from + 1),
    "motion.constant": () => edit(() => constantSpeed(scene.speed_m_s), { single: true }),
    "motion.stand": () => edit(standing),
    "motion.draw": () => setDrawing((on) => !on),
    "motion.undo": undo,
    "motion.closer": () => setCamera((from) => zoomed(from, ZOOM, [from.x, from.y])),
    "motion.farther": () => setCamera((from) => zoomed(from, 1 / ZOOM, [from.x, from.y])),
    "motion.reset": () => setCamera(usualCamera(scene, latest.current.height)),
  };
  for (const [name, [dx, dy]] of Object.entries(NUDGES)) {
    handlers[`motion.${name}`] = () => shift(dx * NUDGE_M, dy * NUDGE_M);
    handlers[`motion.${name}.far`] = () => shift(dx * FAR_NUDGE_M, dy * FAR_NUDGE_M);
  }
  for (let index = 0; index < PROPOSALS; index += 1) handlers[`motion.pick.${index}`] = () => pick(index);
  registerActions(onAction, handlers);
  useUndoKey(undo);

  const sized = (width, height) => {
    latest.current.height = height;
    setCamera((from) => from || usualCamera(scene, height));
  };
  const picked = proposals.findIndex((proposal) => proposal.path === value || JSON.stringify(proposal.path) === JSON.stringify(value));
  const shown = { time: clock.time, path, sketch: !answered, proposals, picked, handle, line };
  const words = sceneWords(scene, answered ? value : null, proposals.length, t, locale);
  return html`
    <figure class="motion" data-request=${request.request}>
      <div class="toolbar" role="group" aria-label=${t("motion.time")}>
        <button type="button" aria-pressed=${clock.playing} onClick=${handlers["motion.play"]}>${t(clock.playing ? "motion.pause" : "motion.play")} <kbd>${t("key.space")}</kbd></button>
        <button type="button" onClick=${handlers["motion.back"]} aria-label=${t("motion.back")}>− 0.2 s <kbd>,</kbd></button>
        <button type="button" onClick=${handlers["motion.forward"]} aria-label=${t("motion.forward")}>+ 0.2 s <kbd>.</kbd></button>
        <output class="clock">${timeWords(clock.time, t, locale)}</output>
      </div>
      <${MotionCanvas} scene=${scene} camera=${camera} setCamera=${setCamera} sized=${sized} shown=${shown} words=${words}
        drawing=${drawing} chosen=${(index) => choose(() => index)} drag=${drag} drawn=${drawn} t=${t} />
      <figcaption>${t("motion.caption")}${proposals.length > 0 && ` ${t("motion.proposals")}`}</figcaption>
      <div class="toolbar" role="group" aria-label=${t("motion.path")}>
        <button type="button" onClick=${handlers["motion.constant"]}>${t("motion.constant")} <kbd>c</kbd></button>
        <button type="button" onClick=${handlers["motion.stand"]}>${t("motion.stand")} <kbd>x</kbd></button>
        ${Object.entries(ARROWS).map(([name, key]) => html`<button type="button" aria-label=${t(`motion.${name}`)}
          onClick=${handlers[`motion.${name}`]}>${keyText(key, t)}</button>`)}
        <button type="button" aria-pressed=${drawing} onClick=${handlers["motion.draw"]}>${t("motion.draw")} <kbd>d</kbd></button>
        <button type="button" disabled=${history.size === 0} onClick=${undo}>${t("motion.undo")} <kbd>z</kbd></button>
        <button type="button" onClick=${handlers["motion.closer"]} aria-label=${t("motion.closer")}>+</button>
        <button type="button" onClick=${handlers["motion.farther"]} aria-label=${t("motion.farther")}>−</button>
        <button type="button" onClick=${handlers["motion.reset"]}>${t("motion.reset")} <kbd>0</kbd></button>
        ${proposals.map((proposal, index) => html`<button type="button" aria-pressed=${index === picked} onClick=${() => pick(index)}>
          ${t("motion.pick", { n: index + 1 })}${draft && draft.weights && draft.weights[index] !== null && `, ${Math.round(100 * draft.weights[index])} %`} <kbd>${index + 1}</kbd></button>`)}
      </div>
    </figure>
    <${Handles} path=${path} sketch=${!answered} speed=${scene.speed_m_s} handle=${handle} choose=${choose} t=${t} locale=${locale} />
    <${Agents} scene=${scene} t=${t} locale=${locale} />`;
}

/** Table of the handles, which says what the path is and chooses one to move. */
function Handles({ path, sketch, speed, handle, choose, t, locale }) {
  const metres = (value) => number(Math.round(value * 10) / 10, locale);
  const hard = !sketch && hardest(path, speed) > HARD_M_S2;
  return html`<div class="label"><table class="handles">
    <caption>${t(sketch ? "motion.sketch" : "motion.yours")}</caption>
    <thead><tr><th scope="col">${t("motion.handle")}</th><th scope="col" class="num">${t("motion.x")}</th>
      <th scope="col" class="num">${t("motion.y")}</th><th scope="col" class="num">${t("motion.speed")}</th></tr></thead>
    <tbody>${HANDLES.map((step, index) => html`<tr class=${index === handle ? "chosen" : ""}>
      <th scope="row"><button type="button" class="link" aria-pressed=${index === handle} onClick=${() => choose(() => index)}>${t("motion.after", { s: index + 1 })}</button></th>
      <td class="num">${metres(path[step][0])} m</td><td class="num">${metres(path[step][1])} m</td>
      <td class="num">${metres(speedAt(path, step))} m/s</td></tr>`)}</tbody></table>
    <p class="note">${t("motion.keys")}</p>
    ${hard && html`<p class="bad">${t("motion.hard")}</p>`}</div>`;
}

/** What is on the picture, in words. */
function Agents({ scene, t, locale }) {
  const whole = (value) => number(Math.round(value), locale);
  const others = scene.agents.filter((agent) => agent.kind !== "agent").map((agent) => ({ agent, state: stateAt(agent, 0, scene.steps) }));
  return html`<details class="agents"><summary>${t("motion.agents", { n: others.length })}</summary>
    <ul>${others.map(({ agent, state }) => html`<li>${t(`motion.kind.${agent.kind}`)}: ${state
      ? t("motion.at", { x: whole(state[0]), y: whole(state[1]), speed: whole(speedOf(agent) ?? 0) })
      : t("motion.unseen")}</li>`)}</ul>
    ${scene.left_out.agents + scene.left_out.lines > 0 && html`<p class="note">${t("motion.leftOut", scene.left_out)}</p>`}</details>`;
}

/** Speed of an agent in the last second, m/s; undefined where it was not seen. */
function speedOf(agent) {
  const seen = agent.states.map((state, step) => ({ state, step })).filter((one) => one.state).slice(-6);
  if (seen.length < 2) return undefined;
  const [from, to] = [seen[0], seen.at(-1)];
  return Math.hypot(to.state[0] - from.state[0], to.state[1] - from.state[1]) / ((to.step - from.step) * STEP_S);
}

function timeWords(time, t, locale) {
  const seconds = Math.round(time * STEP_S * 10) / 10;
  if (seconds === 0) return t("motion.time.now");
  return t(seconds < 0 ? "motion.time.past" : "motion.time.path", { s: number(Math.abs(seconds), locale) });
}

function sceneWords(scene, path, proposals, t, locale) {
  const count = (kind) => scene.agents.filter((agent) => agent.kind === kind).length;
  const lit = scene.lanes.filter((lane) => ["open", "closed"].includes(lane.states.at(-1)));
  const words = [t("motion.words", {
    speed: number(Math.round(scene.speed_m_s * 10) / 10, locale),
    vehicles: count("vehicle") + count("ego"),
    people: count("pedestrian"),
    lanes: scene.lanes.length,
    closed: lit.filter((lane) => lane.states.at(-1) === "closed").length,
    open: lit.filter((lane) => lane.states.at(-1) === "open").length,
  })];
  if (scene.unseen_steps) words.push(t("motion.words.unseen", { s: number(scene.unseen_steps * STEP_S, locale) }));
  if (proposals) words.push(t("motion.words.proposals", { n: proposals }));
  words.push(path ? `${t("motion.yours")}: ${placeWords(path.at(-1), t, locale)}` : t("motion.words.none"));
  return words.join(" ");
}

function placeWords([x, y], t, locale) {
  const far = (value) => number(Math.abs(Math.round(value * 10) / 10), locale);
  const side = Math.abs(y) < 0.05 ? "" : `, ${t(y > 0 ? "motion.place.left" : "motion.place.right", { m: far(y) })}`;
  return t(x < -0.05 ? "motion.place.behind" : "motion.place.ahead", { m: far(x) }) + side;
}

/** Where a value ends, in words; of a prediction, its most likely path. */
function summary(value, head, t, locale) {
  const path = value && value.plans ? value.plans[0] : value;
  const known = Array.isArray(path) ? path.filter((place) => Array.isArray(place)) : [];
  if (!known.length) return "–";
  return t("motion.summary", { place: placeWords(known.at(-1), t, locale), s: number(path.lastIndexOf(known.at(-1)) * STEP_S + STEP_S, locale) });
}

export default {
  name: "motion",
  ahead: (get) => get("scene"),
  actions: [
    { id: "motion.play", keys: [" "], text: "motion.play" },
    { id: "motion.back", keys: [","], text: "motion.back" },
    { id: "motion.forward", keys: ["."], text: "motion.forward" },
    { id: "motion.now", keys: ["n"], text: "motion.now" },
    { id: "motion.previous", keys: ["[", "j"], text: "motion.previous" },
    { id: "motion.next", keys: ["]", "k"], text: "motion.next" },
    ...Object.entries(ARROWS).flatMap(([name, key]) => [
      { id: `motion.${name}`, keys: [key], text: `motion.${name}` },
      { id: `motion.${name}.far`, keys: [`shift+${key}`], text: `motion.${name}.far` },
    ]),
    { id: "motion.constant", keys: ["c"], text: "motion.constant" },
    { id: "motion.stand", keys: ["x"], text: "motion.stand" },
    { id: "motion.draw", keys: ["d"], text: "motion.draw" },
    { id: "motion.undo", keys: ["z"], text: "motion.undo" },
    { id: "motion.closer", keys: ["+", "="], text: "motion.closer" },
    { id: "motion.farther", keys: ["-"], text: "motion.farther" },
    { id: "motion.reset", keys: ["0"], text: "motion.reset" },
    ...Array.from({ length: PROPOSALS }, (_, index) => ({ id: `motion.pick.${index}`, keys: [String(index + 1)], text: `motion.pick.${index}` })),
  ],
  View,
  complete: isPath,
  fromDraft: (draft) => plansOf(draft)[0],
  summary,
  prediction: (prediction, head, t, locale) => html`<ol>${plansOf(prediction).map((plan, index) => html`<li>${summary(plan, head, t, locale)}${
    prediction.weights[index] !== null && ` (${Math.round(100 * prediction.weights[index])} %)`}</li>`)}</ol>`,
};
