// Path of a vehicle as 25 positions [x, y] in m, 0.2 s apart, x ahead and y to the left of where it is now.

export const STEPS = 25;
export const STEP_S = 0.2;
/** Steps of the handles: 1 to 5 s. */
export const HANDLES = [4, 9, 14, 19, 24];
const DURATION_S = STEPS * STEP_S;
/** Distance from the vehicle up to which a drawn line says nothing: nobody begins exactly at its middle. */
const START_M = 1.5;

/** Whether a value is a path with all its positions. */
export function isPath(value) {
  return Array.isArray(value) && value.length === STEPS
    && value.every((place) => Array.isArray(place) && place.length === 2 && place.every(Number.isFinite));
}

const rounded = (path) => path.map(([x, y]) => [Math.round(x * 1e6) / 1e6, Math.round(y * 1e6) / 1e6]);

/** Path of a vehicle that drives on as it does now; speed in m/s. */
export function constantSpeed(speed) {
  return rounded(Array.from({ length: STEPS }, (_, step) => [speed * STEP_S * (step + 1), 0]));
}

/** Path of a vehicle that does not move. */
export const standing = () => Array.from({ length: STEPS }, () => [0, 0]);

/**
 * Path with a handle moved by dx, dy in m. The other handles stay, and between them the shift is a smooth curve that
 * keeps the present speed. Where `bend`, the last handle bends the whole path, as an even acceleration would.
 */
export function moved(path, handle, dx, dy, bend = false) {
  const shifts = [0, ...HANDLES.map((_, index) => Number(index === handle))];
  const share = bend ? (step) => ((step + 1) / STEPS) ** 2 : (step) => curve(shifts, ((step + 1) / STEPS) * HANDLES.length);
  return rounded(path.map(([x, y], step) => [x + share(step) * dx, y + share(step) * dy]));
}

/** Smooth curve through values at 0, 1, 2, ... (a cubic Hermite spline), level at its begin and straight at its end. */
function curve(values, place) {
  const last = values.length - 1;
  const slope = (index) => (index === 0 ? 0 : index === last ? values[last] - values[last - 1] : (values[index + 1] - values[index - 1]) / 2);
  const before = Math.min(last - 1, Math.floor(place));
  const u = place - before;
  return (2 * u ** 3 - 3 * u ** 2 + 1) * values[before] + (u ** 3 - 2 * u ** 2 + u) * slope(before)
    + (3 * u ** 2 - 2 * u ** 3) * values[before + 1] + (u ** 3 - u ** 2) * slope(before + 1);
}

/**
 * Path along a drawn line of points [x, y] in m, from the vehicle on. It begins with the present speed (m/s) and
 * changes it evenly; where the line is shorter than braking evenly allows, it comes to rest at the end.
 */
export function alongLine(points, speed) {
  const away = points.findIndex(([x, y]) => Math.hypot(x, y) > START_M);
  if (away < 0) return standing();
  const line = [[0, 0], ...points.slice(away)];
  const lengths = line.slice(1).map(([x, y], index) => Math.hypot(x - line[index][0], y - line[index][1]));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const braking = (speed * DURATION_S) / total;
  const acceleration = (2 * (total - speed * DURATION_S)) / DURATION_S ** 2;
  return rounded(Array.from({ length: STEPS }, (_, step) => {
    const time = (step + 1) * STEP_S;
    const way = braking > 2
      ? total * (1 - (1 - time / DURATION_S) ** braking)
      : speed * time + (acceleration * time * time) / 2;
    return at(line, lengths, way);
  }));
}

/** Point of a line after a way along it, in m. */
function at(line, lengths, way) {
  let left = way;
  for (let index = 0; index < lengths.length; index += 1) {
    if (left <= lengths[index] || index === lengths.length - 1) {
      const part = lengths[index] === 0 ? 0 : Math.min(1, left / lengths[index]);
      const [from, to] = [line[index], line[index + 1]];
      return [from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])];
    }
    left -= lengths[index];
  }
  return line[0];
}

/** Position and direction (rad) at a time in steps after now, 0 to 25. */
export function poseAt(path, time) {
  const line = [[0, 0], ...path];
  const before = Math.min(STEPS - 1, Math.max(0, Math.floor(time)));
  const part = Math.min(1, Math.max(0, time - before));
  const [from, to] = [line[before], line[before + 1]];
  let yaw = 0;
  for (let step = before + 1; step > 0; step -= 1) { // where it stands, it keeps its last direction
    const [dx, dy] = [line[step][0] - line[step - 1][0], line[step][1] - line[step - 1][1]];
    if (Math.hypot(dx, dy) > 0.05) {
      yaw = Math.atan2(dy, dx);
      break;
    }
  }
  return { x: from[0] + part * (to[0] - from[0]), y: from[1] + part * (to[1] - from[1]), yaw };
}

/** Mean speed in the fifth of a second before a step, m/s. */
export function speedAt(path, step) {
  const from = step === 0 ? [0, 0] : path[step - 1];
  return Math.hypot(path[step][0] - from[0], path[step][1] - from[1]) / STEP_S;
}

/** Largest acceleration of a path that begins with a speed (m/s), in m/s², along or across it. */
export function hardest(path, speed) {
  let velocity = [speed, 0];
  let most = 0;
  for (let step = 0; step < STEPS; step += 5) {
    const from = step === 0 ? [0, 0] : path[step - 1];
    const next = [(path[step + 4][0] - from[0]), (path[step + 4][1] - from[1])];
    most = Math.max(most, Math.hypot(next[0] - velocity[0], next[1] - velocity[1]));
    velocity = next;
  }
  return most;
}
