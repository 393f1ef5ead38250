// Scan in three planes and 3D by NiiVue, which needs WebGL2. It shows; masks are edited elsewhere.

import { html, useEffect, useRef } from "../html.js";
import { gridOf } from "./lesion_mask.js";

const LAYOUTS = { planes: 3, planes3d: 3, axial: 0, coronal: 1, sagittal: 2, volume: 4 }; // slice types of NiiVue
export const LAYOUT_NAMES = Object.keys(LAYOUTS);
const [NEVER, ALWAYS, GRID] = [0, 1, 2];
let library; // one script for all scans
let webGl2; // whether there is one: a context of its own costs seconds beside another that draws by software

/** Whether this browser draws volumes. */
export function hasWebGl2() {
  if (webGl2 === undefined) {
    const context = document.createElement("canvas").getContext("webgl2");
    webGl2 = context !== null;
    if (webGl2) context.getExtension("WEBGL_lose_context")?.loseContext();
  }
  return webGl2;
}

/** NiiVue, loaded as a script from beside this module. */
function niivue() {
  library = library || new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("../vendor/niivue/niivue.umd.js", import.meta.url);
    script.onload = () => resolve(window.niivue);
    script.onerror = () => {
      library = undefined; // the next scan tries again
      reject(new Error("niivue.umd.js"));
    };
    document.head.append(script);
  });
  return library;
}

async function open(canvas, bytes) {
  const { Niivue, NVImage } = await niivue();
  const viewer = new Niivue({
    dragAndDropEnabled: false,
    isRadiologicalConvention: true,
    sagittalNoseLeft: true,
    isCornerOrientationText: true,
    multiplanarShowRender: NEVER,
    multiplanarLayout: GRID,
    crosshairColor: [0.3, 0.75, 1, 0.8],
    fontColor: [0.85, 0.85, 0.85, 1],
    crosshairGap: 6,
    logLevel: "error",
  });
  viewer.keyDownListener = viewer.keyUpListener = () => {}; // keys are the page's
  await viewer.attachToCanvas(canvas, false);
  const buffer = bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
  const volume = await NVImage.new(buffer, "scan.nii", "gray");
  viewer.addVolume(volume);
  viewer.createEmptyDrawing();
  viewer.drawOpacity = 0.55;
  return { viewer, volume };
}

/** Grid of the volume as NiiVue orders it: to the right, front and up. */
function gridOfVolume(volume) {
  const start = volume.img2RASstart.reduce((sum, part) => sum + part, 0);
  return gridOf(volume.dimsRAS.slice(1, 4), volume.pixDimsRAS.slice(1, 4), start, [...volume.img2RASstep]);
}

/**
 * `opened({grid, valueAt, window})` is called once; `stroke(voxel, axis, begins)` while the main button is held over a
 * plane, `look(voxel, axis)` whenever the crosshair was moved by the pointer.
 */
export function VolumeDisplay({ bytes, mask, cursor, shades, layout, zoom, hidden, opened, failed, stroke, ended, look, words }) {
  const canvas = useRef(null);
  const shown = useRef(null);
  const latest = useRef({});
  latest.current = { stroke, ended, look };

  useEffect(() => {
    let left = false;
    open(canvas.current, bytes).then(({ viewer, volume }) => {
      if (left) {
        close(viewer);
        return;
      }
      shown.current = { viewer, volume };
      listen(canvas.current, viewer, latest);
      const slope = volume.hdr.scl_slope || 1;
      const valueAt = (index) => volume.img[index] * slope + (volume.hdr.scl_inter || 0);
      opened({ grid: gridOfVolume(volume), valueAt, window: [volume.cal_min, volume.cal_max] });
    }).catch((error) => left || failed(error));
    return () => {
      left = true;
      if (shown.current) close(shown.current.viewer);
      shown.current = null;
    };
  }, []);

  useEffect(() => {
    if (!shown.current || !mask) return;
    const { viewer } = shown.current;
    viewer.drawBitmap = mask.voxels;
    viewer.drawOpacity = hidden ? 0 : 0.55;
    viewer.refreshDrawing(false);
    viewer.drawScene();
  }, [mask, mask && mask.version, hidden]);
  useEffect(() => {
    if (!shown.current || !cursor) return;
    const { viewer } = shown.current;
    viewer.scene.crosshairPos = viewer.vox2frac(cursor);
    viewer.drawScene();
  }, [mask, cursor]);
  useEffect(() => {
    if (!shown.current || !shades) return;
    const { viewer, volume } = shown.current;
    if (volume.cal_min === shades[0] && volume.cal_max === shades[1]) return; // as it was opened
    [volume.cal_min, volume.cal_max] = shades;
    viewer.updateGLVolume();
  }, [shades]);
  useEffect(() => {
    if (!shown.current) return;
    const { viewer } = shown.current;
    viewer.opts.multiplanarShowRender = layout === "planes3d" ? ALWAYS : NEVER;
    viewer.setSliceType(LAYOUTS[layout]);
  }, [mask, layout]);
  useEffect(() => {
    if (!shown.current) return;
    const { viewer } = shown.current;
    const [x, y, z, before] = viewer.scene.pan2Dxyzmm;
    const place = viewer.frac2mm(viewer.scene.crosshairPos);
    viewer.setPan2Dxyzmm([x, y, z].map((pan, axis) => pan + (before - zoom) * place[axis]).concat(zoom));
  }, [mask, zoom]);
  return html`<div class="volume"><canvas ref=${canvas} role="img" aria-label=${words}></canvas></div>`;
}

function close(viewer) {
  viewer.cleanup();
  viewer.gl.getExtension("WEBGL_lose_context")?.loseContext();
}

/** Tell strokes and looks by what NiiVue's crosshair does. */
function listen(canvas, viewer, latest) {
  let held = false;
  let axis = 2;
  const place = () => [...viewer.frac2vox(viewer.scene.crosshairPos)];
  const change = (location) => {
    if (location.axCorSag > 2) return; // in 3D
    axis = 2 - location.axCorSag;
    if (held) latest.current.stroke(place(), axis, false);
    latest.current.look(place(), axis);
  };
  viewer.onLocationChange = change;
  const holder = canvas.parentElement;
  holder.addEventListener("mousedown", () => {
    viewer.onLocationChange = (location) => { axis = location.axCorSag > 2 ? -1 : 2 - location.axCorSag; };
  }, true);
  holder.addEventListener("mousedown", (event) => { // after NiiVue has moved the crosshair
    viewer.onLocationChange = change;
    held = event.button === 0 && axis >= 0;
    if (held) latest.current.stroke(place(), axis, true);
    if (axis >= 0) latest.current.look(place(), axis);
  });
  const end = () => {
    if (held) latest.current.ended();
    held = false;
  };
  holder.addEventListener("mouseup", end);
  holder.addEventListener("mouseleave", end);
}
