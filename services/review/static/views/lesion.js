// View of a scan: a mask of lesions is painted, grown or corrected, lesion by lesion; the answer is a mask on the scan's grid.

import { number } from "../format.js";
import { announce, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { registerActions, useUndoKey } from "./edits.js";
import { fromBase64, headerOf, maskOf, maskWithHeader, unpacked } from "./lesion_file.js";
import { Mask } from "./lesion_mask.js";
import { between, brushLine, components, disc, grown, holes } from "./lesion_shapes.js";
import { firstPicture, gridOfSlices, SliceDisplay } from "./lesion_slices.js";
import { ACTIONS, Candidates, Keys, Toolbar } from "./lesion_tools.js";
import { hasWebGl2, LAYOUT_NAMES, VolumeDisplay } from "./lesion_volume.js";

const PLANE_NAMES = ["sagittal", "coronal", "axial"];
/** World axis and way of arrows on the screen by the axis across: the patient's right, front and head are left and up. */
const ARROWS = { 0: { left: [1, 1], up: [2, 1] }, 1: { left: [0, 1], up: [2, 1] }, 2: { left: [0, 1], up: [1, 1] } };
const FAR = 5;
const MOST_BRUSH = 12;
const ZOOM = 1.4;
const GROW_MM = 15;
const REACH_VOXELS = 25;
const SHADE_STEP = 0.08;

/** The scan for one of the displays: {bytes, header} of the file, or {geometry, header} of its slices. */
function useScan(get, volumes) {
  const [scan, setScan] = useState({});
  useEffect(() => {
    let left = false;
    const load = async () => {
      if (!volumes) {
        const geometry = await (await get("slices")).json();
        return { geometry, header: headerOf(fromBase64(geometry.header)) };
      }
      const bytes = await unpacked(new Uint8Array(await (await get("input")).arrayBuffer()));
      return { bytes, header: headerOf(bytes) };
    };
    setScan({});
    load().then((loaded) => left || setScan(loaded), (error) => left || setScan({ error }));
    return () => { left = true; };
  }, [volumes]);
  return scan;
}

function View(props) {
  const [volumes, setVolumes] = useState(useMemo(hasWebGl2, []));
  const scan = useScan(props.get, volumes);
  const { t } = props;
  if (scan.error) return html`<p class="notice" role="alert">${t("lesion.none")} ${scan.error.message}</p>`;
  if (!scan.header) return html`<p aria-busy="true">${t("lesion.loading")}</p>`;
  return html`<${Scan} key=${volumes} ...${props} scan=${scan} volumes=${volumes} noVolumes=${() => setVolumes(false)} />`;
}

/** Mask of the view, filled with what is known already: the answer so far, or a draft. */
function useMask({ value, setValue, draft, header, t }) {
  const [state, setState] = useState({ mask: null, problem: "" });
  const latestValue = useRef(value); // a volume opens later, and the answer may be another one by then
  latestValue.current = value;
  const given = useRef(null); // answer or draft whose file is in the mask, or on its way there
  async function fill(mask, answer) {
    given.current = answer;
    try {
      const voxels = await maskOf(fromBase64(answer.base64), header);
      if (given.current !== answer) return false; // another one was taken over meanwhile
      mask.load(voxels);
      setState({ mask, problem: "" });
      return true;
    } catch (error) {
      if (given.current === answer) setState({ mask, problem: t("lesion.misfit", { reason: error.message }) });
      return false;
    }
  }
  async function open(grid) {
    const value = latestValue.current;
    if (value && value.mask && value.mask.voxels.length === grid.dims[0] * grid.dims[1] * grid.dims[2]) {
      setState({ mask: value.mask, problem: "" });
      return;
    }
    const mask = new Mask(grid, header);
    const answer = [value, draft].find((one) => one && one.base64);
    if (!answer) setState({ mask, problem: "" });
    else if ((await fill(mask, answer)) && answer === latestValue.current) setValue({ mask });
  }
  const { mask } = state;
  useEffect(() => { // a draft or another label was taken over
    if (mask && value && value.base64 && value !== given.current) fill(mask, value).then((fits) => fits && setValue({ mask }));
  }, [mask, value]);
  return { ...state, open };
}

function Scan({ request, scan, volumes, noVolumes, get, value, setValue, draft, t, locale, onAction }) {
  const { mask, problem, open } = useMask({ value, setValue, draft, header: scan.header, t });
  const [cursor, setCursor] = useState(null);
  const [shades, setShades] = useState(null);
  const [usual, setUsual] = useState(null);
  const [tool, setTool] = useState("look");
  const [brush, setBrush] = useState(0);
  const [pen, setPen] = useState(false);
  const [axis, setAxis] = useState(2);
  const [layout, setLayout] = useState("planes");
  const [zoom, setZoom] = useState(1);
  const [hidden, setHidden] = useState(false);
  const [candidate, setCandidate] = useState(-1);
  const [, renew] = useState(0);
  const latest = useRef({});
  Object.assign(latest.current, { mask, tool, brush, axis, pen, candidate });
  if (!latest.current.cursor) latest.current.cursor = cursor;

  function opened({ grid, valueAt, window }) {
    latest.current.valueAt = valueAt;
    latest.current.cursor = grid.dims.map((length) => Math.floor(length / 2));
    setCursor(latest.current.cursor);
    setUsual(window);
    setShades(window);
    open(grid);
  }
  useLayoutEffect(() => { // waits for no frame: somebody waits for the first slice
    if (scan.geometry) opened({ grid: gridOfSlices(scan.geometry), valueAt: null, window: scan.geometry.window });
  }, [scan]);

  const edited = () => { setValue({ mask }); renew((count) => count + 1); };
  const go = (voxel) => { latest.current.cursor = voxel; setCursor(voxel); };

  /** Use a tool at a voxel; `from` is the voxel before in one stroke. */
  function use(name, voxel, across, from = voxel) {
    const { dims, spacing } = mask.grid;
    let changed = false;
    if (name === "paint" || name === "erase") {
      const radius = latest.current.brush;
      const touched = from === voxel ? disc(dims, voxel, across, radius) : brushLine(dims, from, voxel, across, radius);
      changed = mask.set(touched, name === "paint" ? 1 : 0);
    } else if (name === "grow" && from === voxel && latest.current.valueAt) {
      const tolerance = (usual[1] - usual[0]) * 0.12;
      changed = mask.set(grown(valueInWorld(mask.grid, latest.current.valueAt), dims, spacing, voxel, tolerance, GROW_MM), 1);
    }
    if (changed) edited();
  }
  function stroke(voxel, across, begins) {
    if (!mask || latest.current.tool === "look") return;
    if (begins) mask.begin();
    use(latest.current.tool, voxel, across, begins ? voxel : latest.current.last);
    latest.current.last = voxel;
  }
  function move(way, far) {
    if (!mask) return;
    const { axis: across } = latest.current;
    const [world, sign] = { left: ARROWS[across].left, up: ARROWS[across].up, on: [across, 1] }[way.name];
    const from = latest.current.cursor;
    const to = [...from];
    to[world] = Math.min(mask.grid.dims[world] - 1, Math.max(0, to[world] + sign * way.sign * (far ? FAR : 1)));
    go(to);
    if (latest.current.pen && way.name !== "on" && ["paint", "erase"].includes(latest.current.tool)) use(latest.current.tool, to, across, from);
  }
  function undo() {
    if (!mask || !mask.undo()) return false;
    edited();
    return true;
  }
  function show(index) {
    const { parts } = mask;
    if (!parts.length) {
      setCandidate(-1);
      announce(t("lesion.noParts"));
      return;
    }
    const next = (index + parts.length) % parts.length;
    latest.current.candidate = next;
    setCandidate(next);
    go(parts[next].centre);
    announce(partWords(mask, next, t, locale));
  }
  function judge(accepted) {
    const part = mask && mask.parts[latest.current.candidate];
    if (!part) return;
    if (accepted) mask.accepted.add(part.first);
    else mask.set(part.voxels, 0);
    edited();
    show(latest.current.candidate + (accepted ? 1 : 0));
  }
  function shade(lower, upper) {
    if (!usual) return;
    setShades(([low, high]) => {
      const step = SHADE_STEP * (usual[1] - usual[0]);
      const next = [low + lower * step, high + upper * step];
      return next[1] - next[0] > step / 2 ? next : [low, high];
    });
  }
  const shaped = (voxels) => mask && mask.set(voxels, 1) && edited();
  const choose = (next) => { latest.current.tool = next; setTool(next); };

  const handlers = {
    "lesion.apply": () => mask && use(tool === "look" ? "paint" : latest.current.tool, latest.current.cursor, latest.current.axis),
    "lesion.pen": () => setPen((on) => { latest.current.pen = !on; return !on; }),
    "lesion.fill": () => mask && shaped(holes(mask.voxels, mask.grid.dims, latest.current.axis, latest.current.cursor[latest.current.axis])),
    "lesion.between": () => mask && shaped(between(mask.voxels, mask.grid.dims, latest.current.axis, latest.current.cursor, REACH_VOXELS)),
    "lesion.undo": undo,
    "lesion.empty": () => { if (mask) { mask.set([...mask.parts.flatMap((part) => part.voxels)], 0); edited(); } },
    "lesion.larger": () => setBrush((size) => Math.min(MOST_BRUSH, size + 1)),
    "lesion.smaller": () => setBrush((size) => Math.max(0, size - 1)),
    "lesion.plane": () => { latest.current.axis = (latest.current.axis + 2) % 3; setAxis(latest.current.axis); },
    "lesion.layout": () => setLayout((name) => LAYOUT_NAMES[(LAYOUT_NAMES.indexOf(name) + 1) % LAYOUT_NAMES.length]),
    "lesion.hide": () => setHidden((on) => !on),
    "lesion.closer": () => setZoom((factor) => Math.min(16, factor * ZOOM)),
    "lesion.farther": () => setZoom((factor) => Math.max(1, factor / ZOOM)),
    "lesion.brighter": () => shade(-1, -1),
    "lesion.darker": () => shade(1, 1),
    "lesion.more": () => shade(1, -1),
    "lesion.less": () => shade(-1, 1),
    "lesion.window": () => { if (usual) setShades(usual); setZoom(1); },
    "lesion.nextPart": () => mask && show(latest.current.candidate + 1),
    "lesion.previousPart": () => mask && show(Math.max(0, latest.current.candidate) - 1),
    "lesion.accept": () => judge(true),
    "lesion.reject": () => judge(false),
  };
  for (const name of ["look", "paint", "erase", "grow"]) handlers[`lesion.${name}`] = () => (name === "grow" && !volumes ? undefined : choose(name));
  for (const [id, way] of Object.entries({ left: { name: "left", sign: 1 }, right: { name: "left", sign: -1 }, up: { name: "up", sign: 1 }, down: { name: "up", sign: -1 }, on: { name: "on", sign: 1 }, before: { name: "on", sign: -1 } })) {
    handlers[`lesion.${id}`] = () => move(way, false);
    handlers[`lesion.${id}.far`] = () => move(way, true);
  }
  registerActions(onAction, handlers);
  useUndoKey(undo);

  const words = mask ? maskWords(mask, t, locale) : t("lesion.loading");
  const look = (voxel, across) => { go(voxel); latest.current.axis = across; setAxis(across); };
  const ended = () => mask && mask.end();
  const display = { mask, cursor, shades, zoom, hidden, stroke, ended, look, words, version: mask ? mask.version : 0 };
  const gray = mask && cursor && latest.current.valueAt ? valueInWorld(mask.grid, latest.current.valueAt)(index(mask.grid, cursor)) : null;
  return html`
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    ${!volumes && html`<p class="note">${t("lesion.noWebGl")}</p>`}
    <figure class="lesion" data-request=${request.request} data-ready=${mask ? "yes" : "no"}>
      <${Toolbar} tool=${tool} brush=${brush} pen=${pen} hidden=${hidden} layout=${layout} volumes=${volumes} handlers=${handlers} t=${t} />
      ${volumes
        ? html`<${VolumeDisplay} ...${display} bytes=${scan.bytes} layout=${layout} opened=${opened} failed=${noVolumes} />`
        : mask && html`<${SliceDisplay} ...${display} get=${get} axis=${axis} t=${t} />`}
      <figcaption>
        <output class="place" data-voxel=${cursor ? cursor.join(",") : ""} data-value=${gray ?? ""}>${cursor && mask && t("lesion.place", {
          plane: t(`lesion.${PLANE_NAMES[axis]}`), x: cursor[0] + 1, y: cursor[1] + 1, z: cursor[2] + 1,
          value: gray === null ? "–" : number(gray, locale),
        })}</output> ${t("lesion.caption")}</figcaption>
    </figure>
    <div class="label"><p class="mask">${words}${!value && mask && ` ${t("lesion.notYet")}`}</p>
      ${mask && html`<${Candidates} mask=${mask} candidate=${candidate} words=${candidate >= 0 && mask.parts[candidate] ? partWords(mask, candidate, t, locale) : ""} handlers=${handlers} t=${t} />`}</div>
    <${Keys} t=${t} />`;
}

const index = ({ dims }, [x, y, z]) => x + dims[0] * (y + dims[1] * z);

/** Values by index in the world's order, from values by index in the file. */
function valueInWorld({ dims: [nx, ny], start, step }, valueAt) {
  return (at) => valueAt(start + (at % nx) * step[0] + (Math.floor(at / nx) % ny) * step[1] + Math.floor(at / (nx * ny)) * step[2]);
}

const ml = (volume, locale) => number(Math.round(volume * 1000) / 1000, locale);

function maskWords(mask, t, locale) {
  return t("lesion.summary", { n: mask.parts.length, ml: ml(mask.volume, locale) });
}

function partWords(mask, place, t, locale) {
  const part = mask.parts[place];
  return t("lesion.part", {
    n: place + 1, all: mask.parts.length, ml: ml(part.size * mask.grid.voxelMl, locale),
    state: mask.accepted.has(part.first) ? t("lesion.accepted") : t("lesion.open"),
  });
}

function summary(value, head, t, locale) {
  if (value && value.mask) return maskWords(value.mask, t, locale);
  return value && value.base64 ? t("lesion.file", { kb: Math.ceil((value.base64.length * 3) / 4096) }) : "–";
}

/** What a mask in a file holds, in words. */
function FileWords({ base64, t, locale }) {
  const [words, setWords] = useState("");
  useEffect(() => {
    maskWithHeader(fromBase64(base64)).then(({ header, voxels }) => {
      const parts = components(voxels, header.dims);
      const size = parts.reduce((sum, part) => sum + part.size, 0) * header.spacing.reduce((one, other) => one * other);
      setWords(t("lesion.summary", { n: parts.length, ml: ml(size / 1000, locale) }));
    }, () => setWords(summary({ base64 }, null, t, locale)));
  }, [base64]);
  return html`<span>${words}</span>`;
}

/** What is needed first: the file of a volume, or the middle slice. */
async function ahead(get) {
  if (hasWebGl2()) return get("input");
  return get(firstPicture(await (await get("slices")).json()));
}

export default {
  name: "lesion",
  ahead,
  actions: ACTIONS,
  View,
  complete: (value) => Boolean(value && (value.mask || value.base64)),
  toValue: (value) => (value.mask ? { base64: value.mask.base64() } : { base64: value.base64 }),
  fromDraft: (draft) => ({ base64: draft.base64 }),
  summary,
  prediction: (prediction, head, t, locale) => html`<${FileWords} base64=${prediction.base64} t=${t} locale=${locale} />`,
};
