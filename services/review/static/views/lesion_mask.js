// Mask that is edited: voxels by world axes (to the right, to the front, up; x fastest), with undo, and its place in the file.

import { maskFile, toBase64 } from "./lesion_file.js";
import { components } from "./lesion_shapes.js";

const MOST_UNDO = 200;

/**
 * Grid of a scan: `dims` to the right, front and up, `spacing` in mm along them, and the index of a voxel in the file,
 * start + x step[0] + y step[1] + z step[2].
 */
export function gridOf(dims, spacing, start, step) {
  return { dims, spacing, start, step, voxelMl: (spacing[0] * spacing[1] * spacing[2]) / 1000 };
}

export class Mask {
  constructor(grid, header) {
    Object.assign(this, { grid, header, edits: [], open: null, version: 0, accepted: new Set() });
    this.voxels = new Uint8Array(grid.dims[0] * grid.dims[1] * grid.dims[2]);
  }

  /** Take the voxels of a file [in its order]; what was edited is forgotten. */
  load(inFile) {
    this.eachInFile((own, file) => { this.voxels[own] = inFile[file]; });
    Object.assign(this, { edits: [], open: null });
    this.accepted = new Set();
    this.touch();
  }

  /** Voxels in the order of the file. */
  inFile() {
    const voxels = new Uint8Array(this.voxels.length);
    this.eachInFile((own, file) => { voxels[file] = this.voxels[own]; });
    return voxels;
  }

  eachInFile(visit) {
    const { dims: [nx, ny, nz], start, step } = this.grid;
    let own = 0;
    for (let z = 0; z < nz; z += 1) {
      for (let y = 0; y < ny; y += 1) {
        let file = start + z * step[2] + y * step[1];
        for (let x = 0; x < nx; x += 1, own += 1, file += step[0]) visit(own, file);
      }
    }
  }

  at([x, y, z]) {
    return this.voxels[x + this.grid.dims[0] * (y + this.grid.dims[1] * z)];
  }

  /** Set voxels; all changes between `begin` and `end` are undone together. Return whether any changed. */
  set(indices, value) {
    const changed = indices.filter((index) => this.voxels[index] !== value);
    if (!changed.length) return false;
    const edit = this.open || { undo: [] };
    edit.undo.push({ changed, value: 1 - value });
    if (!this.open) this.edits = [...this.edits.slice(1 - MOST_UNDO), edit];
    for (const index of changed) this.voxels[index] = value;
    this.touch();
    return true;
  }

  begin() {
    this.end();
    this.open = { undo: [] };
  }

  end() {
    if (this.open && this.open.undo.length) this.edits = [...this.edits.slice(1 - MOST_UNDO), this.open];
    this.open = null;
  }

  undo() {
    this.end();
    const edit = this.edits.pop();
    if (!edit) return false;
    for (const { changed, value } of edit.undo.reverse()) for (const index of changed) this.voxels[index] = value;
    this.touch();
    return true;
  }

  touch() {
    this.version += 1;
    this.kept = undefined;
  }

  /** Connected parts, the largest first; computed once for each state. */
  get parts() {
    if (!this.kept) this.kept = components(this.voxels, this.grid.dims);
    return this.kept;
  }

  /** Volume in ml. */
  get volume() {
    return this.parts.reduce((sum, part) => sum + part.size, 0) * this.grid.voxelMl;
  }

  base64() {
    return toBase64(maskFile(this.header, this.inFile()));
  }
}
