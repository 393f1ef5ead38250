"""Times of the models on the device, as served, over the least time that the device could need."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import inputs, wire
from benchmarks.gpu import floors
from benchmarks.gpu.parts import Setting
from benchmarks.gpu.work import RATES
from models.executors import nvidia
from models.executors.device import Device
from models.executors.onnx import OnnxGraph, RowGraph
from models.tasks.vessel.inference.scoring import rows_per_pass

VESSEL = "variational-10x10"
TIMES, QUICK_TIMES = 20, 3
CONNECT_SECONDS = 30.0
LESION_MOST_SECONDS, LESION_MOST_GIB, MOTION_MOST_SECONDS = 0.8, 12.0, 0.005
"""Targets on one GPU of the class of an H100."""


def rows(setting: Setting) -> dict[str, Any]:
    """Measure a million rows in passes as served."""
    artefact = inputs.artefact("vessel", VESSEL)
    graph = OnnxGraph(artefact.path(artefact.manifest.executor.file), setting.device)
    manifest = artefact.manifest
    pass_rows = rows_per_pass(manifest.members * manifest.samples, setting.device.provider)
    run = RowGraph(graph, ("mean", "mvar", "varm"), pass_rows=pass_rows)
    count = 4096 if setting.quick else 1_000_000
    features = inputs.rows(artefact, count)
    run(features[:pass_rows])
    seconds = float(np.median(_times(lambda: run(features), _repeats(setting))))
    work = floors.Work(floors.VESSEL_ROW.flop * count, floors.VESSEL_ROW.moved_bytes * count)
    return {"artefact": artefact.tag, "rows": count, "rows_a_second": count / seconds} | _over(seconds, work, setting)


def transformer(setting: Setting) -> dict[str, Any]:
    """Measure rows through an untrained ensemble of FT-Transformers of the paper's size."""
    from benchmarks import weather_transformer as cases
    from models.executors.graph_members import GraphMembers
    from models.rows.members import ROWS_PER_PASS
    from models.tasks.weather.transformer.export import export
    from models.tasks.weather.transformer.settings import PAPER, SMALL

    sizes, members = (SMALL, 2) if setting.quick else (PAPER, 10)
    ensemble = cases.untrained(sizes, members)
    path = setting.folder / "transformer.onnx"
    path.write_bytes(export(ensemble))
    pass_rows = ROWS_PER_PASS[setting.device.provider]
    run = GraphMembers(OnnxGraph(path, setting.device), ensemble.heads, pass_rows=pass_rows)
    count = 16 if setting.quick else 4096
    features = cases.rows(count)
    run(features[:pass_rows])
    seconds = float(np.median(_times(lambda: run(features), _repeats(setting))))
    work = floors.Work(float(cases.operations(sizes)) * members * count, path.stat().st_size)
    return {"members": members, "rows": count, "rows_a_second": count / seconds} | _over(seconds, work, setting)


def scan(setting: Setting) -> dict[str, Any]:
    """Measure a scan from file to maps: time by stage, and memory of the device."""
    from benchmarks.lesion_volume import ensembles
    from models.tasks.lesion.data.image import read_scan
    from models.tasks.lesion.inference import segment
    from models.tasks.lesion.inference.preparation import prepare

    memory = _Memory(setting.device)
    reference = str(inputs.ARTEFACTS / "lesion" / "unet-5")
    members, recipe = ensembles.opened(reference if setting.quick else ensembles.FULL, device=setting.device)
    content = _small_scan() if setting.quick else ensembles.scan_file()
    stages: dict[str, list[float]] = {}
    for _ in range(1 + _repeats(setting)):  # the first is not counted
        spent: dict[str, float] = {}
        clock = time.perf_counter()
        read = read_scan({"flair": content}, recipe.channels)
        clock = _lap(spent, "reading", clock)
        prepared = prepare(read, recipe)
        clock = _lap(spent, "preparing", clock)
        work = segment.work(prepared, members, recipe)
        results: Any = None
        while True:
            try:
                batch = work.send(results)
            except StopIteration:
                break
            results = [call.function() for call in batch.calls]
            clock = _lap(spent, batch.stage, clock)
        memory.look()
        for name, seconds in spent.items():
            stages.setdefault(name, []).append(seconds)
    medians = {name: float(np.median(took[1:] or took)) for name, took in stages.items()}
    total = sum(medians.values())
    over = {} if setting.quick else _over(total, floors.SCAN, setting)
    return {
        "network": "reference artefact" if setting.quick else ensembles.FULL,
        "seconds": total,
        "stages_seconds": medians,
        "device_memory_gib": memory.gib(),
        "targets": {"seconds": LESION_MOST_SECONDS, "device_memory_gib": LESION_MOST_GIB},
    } | over


