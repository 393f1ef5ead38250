"""HTML page of the monitor: curves of each head, figures with intervals, and reasons of invalid windows."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models.estimation.intervals import Estimate
from models.evaluation.unit_errors import BadFile
from models.head import Head
from models.live.units import StreamKey
from models.live.window_evaluator import WindowResult
from models.live.window_figures import FIGURES
from models.live.windows import LAST
from services.monitor.figures import STROKES, figures
from services.monitor.reviewer_sentences import sentences
from services.monitor.snapshot import Snapshot, StreamState
from services.report import glossary
from services.report.block import Panel, Tile
from services.report.number_format import THIN, count, numeral, percent, shown
from services.report.rendering import environment

_RELOAD_SECONDS = 60
_SOURCES = {"census": "labels of a declared population", "blind": "labels given without sight of the prediction"}
_HEADINGS = {
    "r_auc": "R-AUC",
    "f1_auc": "F1-AUC",
    "f1_at_95": "F1 at 95 %",
    "error": "Error at the operating point",
    "answered_error": "Mean error of answers",
    "mean_error": "Mean error of the model",
    "system_error": "Mean error of the system",
}
_SHARES = ("f1_auc", "f1_at_95")


class Pages:
    """Renderer of the page; figures are drawn once for each result shown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # drawing changes settings common to all threads
        self._drawn: dict[tuple[object, ...], tuple[list[Panel], str]] = {}
        jinja = environment(Path(__file__).parent / "templates")
        jinja.globals |= {"count": count, "percent": percent, "numeral": numeral, "interval": _interval}
        jinja.globals |= {"headings": _HEADINGS, "unit": _unit, "name_of": _name_of, "strokes": STROKES}
        jinja.globals["reload_seconds"] = _RELOAD_SECONDS
        jinja.filters["words"] = _words
        self._template = jinja.get_template("monitor.html")

    def page(self, known: Snapshot, hindrance: str, now: float) -> str:
        """Return the whole document.

        Args:
            hindrance: reason why the figures are out of date; empty if they are current.
            now: seconds since 1970.
        """
        newest = _newest(known)
        valid = sum(result.valid for result in known.windows)
        total = len(known.windows)
        sentence = f"{valid} of {total} windows valid" if total else "No window yet"
        return self._template.render(
            when=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(known.time)) if known.time else "starting",
            sentence=f"Not up to date: {hindrance}" if hindrance else sentence,
            streams=[
                self._stream(stream, known, now) | {"newest": stream.key in newest}
                for stream in sorted(known.streams, key=lambda stream: stream.key)
            ],
            ledgers=known.ledgers,
            labels=sorted(known.labels.items()),
        )

    def _stream(self, stream: StreamState, known: Snapshot, now: float) -> dict[str, Any]:
        """Return the values of a stream for the template; without windows only its names."""
        windows = [result for result in known.windows if result.key == stream.key]
        # the window drawn: the last units, or the first valid one
        order = sorted(
            windows, key=lambda window: (not window.valid, window.window != LAST, window.source != "requested")
        )
        content: dict[str, Any] = {"key": stream.key, "head": stream.head, "shown": None}
        if not order:
            return content
        panels, missing = self._panels(stream, order[0])
        policy = known.policies.get((stream.key.task, stream.key.head))
        unit = shown(stream.head.error_unit)
        return content | {
            "shown": order[0],
            "tiles": _tiles(stream, order[0], now),
            "panels": panels,
            "missing": missing,
            "error": glossary.heading(glossary.error(stream.head.error).label) + (f", {unit}" if unit else ""),
            "figures": [name for name in FIGURES if any(name in window.figures for window in windows if window.valid)],
            "windows": windows,
            "drift": _drift(order[0]),
            "reviewers": sentences(known, stream),
            "policy": policy if policy is not None and policy.measure == stream.measure else None,
        }

    def _panels(self, stream: StreamState, result: WindowResult) -> tuple[list[Panel], str]:
        """Return the figures of a window, or the reason why they cannot be drawn."""
        window = (result.key, result.window, result.source)
        place = (*window, result.end, result.labels, result.units)
        with self._lock:
            if place not in self._drawn:
                for old in [drawn for drawn in self._drawn if drawn[:3] == window]:
                    del self._drawn[old]
                try:
                    charts = figures(stream.head, result, "-".join(stream.key))
                    self._drawn[place] = [Panel(chart, ()) for chart in charts], ""
                except BadFile as error:  # matplotlib is not installed
                    self._drawn[place] = [], str(error)
            return self._drawn[place]


def _newest(known: Snapshot) -> set[StreamKey]:
    """Return the latest deciding stream of each head; any stream for heads without decisions."""
    newest: dict[tuple[str, str], tuple[float, StreamKey]] = {}
    for result in known.windows:
        head = (result.key.task, result.key.head)
        start = result.start if result.window == LAST and result.units else 0.0
        if head not in newest or start >= newest[head][0]:
            newest[head] = (start, result.key)
    return {key for _, key in newest.values()}


def _tiles(stream: StreamState, result: WindowResult, now: float) -> list[Tile]:
    """Return the deferred share, the headline figures of a valid window, and the waiting requests."""
    units = f"of {count(result.units)} units ({_name_of(result)})"
    tiles = [Tile("Deferred", percent(result.abstained), "", units)]
    for name in ("system_error", "r_auc", "f1_at_95"):
        estimate = result.figures.get(name)
        if result.valid and estimate is not None:
            unit = _unit(name, stream.head)
            value = numeral(estimate.estimate, unit)
            tiles.append(Tile(_HEADINGS[name], value, shown(unit), _interval(estimate, unit)))
    waiting = stream.requests.get("requested", 0) + stream.requests.get("claimed", 0)
    age = "none waits" if stream.oldest_request is None else f"the oldest for {_duration(now - stream.oldest_request)}"
    return [*tiles, Tile("Requests that wait", count(waiting), "", age)]


def _drift(result: WindowResult) -> list[str]:
    """Return sentences about shifted scores and a raised risk."""
    drift, risk = result.drift, result.risk
    sentences = []
    if drift.psi == drift.psi:
        sentences.append(
            f"Uncertainty against in-domain data: population stability index {numeral(drift.psi)} "
            f"({numeral(drift.psi_expected)} by chance)."
        )
    changes: list[tuple[str, Any]] = [("Change of the uncertainty since the first unit", drift)]
    if risk.baseline:
        changes.append((f"Rise of the risk above the {risk.baseline}", risk))
    for change, test in changes:
        alarm = "alarm" if test.alarm else "no alarm"
        sentences.append(f"{change}: {alarm} (log wealth {numeral(test.log_wealth)}).")
    return sentences


def _unit(name: str, head: Head) -> str:
    """Return the unit of a figure."""
    return "1" if name in _SHARES else head.error_unit


def _words(reasons: Sequence[tuple[str, str]]) -> str:
    """Return the names of reasons in words, each once."""
    return ", ".join(dict.fromkeys(reason.replace("_", " ") for reason, _ in reasons))


def _name_of(result: WindowResult) -> str:
    """Return the name of a window in words, with the source of its labels unless they were requested."""
    name = "the last units" if result.window == LAST else f"the last {result.window}"
    source = result.source
    return name if source == "requested" else f"{name}, {_SOURCES.get(source, source)}"


def _interval(estimate: Estimate, unit: str) -> str:
    return f"{numeral(estimate.low, unit)} to {numeral(estimate.high, unit)}"


def _duration(seconds: float) -> str:
    for size, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f}{THIN}{word}"
    return f"{max(seconds, 0):.0f}{THIN}s"
