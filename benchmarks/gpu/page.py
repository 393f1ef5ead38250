"""docs/gpu/README.md: a record for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.gpu.parts import PARTS, Outcome
from benchmarks.gpu.record import Record, outdated, pinned

_UNITS = {"seconds": "s", "device_memory_gib": "GiB"}
"""Of figures that have a target."""
_STATES = {"done": "done", "failed": "**failed**", "missing": "not run"}


def text(record: Record) -> str:
    """Return the page in Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield "# GPU test record"
    yield ""
    yield (
        "Written by `make gpu` (`python -m benchmarks.gpu"
        f"{' --provider cpu' if record.provider == 'cpu' else ''}{' --quick' if record.quick else ''}`) on "
        f"{record.time[:10]}; the record is [record.json](record.json)."
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
        yield f"**Other versions than those pinned today were run:** {words}."
        yield ""
    yield from _device(record.parts.get("device"))
    yield "| part | what | outcome | s | |"
    yield "|---|---|---|---|---|"
    for part in PARTS:
        found = record.parts.get(part.name, Outcome("missing", reason="not asked for"))
        yield (
            f"| {part.name} | {part.title(quick=record.quick)} | {_STATES[found.state]} | {found.seconds:.0f} | "
            f"{_cell(found.reason if found.state != 'done' else _short(part.name, found.found))} |"
        )
    yield ""
    yield from _floors(record)


def _device(found: Outcome | None) -> Iterator[str]:
    if found is None or found.state != "done":
        return
    about = found.found
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


def _short(part: str, found: Mapping[str, Any]) -> str:
    """What was found, in a line."""
    if part == "rates":
        return (
            f"{found['flop_per_second'] / 1e12:.3g} TFLOP/s float32{' with TF32' if found['tf32'] else ''}, "
            f"{found['bytes_per_second'] / 1e9:.3g} GB/s"
        )
    if part.startswith("qualify-"):
        seconds = ", ".join(f"{batch}: {1e3 * value:.3g} ms" for batch, value in found["seconds_a_unit"].items())
        verdict = "; ".join(found.get("lines", [])[1:]) or f"{found['units']} units replayed"
        if found.get("calibrated_under_it"):
            verdict += " (calibrated under this profile: a service takes the artefact's own thresholds)"
        return f"{found['artefact'].partition(':')[0]}: {verdict}; a unit by batch size {seconds}"
    if part in ("training", "export"):
        return "; ".join(f"{task}: {_listed(figures)}" for task, figures in found.items())
    if part == "tests":
        counts = ", ".join(f"{count} {name}" for name, count in found["counts"].items())
        return f"{counts}{': ' + ', '.join(found['failed']) if found['failed'] else ''}"
    if part == "service":
        return "; ".join(
            f"{name.replace('_', ' ')}: p50 {times['p50_ms']:.2f} ms, first {times['first_ms']:.2f} ms"
            for name, times in found.items()
            if isinstance(times, dict)
        )
    return _listed(found)


def _floors(record: Record) -> Iterator[str]:
    """Table of times over floors and against targets."""
    done = {name: outcome.found for name, outcome in record.parts.items() if outcome.state == "done"}
    rows = {name: found for name, found in done.items() if "over_floor" in found or "targets" in found}
    if not rows:
        return
    yield "Floors are the least times that the device could need for the same work, by the rates measured above."
    judged = "" if _judged(record) else "; this run is not judged by them"
    yield f"Targets are for full sizes on one GPU of the class of an H100{judged}."
    yield ""
    yield "| benchmark | s | floor, s | over the floor | target |"
    yield "|---|---|---|---|---|"
    for name, found in rows.items():
        over = f"{found['floor_seconds']:.3g} | {found['over_floor']:.3g} x" if "over_floor" in found else "- | -"
        targets = ", ".join(
            _target(limit, _UNITS[figure], found.get(figure) if _judged(record) else None)
            for figure, limit in found.get("targets", {}).items()
        )
        yield f"| {name} | {found['seconds']:.4g} | {over} | {targets or '-'} |"
    yield ""


def _judged(record: Record) -> bool:
    """Whether targets apply to a record: they are for full sizes on a GPU."""
    return record.provider == "cuda" and not record.quick


def _target(limit: float, unit: str, value: float | None) -> str:
    """A limit, and whether a value is within it; the limit alone where there is no value."""
    if value is None:
        return f"≤ {limit:g} {unit}"
    return f"≤ {limit:g} {unit}: {'met' if value <= limit else '**missed**'} ({value:.3g} {unit})"


def _listed(found: Mapping[str, Any]) -> str:
    """Numbers and words by name; what is longer is in the record."""
    return ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in found.items() if _plain(value))


def _plain(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
