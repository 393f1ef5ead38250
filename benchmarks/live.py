"""What a live monitor says of units whose labels all came, beside the same figures of all of them."""

from __future__ import annotations

import argparse
import json
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.figures import Errors, Rules, figures
from models.head import Head

PATIENCE_SECONDS = 120.0
Windows = Sequence[Mapping[str, Any]]


def parser(
    module: str, description: str | None, port: int, *, steps: int = 4, http: bool = True
) -> argparse.ArgumentParser:
    """Of a module that asks a service and compares what the monitor says: where both are, and how often to look.

    Args:
        port: of the service's HTTP; that of gRPC is a thousand above.
        http: whether it is asked over both protocols.
    """
    found = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--target", default=f"127.0.0.1:{port + 1000}", help="host:port of the gRPC service")
    if http:
        found.add_argument("--http", default=f"http://127.0.0.1:{port}", help="URL of the HTTP service")
    found.add_argument("--monitor", default="http://127.0.0.1:3000", help="URL of the monitor")
    found.add_argument("--steps", type=int, default=steps, help="how often the monitor is looked at")
    found.add_argument("--json", type=Path, metavar="PATH", help="also write all moments to this file")
    return found


def windows(monitor: str) -> Windows:
    """The windows of the monitor at a URL, as they are now."""
    with urllib.request.urlopen(f"{monitor}/v1/live", timeout=10) as answer:
        found: Windows = json.load(answer)["windows"]
    return found


@dataclass(frozen=True)
class Figure:
    """One figure of one head: what the monitor estimated, and what all labels give."""

    live: float
    low: float
    """Of the monitor's 95 % interval."""
    high: float
    offline: float


@dataclass
class Sent:
    """What was answered about one head so far; grows with each step."""

    head: Head
    errors: list[NDArray[np.float64]]
    uncertainty: list[NDArray[np.float32]]
    answered: list[NDArray[np.bool_]]

    def offline(self) -> dict[str, float]:
        """Figures of all units so far, by the monitor's names."""
        errors, answered = np.concatenate(self.errors), np.concatenate(self.answered)
        found = figures(Errors(errors, self.head.acceptable, Rules()), np.concatenate(self.uncertainty))
        return {
            "r_auc": found.r_auc,
            "f1_auc": found.f1_auc,
            "f1_at_95": found.f1_at_95,
            "mean_error": found.error,
            "error": float(np.mean(np.where(answered, errors, 0.0))),
            "answered_error": float(np.mean(errors[answered])) if answered.any() else float("nan"),
        }


def window(
    look: Callable[[], Windows], head: str, model: str, units: int, pause: Callable[[float], None] = time.sleep
) -> Mapping[str, Any]:
    """The monitor's window by count, once it has judged so many units by their census labels.

    Raises:
        TimeoutError: it does not see what was sent.
    """
    waited = 0.0
    while True:
        found = [
            one
            for one in look()
            if (one["head"], one["model"], one["source"], one["window"]) == (head, model, "census", "last")
        ]
        if found and found[0]["judged"] >= units and found[0]["labels"] >= units:
            return found[0]
        if waited >= PATIENCE_SECONDS:
            state = f"{found[0]['judged']} units, {found[0]['labels']} labels" if found else "no such window"
            raise TimeoutError(
                f"after {waited:.0f} s the monitor has {state} of a census of {head}, not {units}: is "
                f"DEMUR_CENSUS={head} set for the service, its ledger new, and followed by the monitor?"
            )
        pause(0.5)
        waited += 0.5


def compared(window: Mapping[str, Any], offline: Mapping[str, float]) -> dict[str, Figure]:
    """The figures that both know."""
    return {
        name: Figure(window[name]["estimate"], window[name]["low"], window[name]["high"], value)
        for name, value in offline.items()
        if window.get(name) is not None and window[name]["estimate"] is not None
    }


def report(moments: Iterable[Any], words: Callable[[Any], str], path: Path | None) -> None:
    """Shows moments as they come, and keeps all of them in a file if one is named.

    Args:
        moments: dataclasses with ``figures`` and ``reasons``, why the window is not valid.
        words: of a moment, in a line, without whether it is valid and its figures.
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
    """A line a figure."""
    return "".join(
        f"  {name:16}{one.live:12.5g}  ({one.low:.5g} to {one.high:.5g}){one.offline:14.5g} offline\n"
        for name, one in figures.items()
    )
