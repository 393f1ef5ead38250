"""Figures of a live monitor beside the same figures computed from the labels of all units."""

import argparse
import json
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.assessment.figures import Errors, Rules, figures
from models.head import Head
from studies import pages

PATIENCE_SECONDS = 120.0
Call = TypeVar("Call")
Windows = Sequence[Mapping[str, Any]]


def parser(
    study: str, description: str | None, port: int, *, steps: int = 4, http: bool = True
) -> argparse.ArgumentParser:
    """Return the parser of a study that calls a service and compares the monitor's figures.

    Args:
        port: HTTP port of the service; the gRPC port is a thousand above.
        http: whether the study calls the service over both protocols.
    """
    options = pages.parser(study, description)
    options.add_argument("--target", default=f"127.0.0.1:{port + 1000}", help="host:port of the gRPC service")
    if http:
        options.add_argument("--http", default=f"http://127.0.0.1:{port}", help="URL of the HTTP service")
    options.add_argument("--monitor", default="http://127.0.0.1:3000", help="URL of the monitor")
    options.add_argument("--steps", type=int, default=steps, help="how often the monitor is looked at")
    options.add_argument("--json", type=Path, metavar="PATH", help="also write all moments to this file")
    return options


def post(url: str, body: Mapping[str, Any], timeout: float) -> Any:
    """Return the JSON answer of a service to a JSON body."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def windows(monitor: str) -> Windows:
    """Return the present windows of the monitor at a URL."""
    with urllib.request.urlopen(f"{monitor}/v1/live", timeout=10) as answer:
        payload: Windows = json.load(answer)["windows"]
    return payload


@dataclass(frozen=True)
class Figure:
    """One figure of one head: the monitor's estimate, and the value from all labels."""

    live: float
    low: float
    """Lower end of the monitor's 95 % interval."""
    high: float
    offline: float


@dataclass
class Sent:
    """Answers about one head so far; grows with each step."""

    head: Head
    errors: list[NDArray[np.float64]] = field(default_factory=list)
    uncertainty: list[NDArray[np.float32]] = field(default_factory=list)
    answered: list[NDArray[np.bool_]] = field(default_factory=list)

    def add(self, errors: NDArray[np.float64], uncertainty: ArrayLike, deferred: ArrayLike) -> None:
        """Add units [N] of an answer."""
        self.errors.append(errors)
        self.uncertainty.append(np.asarray(uncertainty, np.float32))
        self.answered.append(~np.asarray(deferred, bool))

    @property
    def units(self) -> int:
        """Number of units so far."""
        return sum(map(len, self.errors))

    def offline(self) -> dict[str, float]:
        """Return figures of all units so far, by the monitor's names."""
        errors, answered = np.concatenate(self.errors), np.concatenate(self.answered)
        result = figures(Errors(errors, self.head.acceptable, Rules()), np.concatenate(self.uncertainty))
        return {
            "r_auc": result.r_auc,
            "f1_auc": result.f1_auc,
            "f1_at_95": result.f1_at_95,
            "mean_error": result.error,
            "error": float(np.mean(np.where(answered, errors, 0.0))),
            "answered_error": float(np.mean(errors[answered])) if answered.any() else float("nan"),
        }


def window(
    look: Callable[[], Windows], head: str, model: str, units: int, pause: Callable[[float], None] = time.sleep
) -> Mapping[str, Any]:
    """Return the monitor's window by count, once it has evaluated ``units`` units by their census labels.

    Raises:
        TimeoutError: the monitor does not show the sent units.
    """
    waited = 0.0
    while True:
        matches = [
            candidate
            for candidate in look()
            if (candidate["head"], candidate["model"], candidate["source"], candidate["window"])
            == (head, model, "census", "last")
        ]
        if matches and matches[0]["judged"] >= units and matches[0]["labels"] >= units:
            return matches[0]
        if waited >= PATIENCE_SECONDS:
            state = f"{matches[0]['judged']} units, {matches[0]['labels']} labels" if matches else "no such window"
            raise TimeoutError(
                f"after {waited:.0f} s the monitor has {state} of a census of {head}, not {units}: is "
                f"DEMUR_CENSUS={head} set for the service, its ledger new, and followed by the monitor?"
            )
        pause(0.5)
        waited += 0.5


@dataclass(frozen=True)
class Seen:
    """Monitor's window after some units, beside the same figures of all labels."""

    units: int
    figures: dict[str, Figure]
    reasons: tuple[str, ...]
    """Reasons that the window is not valid; it may still have figures."""


def seen(look: Callable[[], Windows], model: str, sent: Sent, pause: Callable[[float], None] = time.sleep) -> Seen:
    """Compare the monitor's window with all units sent, once it has evaluated them.

    Raises:
        TimeoutError: as in ``window``.
    """
    current = window(look, sent.head.name, model, sent.units, pause)
    reasons = tuple(reason["reason"] for reason in current["reasons"])
    return Seen(sent.units, compared(current, sent.offline()), reasons)


def steps_of(calls: Sequence[Call], steps: int) -> Iterator[tuple[Call, bool]]:
    """Yield calls, each with whether to read the monitor after it: ``steps`` times, evenly spaced."""
    stops = {round(stop) for stop in np.linspace(0, len(calls), steps + 1)[1:]}
    yield from ((call, number in stops) for number, call in enumerate(calls, start=1))


def compared(window: Mapping[str, Any], offline: Mapping[str, float]) -> dict[str, Figure]:
    """Return the figures that the window and the offline figures share."""
    return {
        name: Figure(window[name]["estimate"], window[name]["low"], window[name]["high"], value)
        for name, value in offline.items()
        if window.get(name) is not None and window[name]["estimate"] is not None
    }


def report(moments: Iterable[Any], words: Callable[[Any], str], path: Path | None) -> None:
    """Print moments as they come, and write all of them to a file if one is named.

    Args:
        moments: dataclasses with ``figures`` and ``reasons``, the reasons that the window is not valid.
        words: function that describes a moment in a line, without its validity and figures.
    """
    kept = []
    for moment in moments:
        state = "valid" if not moment.reasons else f"not valid: {', '.join(moment.reasons)}"
        print(f"{words(moment)}, {state}")
        print(_told(moment.figures), end="", flush=True)
        kept.append(asdict(moment))
    if path:
        path.write_text(json.dumps(kept, indent=1))


def _told(figures: Mapping[str, Figure]) -> str:
    """Return a line for each figure."""
    return "".join(
        f"  {name:16}{figure.live:12.5g}  ({figure.low:.5g} to {figure.high:.5g}){figure.offline:14.5g} offline\n"
        for name, figure in figures.items()
    )
