// Shapes in masks: volumes [x, y, z] of 0 and 1 with x fastest. Functions return indices of voxels, and change nothing.

const NEIGHBOURS = 26;
const MOST_GROWN = 60_000;

const index3 = ([nx, ny], x, y, z) => x + nx * (y + ny * z);

/** Axes within the plane across an axis. */
export const planeAxes = (axis) => [0, 1, 2].filter((other) => other !== axis);

/** Disc of a radius in voxels across an axis; radius 0 is the voxel itself. */
export function disc(dims, centre, axis, radius) {
  const [u, v] = planeAxes(axis);
  const found = [];
  const reach = Math.floor(radius);
  for (let du = -reach; du <= reach; du += 1) {
    for (let dv = -reach; dv <= reach; dv += 1) {
      if (du * du + dv * dv > radius * radius + 0.25) continue;
      const at = [...centre];
      at[u] += du;
      at[v] += dv;
      if (at[u] >= 0 && at[u] < dims[u] && at[v] >= 0 && at[v] < dims[v]) found.push(index3(dims, ...at));
    }
  }
  return found;
}

/** Discs along a line between two voxels. */
export function brushLine(dims, from, to, axis, radius) {
  const steps = Math.max(1, ...from.map((place, world) => Math.abs(to[world] - place)));
  const found = new Set();
  for (let step = 0; step <= steps; step += 1) {
    const at = from.map((place, world) => Math.round(place + ((to[world] - place) * step) / steps));
    for (const index of disc(dims, at, axis, radius)) found.add(index);
  }
  return [...found];
}

/** Voxels of a slice that are enclosed by the mask. */
export function holes(mask, dims, axis, slice) {
  const [u, v] = planeAxes(axis);
  const [width, height] = [dims[u], dims[v]];
  const place = (i, j) => {
    const at = [0, 0, 0];
    [at[u], at[v], at[axis]] = [i, j, slice];
    return index3(dims, ...at);
  };
  const outside = new Uint8Array(width * height);
  const waiting = [];
  const visit = (i, j) => {
    if (i < 0 || j < 0 || i >= width || j >= height || outside[i + width * j] || mask[place(i, j)]) return;
    outside[i + width * j] = 1;
    waiting.push([i, j]);
  };
  for (let i = 0; i < width; i += 1) { visit(i, 0); visit(i, height - 1); }
  for (let j = 0; j < height; j += 1) { visit(0, j); visit(width - 1, j); }
  while (waiting.length) {
    const [i, j] = waiting.pop();
    visit(i - 1, j);
    visit(i + 1, j);
    visit(i, j - 1);
    visit(i, j + 1);
  }
  const found = [];
  for (let j = 0; j < height; j += 1) {
    for (let i = 0; i < width; i += 1) if (!outside[i + width * j] && !mask[place(i, j)]) found.push(place(i, j));
  }
  return found;
}

/** Voxels that touch a seed over faces, through values not farther from the seed's than `tolerance`, within a radius in mm. */
export function grown(valueAt, dims, spacing, seed, tolerance, radius) {
  const start = index3(dims, ...seed);
  const value = valueAt(start);
  const known = new Set([start]);
  const waiting = [seed];
  while (waiting.length && known.size < MOST_GROWN) {
    const at = waiting.pop();
    for (let axis = 0; axis < 3; axis += 1) {
      for (const step of [-1, 1]) {
        const next = [...at];
        next[axis] += step;
        if (next[axis] < 0 || next[axis] >= dims[axis]) continue;
        if (Math.hypot(...next.map((place, world) => (place - seed[world]) * spacing[world])) > radius) continue;
        const index = index3(dims, ...next);
        if (known.has(index) || !(Math.abs(valueAt(index) - value) <= tolerance)) continue;
        known.add(index);
        waiting.push(next);
      }
    }
  }
  return [...known];
}

