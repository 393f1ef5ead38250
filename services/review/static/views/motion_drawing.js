// Drawing of a scene from above: the vehicle to judge looks up, metres are as long across as along.

import { HANDLES, poseAt } from "./motion_path.js";

const ARROW_EVERY_M = 25;
const DASHES = { open: [], closed: [9, 5], unknown: [2, 4], unregulated: [] };
const SMALLEST_PX = 5;
const HANDLE_PX = 7;

/** Functions between metres of the scene and pixels of a canvas; a camera is {x, y, scale}: its middle, and pixels a metre. */
export function projection(camera, width, height) {
  return {
    toScreen: (x, y) => [width / 2 - (y - camera.y) * camera.scale, height / 2 - (x - camera.x) * camera.scale],
    toScene: (left, top) => [camera.x - (top - height / 2) / camera.scale, camera.y - (left - width / 2) / camera.scale],
  };
}

/** Camera that shows where the vehicle gets in five seconds, and some of where it came from. */
export function usualCamera(scene, height) {
  const ahead = Math.max(32, scene.speed_m_s * 5 * 1.25);
  return { x: ahead * 0.36, y: 0, scale: height / (ahead * 1.3) };
}

/** State [x, y, yaw] of an agent at a time in steps from now; null where it was not seen. */
export function stateAt(agent, time, steps) {
  const place = Math.min(steps - 1, Math.max(0, steps - 1 + time));
  const before = Math.floor(place);
  const [from, to] = [agent.states[before], agent.states[Math.min(steps - 1, before + 1)]];
  if (!from) return place - before > 0.5 ? to : null;
  const part = place - before;
  if (!to || part === 0) return from;
  const turn = Math.atan2(Math.sin(to[2] - from[2]), Math.cos(to[2] - from[2]));
  return [from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1]), from[2] + part * turn];
}

/**
 * Draw everything. `shown` is {time, path, sketch, proposals: [{path, name}], picked, handle, line}: `time` in steps
 * from now, `sketch` whether the path is not an answer yet, `line` points that are being drawn.
 */
export function drawScene(context, width, height, ink, scene, camera, shown, t) {
  const place = projection(camera, width, height);
  context.fillStyle = ink("paper");
  context.fillRect(0, 0, width, height);
  context.lineJoin = context.lineCap = "round";
  drawMap(context, ink, scene, camera, place, shown.time);
  drawAgents(context, ink, scene, camera, place, shown);
  for (const [index, proposal] of shown.proposals.entries()) drawProposal(context, ink, place, proposal, index === shown.picked);
  if (shown.line && shown.line.length) stroke(context, place, [[0, 0], ...shown.line], ink("series-2"), 2, [3, 4]);
  else if (shown.path) drawPath(context, ink, camera, place, scene, shown, t);
  drawScale(context, ink, camera, height);
}

function stroke(context, place, points, colour, width, dashes = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dashes);
  context.beginPath();
  for (const [x, y] of points) context.lineTo(...place.toScreen(x, y));
  context.stroke();
  context.setLineDash([]);
}

function drawMap(context, ink, scene, camera, place, time) {
  context.lineWidth = 1;
  for (const road of scene.roads) {
    outline(context, place, road);
    context.fillStyle = ink("raised");
    context.strokeStyle = ink("rule");
    context.fill();
    context.stroke();
  }
  for (const crosswalk of scene.crosswalks) {
    outline(context, place, crosswalk.points);
    context.fillStyle = ink("grid");
    context.fill();
    context.strokeStyle = ink(crosswalk.state === "walk" ? "series-3" : crosswalk.state === "wait" ? "series-2" : "field");
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
  }
  for (const lane of scene.lanes) {
    const state = lane.states[Math.min(lane.states.length - 1, Math.max(0, Math.round(lane.states.length - 1 + Math.min(0, time))))];
    const colour = ink({ open: "series-3", closed: "series-2", unknown: "field", unregulated: "field" }[state]);
    context.globalAlpha = state === "unregulated" ? 0.55 : 1;
    stroke(context, place, lane.points, colour, state === "unregulated" ? 1 : 2, DASHES[state]);
    arrows(context, place, lane.points, colour, camera.scale);
    context.globalAlpha = 1;
  }
}

function outline(context, place, points) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(...place.toScreen(x, y));
  context.closePath();
}

/** Small arrows in the direction of driving. */
function arrows(context, place, points, colour, scale) {
  const every = Math.max(ARROW_EVERY_M, 80 / scale);
  let since = every / 2;
  context.fillStyle = colour;
  for (let index = 1; index < points.length; index += 1) {
    const [from, to] = [points[index - 1], points[index]];
    since += Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (since < every) continue;
    since = 0;
    const [left, top] = place.toScreen(...to);
    const angle = Math.atan2(-(to[0] - from[0]), -(to[1] - from[1]));
    context.save();
    context.translate(left, top);
    context.rotate(angle);
    context.beginPath();
    context.moveTo(5, 0);
    context.lineTo(-3, 3.5);
    context.lineTo(-3, -3.5);
    context.fill();
    context.restore();
  }
}

