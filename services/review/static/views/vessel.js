// View of a ship's situation: the ship from above with wind, waves and current, and its speed in the range of the training data.

import { number, typedNumber } from "../format.js";
import { html } from "../html.js";
import { arrow, Canvas } from "./canvas.js";
import { byName, Columns, trainedRanges } from "./columns.js";
import { LABELS, LabelField } from "./label_field.js";

const WIND = ["awind_vcomp_provider", "awind_ucomp_provider"];
const CURRENT = ["rcurrent_vcomp", "rcurrent_ucomp"];
const WAVES = "comb_wind_swell_wave_height";
const SPEED = "stw";
const WIND_SCALE_KN = 60;
const CURRENT_SCALE_KN = 3;
const WAVE_SCALE_M = 8;
const POWER_STEP_KW = 4000; // the axis ends at a multiple: its four parts are whole thousands

/** Draw the ship with its bow to the right; wind blows along the ship from ahead where positive, current from astern. */
function drawShip(columns, t, locale) {
  const value = (name) => (columns[name] && columns[name].value !== null ? columns[name].value : 0);
  return (context, width, height, ink) => {
    const [x, y] = [width / 2, height / 2];
    const length = Math.min(width * 0.34, 190);
    context.font = "13px system-ui, sans-serif";
    const waves = Math.min(1, value(WAVES) / WAVE_SCALE_M);
    context.strokeStyle = ink("grid");
    context.lineWidth = 1 + 2 * waves;
    for (let row = 0.5; row < 6; row += 1) {
      context.beginPath();
      for (let at = 0; at <= width; at += 4) {
        context.lineTo(at, (height * row) / 6 + Math.sin(at / 26 + row) * (2 + 12 * waves));
      }
      context.stroke();
    }
    context.beginPath();
    context.moveTo(x + length, y);
    context.quadraticCurveTo(x + length * 0.6, y - 24, x + length * 0.2, y - 25);
    context.lineTo(x - length * 0.9, y - 22);
    context.quadraticCurveTo(x - length, y - 18, x - length, y);
    context.quadraticCurveTo(x - length, y + 18, x - length * 0.9, y + 22);
    context.lineTo(x + length * 0.2, y + 25);
    context.quadraticCurveTo(x + length * 0.6, y + 24, x + length, y);
    context.fillStyle = ink("raised");
    context.strokeStyle = ink("ink");
    context.lineWidth = 1.6;
    context.fill();
    context.stroke();
    const wind = WIND.map((name) => (value(name) / WIND_SCALE_KN) * width * 0.4);
    arrow(context, x + wind[0] / 2, y - 52 - wind[1] / 2, -wind[0], wind[1], ink("series-1"), 3);
    const current = CURRENT.map((name) => (value(name) / CURRENT_SCALE_KN) * width * 0.3);
    arrow(context, x - current[0] / 2, y + 58, current[0], 0, ink("series-3"), 3);
    arrow(context, x + length + 10, y, Math.max(8, value(SPEED) * 3), 0, ink("ink"), 2);
    context.fillStyle = ink("series-1");
    context.fillText(t("vessel.wind", { speed: number(Math.hypot(...WIND.map(value)), locale) }), 10, 20);
    context.fillStyle = ink("series-3");
    context.fillText(t("vessel.current", { speed: number(Math.hypot(...CURRENT.map(value)), locale) }), 10, height - 12);
    context.fillStyle = ink("soft");
    context.textAlign = "right";
    context.fillText(t("vessel.waves", { height: number(value(WAVES), locale) }), width - 10, height - 12);
    context.fillText(t("vessel.speed", { speed: number(value(SPEED), locale) }), width - 10, 20);
  };
}

/** Labels of the head in training against speed, or none: [[speed, power], ...]. */
function cloudOf(head) {
  const cloud = head.training_labels;
  return cloud && cloud.column === SPEED ? cloud.values.map((speed, row) => [speed, cloud.labels[row]]) : [];
}