def motion(setting: Setting) -> dict[str, Any]:
    """Measure a request from map to ranked plans, with members of the released size."""
    from benchmarks.motion_planning.ensembles import members as drawn
    from models.tasks.motion.artefact.export import export
    from models.tasks.motion.artefact.recipe import Recipe
    from models.tasks.motion.inference.members import opened
    from models.tasks.motion.inference.planning import Planning
    from models.tasks.motion.networks.settings import RELEASED_BC, SMALL_BC

    sizes = SMALL_BC if setting.quick else RELEASED_BC
    path = setting.folder / "members.onnx"
    path.write_bytes(export(drawn(sizes)))
    recipe = Recipe(size=sizes.grid)
    planning = Planning(opened(path, recipe, device=setting.device), recipe)
    request = np.random.default_rng(0).standard_normal((1, planning.row_values), np.float32)
    seconds = _median(lambda: planning(request), QUICK_TIMES if setting.quick else TIMES)
    over = {} if setting.quick else _over(seconds, floors.MOTION, setting)
    return {"seconds": seconds, "targets": {"seconds": MOTION_MOST_SECONDS}} | over


def translation(setting: Setting) -> dict[str, Any]:
    """Measure a sentence of 25 tokens, beam 5: fp16 on a GPU, int8 on a CPU, weights of the released size."""
    from benchmarks.translation_decoding import full_size
    from benchmarks.translation_decoding.ensembles import MEMBERS, drawn, write
    from models.tasks.translation.networks.settings import PRESETS, RELEASED

    precision = "fp16" if setting.device.provider == "cuda" else "int8"
    sizes = PRESETS["tiny"].sizes if setting.quick else RELEASED
    members = drawn(sizes)
    write(members.weights, members.sizes, setting.folder, precision)
    figures = full_size.measured(setting.folder, setting.device.provider, sizes, times=1 if setting.quick else 5)
    result = {"precision": precision, "members": MEMBERS, "sentence_alone_seconds": figures["alone"]}
    result |= {"sentence_together_seconds": figures["together"], "tokens": figures["tokens"]}
    if setting.quick:
        return result
    work = floors.Work(0.0, floors.TRANSLATION_STEP_BYTES[precision] * figures["tokens"])
    return result | _over(figures["alone"], work, setting)


def service(setting: Setting) -> dict[str, Any]:
    """Measure one gRPC caller of ``demur serve vessel`` with its defaults: one row, and a thousand.

    The first call is the first prediction of the service, over an existing connection.
    """
    import grpc

    from benchmarks.service import running

    cores = os.sched_getaffinity(0)
    result: dict[str, Any] = {}
    with running(cores, "vessel", provider=setting.device.provider) as served:
        source = inputs.artefact("vessel")
        with grpc.insecure_channel(served.grpc) as channel:
            grpc.channel_ready_future(channel).result(CONNECT_SECONDS)
            stub = wire.stub(channel, "vessel")
            for count in (1, 1000):
                body = wire.protobuf_body("vessel", source.schema, inputs.rows(source, count))
                times = 20 if setting.quick else 500
                took = _times(lambda body=body: stub(body), times)  # type: ignore[misc]
                median = float(np.median(took))
                result[f"{count}_rows"] = {
                    "first_ms": 1e3 * took[0],
                    "first_over_p50": took[0] / median,
                    "p50_ms": 1e3 * median,
                    "p99_ms": 1e3 * float(np.quantile(took, 0.99)),
                }
        result["start_seconds"] = served.start_seconds
    return result


def _small_scan() -> bytes:
    """Return noise of 96 voxels a side, as a NIfTI file."""
    from models.imaging import nifti

    draw = np.random.default_rng(0)
    return nifti.write(draw.gamma(9, 10, (96, 96, 96)).astype(np.float32), np.diag([1.0, 1.0, 1.0, 1.0]))


def _over(seconds: float, work: floors.Work, setting: Setting) -> dict[str, Any]:
    """Return the time and its ratio to the floor, by the rates measured on this device.

    Raises:
        RuntimeError: the rates are missing.
    """
    path = setting.folder.parent / RATES
    rates: dict[str, float] = json.loads(path.read_text())["found"] if path.exists() else {}
    if not rates:
        raise RuntimeError("floors need the rates of the device: run the part `rates` first")
    floor = work.floor_seconds(rates)
    return {"seconds": seconds, "floor_seconds": floor, "over_floor": seconds / floor}


def _repeats(setting: Setting) -> int:
    """Return the number of times that a long benchmark is timed: one run takes minutes on a CPU."""
    return 1 if setting.quick or setting.device.provider == "cpu" else 3


def _median(call: Callable[[], object], times: int) -> float:
    return float(np.median(_times(call, times + 1)[1:]))


def _times(call: Callable[[], object], times: int) -> list[float]:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return took


def _lap(spent: dict[str, float], name: str, since: float) -> float:
    now = time.perf_counter()
    spent[name] = spent.get(name, 0.0) + now - since
    return now


class _Memory:
    """Increase of the device's used memory, of all processes together, since construction.

    ONNX Runtime's arenas on a device keep their memory, so that a reading after a pass shows its peak.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._before = self._used()
        self._most = self._before

    def look(self) -> None:
        """Read the memory in use now and update the largest increase."""
        used = self._used()
        if used is not None and self._most is not None:
            self._most = max(self._most, used)

    def gib(self) -> float | None:
        """Return the largest increase seen, GiB.

        The value is None on a CPU, if the driver reports no memory, and if it reports no increase, since an open graph
        uses some memory.
        """
        if self._most is None or self._before is None or self._most <= self._before:
            return None
        return (self._most - self._before) / (1 << 30)

    def _used(self) -> int | None:
        return None if self._device.provider == "cpu" else nvidia.used_memory_bytes(self._device.index)