function drawAgents(context, ink, scene, camera, place, shown) {
  const later = shown.time > 0;
  for (const agent of [...scene.agents].reverse()) {
    const own = agent.kind === "agent";
    const colour = own ? ink("series-1") : ink(agent.kind === "pedestrian" ? "series-3" : "soft");
    context.globalAlpha = own ? 0.9 : 0.45;
    trail(context, place, agent.states.slice(0, scene.steps + Math.floor(Math.min(0, shown.time))), colour, own ? 2 : 1);
    let state = stateAt(agent, shown.time, scene.steps);
    if (own && !state && shown.time >= 0) state = [0, 0, 0];
    if (own && later && shown.path) {
      const pose = poseAt(shown.path, shown.time);
      state = [pose.x, pose.y, pose.yaw];
    }
    if (!state) continue;
    context.globalAlpha = own || !later ? 1 : 0.4;
    if (agent.kind === "pedestrian") person(context, place, state, camera, colour, ink("paper"));
    else box(context, place, state, agent, camera, colour, ink("paper"), agent.kind === "ego");
  }
  context.globalAlpha = 1;
}

function trail(context, place, states, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  let drawn = false;
  for (const state of states) {
    if (!state) drawn = false;
    else if (drawn) context.lineTo(...place.toScreen(state[0], state[1]));
    else {
      context.moveTo(...place.toScreen(state[0], state[1]));
      drawn = true;
    }
  }
  context.stroke();
}

function box(context, place, [x, y, yaw], agent, camera, colour, paper, hollow) {
  const [left, top] = place.toScreen(x, y);
  const length = Math.max(SMALLEST_PX, agent.length_m * camera.scale);
  const width = Math.max(SMALLEST_PX * 0.6, agent.width_m * camera.scale);
  context.save();
  context.translate(left, top);
  context.rotate(-yaw - Math.PI / 2); // along x of the picture: ahead
  context.beginPath();
  context.rect(-length / 2, -width / 2, length, width);
  context.fillStyle = hollow ? paper : colour;
  context.strokeStyle = hollow ? colour : paper;
  context.lineWidth = 1.5;
  context.fill();
  context.stroke();
  context.beginPath(); // its front
  context.moveTo(length * 0.38, 0);
  context.lineTo(length * 0.12, width * 0.32);
  context.lineTo(length * 0.12, -width * 0.32);
  context.fillStyle = hollow ? colour : paper;
  context.fill();
  context.restore();
}

function person(context, place, [x, y], camera, colour, paper) {
  context.beginPath();
  context.arc(...place.toScreen(x, y), Math.max(3.5, 0.4 * camera.scale), 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.strokeStyle = paper;
  context.lineWidth = 1;
  context.fill();
  context.stroke();
}

function drawProposal(context, ink, place, { path, name }, picked) {
  const points = path.filter(Boolean);
  if (!points.length) return;
  context.globalAlpha = picked ? 1 : 0.75;
  stroke(context, place, [[0, 0], ...points], ink("series-1"), picked ? 3 : 1.5, [6, 3]);
  context.globalAlpha = 1;
  const [left, top] = place.toScreen(...points.at(-1));
  label(context, left, top - 12, name, ink("series-1"), ink("paper"));
}

function drawPath(context, ink, camera, place, scene, shown, t) {
  const colour = ink("series-2");
  stroke(context, place, [[0, 0], ...shown.path], ink("paper"), 5);
  stroke(context, place, [[0, 0], ...shown.path], colour, 2.5, shown.sketch ? [5, 5] : []);
  if (!shown.sketch) {
    context.fillStyle = colour;
    for (const [x, y] of shown.path) {
      context.beginPath();
      context.arc(...place.toScreen(x, y), 1.8, 0, 2 * Math.PI);
      context.fill();
    }
  }
  HANDLES.forEach((step, handle) => {
    const [left, top] = place.toScreen(...shown.path[step]);
    const chosen = handle === shown.handle;
    context.beginPath();
    context.arc(left, top, chosen ? HANDLE_PX + 2 : HANDLE_PX, 0, 2 * Math.PI);
    context.fillStyle = chosen ? colour : ink("paper");
    context.strokeStyle = chosen ? ink("paper") : colour;
    context.lineWidth = 2;
    context.fill();
    context.stroke();
    if (chosen) {
      context.beginPath();
      context.arc(left, top, HANDLE_PX + 5, 0, 2 * Math.PI);
      context.strokeStyle = colour;
      context.stroke();
      label(context, left + 30, top, t("motion.after", { s: handle + 1 }), colour, ink("paper"));
    }
  });
}

function label(context, left, top, text, colour, paper) {
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.strokeStyle = paper;
  context.strokeText(text, left, top);
  context.fillStyle = colour;
  context.fillText(text, left, top);
}

function drawScale(context, ink, camera, height) {
  const metres = [5, 10, 20, 50, 100].find((length) => length * camera.scale >= 50) || 100;
  const [left, top] = [12, height - 14];
  context.strokeStyle = context.fillStyle = ink("ink");
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(left, top - 4);
  context.lineTo(left, top);
  context.lineTo(left + metres * camera.scale, top);
  context.lineTo(left + metres * camera.scale, top - 4);
  context.stroke();
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillText(`${metres} m`, left + 4, top - 6);
}
