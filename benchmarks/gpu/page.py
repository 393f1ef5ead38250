"""Record of a run as a page for readers, docs/gpu/README.md."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks import markdown
from benchmarks.gpu import floors
from benchmarks.gpu.parts import PARTS, Outcome
from benchmarks.gpu.record import Record, outdated, pinned, replaced

_UNITS = {"seconds": "s", "device_memory_gib": "GiB"}
"""Units of figures that have a target."""
_STATES = {"done": "done", "failed": "**failed**", "missing": "not run"}


def text(record: Record) -> str:
    """Return the page in Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield "# GPU test record"
    yield ""
    yield (
        "Written by `make gpu` (`python -m benchmarks.gpu"
        f"{' --provider cpu' if record.provider == 'cpu' else ''}{' --quick' if record.quick else ''}`)"
        f"{_when(record)}; the record is [record.json](record.json)."
    )
    yield ""
    if record.provider == "cpu":
        yield (
            "**Not run on a GPU.** This run used a CPU: it shows that every part runs, not how CUDA behaves. Until a "
            "GPU record replaces it, the CUDA path is covered only by tests with a simulated session and by the "
            "refusal to start without a GPU; a service on a GPU is qualified before it answers "
            "([how](../qualification.md))."
        )
        yield ""
    if record.quick:
        yield "Run in small sizes (`--quick`): fewer rows, smaller networks and scans."
        yield ""
    if record.failed:
        yield f"**Failed parts:** {', '.join(record.failed)}."
        yield ""
    if old := outdated(record, pinned()):
        words = ", ".join(f"{name} {then} (pinned now: {now})" for name, (then, now) in old.items())
        yield f"**Other versions than those pinned today were run:** {words}. Builds, such as `+cpu`, are not compared."
        yield ""
    if other := replaced(record):
        words = ", ".join(f"{then} (shipped now: {now})" for then, now in other.items())
        yield f"**Other artefacts than those shipped today were run:** {words}."
        yield ""
    for part in PARTS:
        if part.not_on_cuda and record.provider == "cuda":
            yield (
                f"**Not qualified on CUDA:** {', '.join(part.artefacts)}: {part.not_on_cuda}. Its service stays on the "
                f"CPU (`DEMUR_{part.options['task'].upper()}_PROVIDER=cpu`), or serves an artefact made with "
                "`--precision fp16`."
            )
            yield ""
    yield from _device(record.parts.get("device"))
    yield "| part | what | outcome | s | |"
    yield "|---|---|---|---|---|"
    for part in PARTS:
        outcome = record.parts.get(part.name, Outcome("missing", reason="not asked for"))
        about = _cell(outcome.reason if outcome.state != "done" else _short(part.name, outcome.found))
        title = part.title(quick=record.quick)
        yield markdown.row((part.name, title, _STATES[outcome.state], f"{outcome.seconds:.0f}", about))
    yield ""
    if "tests" in record.parts and _judged(record):
        yield (
            "Of the tests, services that are started and the default artefacts in the contract tests compute on the "
            "device; the toys of the other contract tests compute on the CPU wherever they run, and so do trees."
        )
        yield ""
    yield from _floors(record)


def _when(record: Record) -> str:
    """Return the day or days on which the parts ran; for old records, the day of writing."""
    days = sorted({outcome.time[:10] for outcome in record.parts.values() if outcome.time}) or [record.time[:10]]
    if len(days) > 1:
        return f" from {days[0]} to {days[-1]}"
    return f" on {days[0]}" if days[0] else ""


def _device(outcome: Outcome | None) -> Iterator[str]:
    if outcome is None or outcome.state != "done":
        return
    about = outcome.found
    machine = ", ".join(f"{name} {value}" for name, value in about["machine"].items())
    libraries = ", ".join(f"{name} {value}" for name, value in about["libraries"].items())
    yield f"- Machine: {machine}; instruction set {about['instruction_set']}."
    yield f"- Libraries: {libraries}. Numeric profile, for a stacked float32 graph: `{about['profile']}`."
    if (torch := about.get("torch_device")) and torch.get("memory_gib"):
        yield (
            f"- Device: {torch['name']}, {torch['memory_gib']} GiB, {torch['multiprocessors']} multiprocessors, "
            f"{torch['architecture']}, CUDA {torch['cuda']}."
        )
    yield ""


