// View of a station's forecasts: temperature of three models now and an hour later, the column of air, and rain.

import { number } from "../format.js";
import { html, useState } from "../html.js";
import { Canvas } from "./canvas.js";
import { byName, Columns } from "./columns.js";
import { CLASS_ACTIONS, LABELS, LabelField } from "./label_field.js";
import { StationMap } from "./station_map.js";

const KELVIN = 273.15;
const MODELS = [
  { name: "GFS", ink: "series-1", now: "gfs_temperature_sea", next: "gfs_temperature_sea_next" },
  { name: "CMC", ink: "series-2", now: "cmc_0_0_0_2", next: "cmc_0_0_0_2_next" },
  { name: "WRF", ink: "series-3", now: "wrf_t2", next: "wrf_t2_next" },
];
const NAME_PX = 13;
const RAIN = [["GFS", "gfs_precipitations"], ["CMC", "cmc_precipitations"], ["WRF", "wrf_rain"], ["WRF", "wrf_snow"]];
const IMPORTANT = [
  "climate_temperature", "topography_bathymetry", "sun_elevation", "gfs_pressure", "gfs_humidity", "gfs_cloudness",
  "gfs_wind_speed", "gfs_precipitable_water", "gfs_2m_dewpoint", "cmc_0_6_1_0", "wrf_rh2",
];
const LEVEL = /^gfs_temperature_(\d+)$/;

/** Temperature of a column in °C; null where it is missing. */
function celsius(column) {
  if (!column || column.value === null) return null;
  return column.unit === "K" ? column.value - KELVIN : column.value;
}

/** Bounds of numbers with a margin. */
function bounds(values, margin) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [Math.floor(low - margin), Math.ceil(high + margin)];
}

/** Heights of words that stand where they would, or as little lower as they need to keep apart. */
function apart(heights, least) {
  const moved = [...heights];
  let before = -Infinity;
  for (const place of heights.map((_, index) => index).sort((one, other) => heights[one] - heights[other])) {
    moved[place] = Math.max(moved[place], before + least);
    before = moved[place];
  }
  return moved;
}

function drawForecasts(columns, t) {
  const series = MODELS.map((model) => ({ ...model, values: [celsius(columns[model.now]), celsius(columns[model.next])] }));
  const climate = celsius(columns.climate_temperature);
  return (context, width, height, ink) => {
    const known = [...series.flatMap((model) => model.values), climate].filter((value) => value !== null);
    if (!known.length) return;
    const [low, high] = bounds(known, 1);
    const [left, right, top, bottom] = [42, width - 64, 12, height - 30];
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
    const x = [left + 24, right - 24];
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    const step = Math.max(1, Math.ceil((high - low) / 5));
    const ticks = Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);
    context.fillStyle = ink("soft");
    context.strokeStyle = ink("grid");
    for (const tick of ticks) {
      context.fillText(`${tick}°`, left - 6, y(tick) + 4);
      context.beginPath();
      context.moveTo(left, y(tick));
      context.lineTo(right, y(tick));
      context.stroke();
    }
    context.textAlign = "center";
    context.fillText(t("weather.now"), x[0], bottom + 18);
    context.fillText(t("weather.next"), x[1], bottom + 18);
    if (climate !== null) {
      context.setLineDash([4, 4]);
      context.strokeStyle = ink("soft");
      context.beginPath();
      context.moveTo(left, y(climate));
      context.lineTo(right, y(climate));
      context.stroke();
      context.setLineDash([]);
      context.textAlign = "left";
      context.fillText(t("weather.climate"), left + 4, y(climate) - 4);
    }
    const lines = series.map((model) => (
      { model, points: model.values.map((value, index) => (value === null ? null : [x[index], y(value)])).filter(Boolean) }
    )).filter(({ points }) => points.length);
    const nameY = apart(lines.map(({ points }) => points.at(-1)[1]), NAME_PX);
    for (const [place, { model, points }] of lines.entries()) {
      context.strokeStyle = context.fillStyle = ink(model.ink);
      context.lineWidth = 2;
      context.beginPath();
      for (const point of points) context.lineTo(...point);
      context.stroke();
      for (const point of points) {
        context.beginPath();
        context.arc(...point, 3.5, 0, 2 * Math.PI);
        context.fill();
      }
      context.textAlign = "left";
      context.fillText(model.name, points.at(-1)[0] + 8, nameY[place] + 4);
    }
  };
}

function drawProfile(columns, t) {
  const levels = Object.keys(columns).map((name) => LEVEL.exec(name)).filter(Boolean)
    .map((match) => ({ pressure: Number(match[1]) / 100, value: celsius(columns[match[0]]) }))
    .filter((level) => level.value !== null).sort((one, other) => one.pressure - other.pressure);
  return (context, width, height, ink) => {
    if (!levels.length) return;
    const [low, high] = bounds(levels.map((level) => level.value), 3);
    const [left, right, top, bottom] = [70, width - 14, 12, height - 30];
    const x = (value) => left + ((value - low) / (high - low)) * (right - left);
    const y = (pressure) => top + (Math.log(pressure / levels[0].pressure) / Math.log(levels.at(-1).pressure / levels[0].pressure)) * (bottom - top);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillStyle = ink("soft");
    const ticks = [1000, 700, 500, 300, 200, 100];
    for (const tick of ticks.filter((pressure) => pressure >= levels[0].pressure && pressure <= levels.at(-1).pressure * 1.03)) {
      context.fillText(`${tick} hPa`, left - 6, y(Math.min(tick, levels.at(-1).pressure)) + 4);
    }
    context.textAlign = "center";
    const step = Math.ceil((high - low) / 50) * 10;
    for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) context.fillText(`${tick}°`, x(tick), bottom + 18);
    context.strokeStyle = ink("series-1");
    context.lineWidth = 2;
    context.beginPath();
    for (const level of levels) context.lineTo(x(level.value), y(level.pressure));
    context.stroke();
  };
}

function View(props) {
  const { request, t, locale } = props;
  const [whole, setWhole] = useState(false);
  const columns = byName(request);
  const words = MODELS.map((model) => `${model.name}: ${number(celsius(columns[model.now]), locale)}, ${number(celsius(columns[model.next]), locale)} °C`).join("; ");
  return html`
    <${LabelField} ...${props} />
    <div class="two-figures">
      <figure><${Canvas} height=${220} deps=${[request.request, locale]} draw=${drawForecasts(columns, t)} words=${words} />
        <figcaption>${t("weather.forecasts")}</figcaption></figure>
      <figure><${Canvas} height=${220} deps=${[request.request, locale]} draw=${drawProfile(columns, t)} words=${t("weather.profile")} />
        <figcaption>${t("weather.profile")}</figcaption></figure>
    </div>
    <${StationMap} ...${props} />
    <dl class="words">${RAIN.filter(([, name]) => columns[name]).map(([model, name]) => html`<dt>${model} ${t(name.endsWith("snow") ? "weather.snow" : "weather.rain")}</dt>
      <dd>${columns[name].value === null ? t("rows.missing") : `${number(columns[name].value, locale)} ${columns[name].unit}`}</dd>`)}</dl>
    <${Columns} ...${props} only=${whole ? undefined : IMPORTANT} />
    <button type="button" onClick=${() => setWhole(!whole)}>${t(whole ? "rows.fewer" : "rows.all", { n: Object.keys(columns).length })}</button>`;
}

export default { name: "weather", actions: CLASS_ACTIONS, View, ...LABELS };