/** Draw power against speed: training's range of speed and its labels, the cube law through the label, and the label itself. */
function drawPower(columns, ranges, label, head, t, locale) {
  return (context, width, height, ink) => {
    const speed = columns[SPEED] && columns[SPEED].value;
    const [left, bottom, top] = [52, height - 34, 12];
    const cloud = cloudOf(head);
    const mostSpeed = Math.max(24, (speed || 0) * 1.15, ...cloud.map(([knots]) => knots));
    const highest = Math.max(0, ...cloud.map(([, power]) => power)) || 24_000;
    const needed = Number.isFinite(label) ? Math.max(cloud.length ? highest : 0, label * 1.6) : highest;
    const mostPower = Math.max(1, Math.ceil(needed / POWER_STEP_KW)) * POWER_STEP_KW;
    const x = (knots) => left + (knots / mostSpeed) * (width - left - 12);
    const y = (power) => bottom - (Math.max(0, power) / mostPower) * (bottom - top);
    context.font = "12px system-ui, sans-serif";
    const range = ranges[SPEED];
    if (range) {
      context.fillStyle = ink("raised");
      context.fillRect(x(range[0]), top, x(range[1]) - x(range[0]), bottom - top);
      context.fillStyle = ink("soft");
      context.fillText(t("vessel.trained"), x(range[0]) + 6, top + 14);
    }
    context.fillStyle = ink("series-3");
    context.globalAlpha = 0.55;
    for (const [knots, power] of cloud) context.fillRect(x(knots) - 1.25, y(power) - 1.25, 2.5, 2.5);
    context.globalAlpha = 1;
    context.strokeStyle = ink("rule");
    context.lineWidth = 1;
    context.strokeRect(left, top, width - left - 12, bottom - top);
    context.fillStyle = ink("soft");
    context.textAlign = "center";
    for (let knots = 0; knots <= mostSpeed; knots += 5) context.fillText(String(knots), x(knots), bottom + 15);
    context.fillText(t("vessel.axis.speed"), (left + width) / 2, bottom + 30);
    context.textAlign = "right";
    for (let part = 0; part <= 4; part += 1) context.fillText(number((mostPower * part) / 4, locale), left - 6, y((mostPower * part) / 4) + 4);
    if (!speed) return;
    context.setLineDash([4, 4]);
    context.strokeStyle = ink("soft");
    context.beginPath();
    context.moveTo(x(speed), top);
    context.lineTo(x(speed), bottom);
    context.stroke();
    context.setLineDash([]);
    if (!Number.isFinite(label)) return;
    context.strokeStyle = ink("series-1");
    context.beginPath();
    for (let knots = 0; knots <= mostSpeed; knots += 0.5) context.lineTo(x(knots), y(label * (knots / speed) ** 3));
    context.stroke();
    context.fillStyle = ink("series-2");
    context.beginPath();
    context.arc(x(speed), y(label), 5, 0, 2 * Math.PI);
    context.fill();
  };
}

function View(props) {
  const { request, task, head, value, t, locale } = props;
  const columns = byName(request);
  if (!columns[SPEED]) return html`<${LabelField} ...${props} /><${Columns} ...${props} />`;
  const label = typedNumber(value ?? "");
  const words = [...WIND, ...CURRENT, WAVES, SPEED].filter((name) => columns[name])
    .map((name) => `${columns[name].description} ${number(columns[name].value, locale)} ${columns[name].unit}`).join(" ");
  return html`
    <${LabelField} ...${props} />
    <div class="two-figures">
      <figure><${Canvas} height=${230} deps=${[request.request, locale]} draw=${drawShip(columns, t, locale)} words=${words} />
        <figcaption>${t("vessel.ship.caption")}</figcaption></figure>
      <figure><${Canvas} height=${230} deps=${[request.request, value, locale]} draw=${drawPower(columns, trainedRanges(task), label, head, t, locale)}
        words=${t("vessel.power.words", { speed: number(columns[SPEED].value, locale), label: number(label, locale) }) + (cloudOf(head).length ? ` ${t("vessel.power.cloud")}` : "")} />
        <figcaption>${t("vessel.power.caption")} ${cloudOf(head).length > 0 && t("vessel.power.cloud")}</figcaption></figure>
    </div>
    <${Columns} ...${props} />`;
}

export default { name: "vessel", actions: [], View, ...LABELS };