def _short(part: str, values: Mapping[str, Any]) -> str:
    """Return the figures of a part in a line."""
    if part == "rates":
        return (
            f"{values['flop_per_second'] / 1e12:.3g} TFLOP/s float32{' with TF32' if values['tf32'] else ''}, "
            f"{values['bytes_per_second'] / 1e9:.3g} GB/s"
        )
    if part.startswith("qualify-"):
        seconds = ", ".join(f"{batch}: {1e3 * value:.3g} ms" for batch, value in values["seconds_a_unit"].items())
        verdict = "; ".join(values.get("lines", [])[1:]) or f"{values['units']} units replayed"
        if values.get("calibrated_under_it"):
            verdict += " (calibrated under this profile: a service takes the artefact's own thresholds)"
        return f"{values['artefact'].partition(':')[0]}: {verdict}; a unit by batch size {seconds}"
    if part in ("training", "export"):
        return "; ".join(f"{task}: {_listed(figures)}" for task, figures in values.items())
    if part == "tests":
        counts = ", ".join(f"{count} {name}" for name, count in values["counts"].items())
        on_cpu = f"; {', '.join(values['on_cpu'])} was served on the CPU" if values.get("on_cpu") else ""
        return f"{counts}{': ' + ', '.join(values['failed']) if values['failed'] else ''}{on_cpu}"
    if part == "service":
        return "; ".join(
            f"{name.replace('_', ' ')}: p50 {times['p50_ms']:.2f} ms, first {times['first_ms']:.2f} ms "
            f"({times['first_over_p50']:.3g} x)"
            for name, times in values.items()
            if isinstance(times, dict)
        )
    return _listed(values)


def _floors(record: Record) -> Iterator[str]:
    """Yield the table of times over floors and against targets."""
    done = {name: outcome.found for name, outcome in record.parts.items() if outcome.state == "done"}
    rows = {name: figures for name, figures in done.items() if "over_floor" in figures or "targets" in figures}
    if not rows:
        return
    h200 = _floors_of_an_h200(record)
    products = "with" if done.get("rates", {}).get("tf32") else "without"
    yield (
        "Floors are the least times that this device could need for the same work, by the rates measured above: "
        f"products of float32 matrices {products} TF32, and copies."
    )
    if h200:
        yield (
            f"Floors of an H200 are the least times by the published peak rates of an H200: {floors.H200_RATES}; those "
            "of transformer, scan and motion are in TF32, which services use with `DEMUR_TF32=1` only."
        )
    judged = "" if _judged(record) else "; this run is not judged by them"
    yield f"Targets are for full sizes on one GPU of the class of an H100{judged}."
    yield ""
    further = ("floor of an H200, s", "over that floor") if h200 else ()
    columns = ("benchmark", "s", "floor, s", "over the floor", *further, "target")
    yield markdown.head(columns)
    for name, values in rows.items():
        cells = [name, f"{values['seconds']:.4g}", *_over(values["seconds"], values.get("floor_seconds"))]
        if h200:
            cells += _over(values["seconds"], h200.get(name))
        targets = ", ".join(
            _target(limit, _UNITS[figure], values.get(figure)) if _judged(record) else _limit(limit, _UNITS[figure])
            for figure, limit in values.get("targets", {}).items()
        )
        yield markdown.row((*cells, targets or "-"))
    yield ""


def _floors_of_an_h200(record: Record) -> Mapping[str, float]:
    """Return seconds by part; empty for small sizes, and for devices with other processors."""
    device = record.parts.get("device", Outcome("missing")).found
    return floors.H200_SECONDS if _judged(record) and device.get("architecture") == floors.H200_ARCHITECTURE else {}


def _over(seconds: float, floor: float | None) -> tuple[str, str]:
    """Return a floor, and the ratio of the measured time to it."""
    return ("-", "-") if floor is None else (f"{floor:.3g}", f"{seconds / floor:.3g} x")


def _judged(record: Record) -> bool:
    """Return True if targets apply: a run in full sizes on a GPU."""
    return record.provider == "cuda" and not record.quick


def _target(limit: float, unit: str, value: float | None) -> str:
    """Return a limit, and whether a value is within it; 0 means no value, since every measurement takes some time."""
    if not value:
        return f"{_limit(limit, unit)}: not told"
    return f"{_limit(limit, unit)}: {'met' if value <= limit else '**missed**'} ({value:.3g} {unit})"


def _limit(limit: float, unit: str) -> str:
    return f"≤ {limit:g} {unit}"


def _listed(figures: Mapping[str, Any]) -> str:
    """Return numbers and strings by name; longer values are only in the record."""
    return ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in figures.items() if _plain(value))


def _plain(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