/** Connected parts of a mask (over faces, edges and corners), the largest first: {size, centre, first, voxels}. */
export function components(mask, dims) {
  const [nx, ny, nz] = dims;
  const seen = new Uint8Array(mask.length);
  const parts = [];
  for (let start = mask.indexOf(1); start >= 0; start = mask.indexOf(1, start + 1)) {
    if (seen[start]) continue;
    const voxels = [start];
    seen[start] = 1;
    for (let head = 0; head < voxels.length; head += 1) {
      const at = voxels[head];
      const [x, y, z] = [at % nx, Math.floor(at / nx) % ny, Math.floor(at / (nx * ny))];
      for (let side = 0; side <= NEIGHBOURS; side += 1) {
        const [i, j, k] = [x + (side % 3) - 1, y + (Math.floor(side / 3) % 3) - 1, z + Math.floor(side / 9) - 1];
        if (i < 0 || j < 0 || k < 0 || i >= nx || j >= ny || k >= nz) continue;
        const next = i + nx * (j + ny * k);
        if (mask[next] && !seen[next]) {
          seen[next] = 1;
          voxels.push(next);
        }
      }
    }
    parts.push({ size: voxels.length, centre: middle(voxels, dims), first: start, voxels });
  }
  return parts.sort((one, other) => other.size - one.size || one.first - other.first);
}

/** Voxel of a part that is nearest to its mean. */
function middle(voxels, [nx, ny]) {
  const places = voxels.map((at) => [at % nx, Math.floor(at / nx) % ny, Math.floor(at / (nx * ny))]);
  const mean = [0, 1, 2].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  const far = (place) => place.reduce((sum, value, axis) => sum + (value - mean[axis]) ** 2, 0);
  return places.reduce((best, place) => (far(place) < far(best) ? place : best));
}

/**
 * Voxels between painted slices across an axis, within a window of `reach` voxels around a voxel: where the signed
 * distance to the outline, interpolated between the two slices around a gap, is inside.
 */
export function between(mask, dims, axis, around, reach) {
  const [u, v] = planeAxes(axis);
  const low = [0, 1, 2].map((world) => (world === axis ? 0 : Math.max(0, around[world] - reach)));
  const high = [0, 1, 2].map((world) => Math.min(dims[world] - 1, world === axis ? dims[world] - 1 : around[world] + reach));
  const [width, height] = [high[u] - low[u] + 1, high[v] - low[v] + 1];
  const place = (i, j, k) => {
    const at = [0, 0, 0];
    [at[u], at[v], at[axis]] = [low[u] + i, low[v] + j, k];
    return index3(dims, ...at);
  };
  const slice = (k) => Uint8Array.from({ length: width * height }, (_, at) => mask[place(at % width, Math.floor(at / width), k)]);
  const painted = [];
  for (let k = 0; k < dims[axis]; k += 1) {
    const shape = slice(k);
    if (shape.includes(1)) painted.push({ k, shape });
  }
  const found = [];
  for (let pair = 1; pair < painted.length; pair += 1) {
    const [from, to] = [painted[pair - 1], painted[pair]];
    const gap = to.k - from.k;
    if (gap < 2 || gap > reach) continue;
    const [one, other] = [signedDistance(from.shape, width, height), signedDistance(to.shape, width, height)];
    for (let k = from.k + 1; k < to.k; k += 1) {
      const part = (k - from.k) / gap;
      for (let at = 0; at < width * height; at += 1) {
        if ((1 - part) * one[at] + part * other[at] > 0) found.push(place(at % width, Math.floor(at / width), k));
      }
    }
  }
  return found;
}

/** Distance to the outline of a shape in pixels, positive inside, by two passes over eight neighbours. */
function signedDistance(shape, width, height) {
  const inside = distance(shape, 0, width, height);
  const outside = distance(shape, 1, width, height);
  return inside.map((value, at) => (shape[at] ? value - 0.5 : 0.5 - outside[at]));
}

/** Distance of each pixel to the nearest pixel of a value. */
function distance(shape, value, width, height) {
  const far = new Float64Array(shape.length).fill(1e6);
  shape.forEach((own, at) => { if (own === value) far[at] = 0; });
  const relax = (at, i, j, di, dj) => {
    if (i + di < 0 || j + dj < 0 || i + di >= width || j + dj >= height) return;
    far[at] = Math.min(far[at], far[at + di + width * dj] + Math.hypot(di, dj));
  };
  for (let at = 0; at < shape.length; at += 1) {
    const [i, j] = [at % width, Math.floor(at / width)];
    for (const [di, dj] of [[-1, 0], [-1, -1], [0, -1], [1, -1]]) relax(at, i, j, di, dj);
  }
  for (let at = shape.length - 1; at >= 0; at -= 1) {
    const [i, j] = [at % width, Math.floor(at / width)];
    for (const [di, dj] of [[1, 0], [1, 1], [0, 1], [-1, 1]]) relax(at, i, j, di, dj);
  }
  return far;
}
