"""Comparison of the live monitor with all labels, on the test rows of a real weather set.

    DEMUR_CENSUS=temperature demur serve weather    # with an artefact of the set's schema
    demur monitor run
    python -m studies.weather_real.live hannover [--steps 10] [--json PATH]

Sends the rows to a running weather service in the order of time, each row's observation after its answer, and
compares the monitor's figures with the same figures of all labels. The artefact has to be built for the schema of the
set: ``build(members_by_head, schema, data)`` of the weather task, with ``data.schema``,
``data.part(data.split.train)`` and similar parts from ``studies.weather_real``. The ledger should be new: the
monitor's window ``last`` holds all requests to the model.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from models.assessment import classification
from models.assessment.errors import squared_error
from models.tasks.weather.spec import HEADS
from studies import pages
from studies.live import Seen, Sent, Windows, parser, report, seen, windows
from studies.weather_real.data import SETS, Part, RealSet, folder


class Client(Protocol):
    """Used parts of ``demur.Client``."""

    weather: Any
    labels: Any


@dataclass(frozen=True)
class Moment(Seen):
    """State after some units of a head."""

    head: str
    until: float
    """Valid time of the last of the units, seconds since 1970."""
    shifted: int
    """Number of the units that are shifted by the set's definition."""


def follow(
    data: RealSet,
    client: Client,
    look: Callable[[], Windows],
    heads: Sequence[str],
    steps: int = 10,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Moment]:
    """Ask, label, and read the monitor after each of some steps; one moment per step and head.

    Args:
        look: function that returns the present windows of the monitor.
        heads: heads that get all their labels; each has to be declared in DEMUR_CENSUS.
        pause: function that waits for a number of seconds between two readings.

    Raises:
        ValueError: the service has another schema than the set, or does not predict one of the heads.
        TimeoutError: the monitor does not show the sent rows.
    """
    _check(data, client, heads)
    test = data.part(data.split.test)
    sent = {head.name: Sent(head) for head in HEADS if head.name in heads}
    bounds = _steps(test.time, steps)
    for start, end in pairwise(bounds):
        model = _ask(client, test, start, end, sent)
        for name, head_sent in sent.items():
            now, shifted = seen(look, model, head_sent, pause), int(test.shifted[:end].sum())
            yield Moment(**vars(now), head=name, until=float(test.time[end - 1]), shifted=shifted)


def _ask(client: Client, test: Part, start: int, end: int, sent: Mapping[str, Sent]) -> str:
    """Ask about rows, give their labels as a census, keep errors and uncertainty, and return the model's tag."""
    rows = slice(start, end)
    answer = client.weather.predict(np.ascontiguousarray(test.rows[rows]), purpose="decide")
    for name, head_sent in sent.items():
        predictive, labels = answer.heads[name], test.labels[name][rows]
        if head_sent.head.kind == "gaussian":
            errors = squared_error(labels, predictive.mean)
        else:
            errors = classification.error_indicator(labels, predictive.classes, head_sent.head.classes)
        head_sent.add(errors, predictive.uncertainty, predictive.deferred)
        client.labels.census(predictive.prediction_ids, labels, observed=test.time[rows], head=name)
    return str(answer.model)


def _steps(times: NDArray[np.float64], steps: int) -> list[int]:
    """Return bounds of about equal numbers of rows that never separate rows of one time."""
    changes = np.flatnonzero(np.diff(times)) + 1
    targets = np.linspace(0, len(times), steps + 1)[1:-1]
    inner = {int(changes[np.argmin(np.abs(changes - place))]) for place in targets} if len(changes) else set()
    return sorted({0, len(times)} | inner)


def _check(data: RealSet, client: Client, heads: Sequence[str]) -> None:
    described = client.weather.describe()
    names = tuple(feature.name for feature in described.features)
    if names != data.schema.names:
        raise ValueError(
            f"the service takes {len(names)} columns ({', '.join(names[:3])} ...), {data.title} has "
            f"{len(data.schema)} ({', '.join(data.schema.names[:3])} ...): serve an artefact built for this set"
        )
    offered = {head.name for head in described.heads}
    if missing := [head for head in heads if head not in offered or head not in data.labels]:
        raise ValueError(
            f"no {missing[0]} here: the service predicts {sorted(offered)}, labels are {sorted(data.labels)}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; return 1 if data, service or monitor are missing or unsuitable, else 0."""
    import demur

    asking = parser("weather_real.live", __doc__, 3001, steps=10, http=False)
    asking.add_argument("set", choices=SETS)
    asking.add_argument("--heads", nargs="+", default=["temperature"], help="those declared in DEMUR_CENSUS")
    options = asking.parse_args(arguments)

    try:
        data = SETS[options.set](folder())
        with demur.connect(options.target, actor="weather stations") as client:
            report(
                follow(data, client, lambda: windows(options.monitor), options.heads, options.steps),
                _words,
                options.json,
            )
    except (LookupError, ValueError, OSError, demur.DemurError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _words(moment: Moment) -> str:
    return f"{moment.head}, {moment.units} units ({moment.shifted} shifted)"


if __name__ == "__main__":
    sys.exit(main())


Moments = Sequence[Mapping[str, Any]]
PICTURE = "weather-real-live.png"
FIGURES = (
    ("r_auc", "R-AUC"),
    ("f1_auc", "F1-AUC"),
    ("f1_at_95", "F1@95"),
    ("answered_error", "error of what is answered"),
)
_UNITS = {head.name: head.error_unit for head in HEADS}


def read(folder: Path, names: Sequence[str]) -> dict[str, Moments]:
    """Return moments by set, from ``live-SET.json``; sets without a file are left out."""
    paths = {name: folder / f"live-{name}.json" for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def section(by_set: Mapping[str, Moments], titles: Mapping[str, str]) -> list[str]:
    """Return the blocks of the page's section."""
    if not by_set:
        return []
    rows = []
    for name, moments in by_set.items():
        for head in dict.fromkeys(moment["head"] for moment in moments):
            own = [moment for moment in moments if moment["head"] == head]
            last = own[-1]
            apart = max(abs(pair["live"] - pair["offline"]) for moment in own for pair in moment["figures"].values())
            cells = (_cell(last["figures"].get(figure), figure, head) for figure, _ in FIGURES)
            rows.append((f"{titles[name]}, {head}", f"{last['units']} ({last['shifted']})", *cells, f"{apart:.1e}"))
    return [
        "## Watched live",
        "The ten trees of each set as an artefact of their own schema, served with a census of the heads; the test "
        "rows asked in the order of time, the observation of each sent after its answer, and the monitor looked at "
        "ten times on the way (`python -m studies.weather_real.artefact`, `… .live`). The trees are trained anew "
        "under the page's settings. At the end: what the monitor said, and how far it was at most, at any look, from "
        "the same figure of all labels.",
        pages.table(("set, head", "units (shifted)", *(title for _, title in FIGURES), "largest difference"), rows),
        pages.picture("Live figures of three sets as observations come in", PICTURE),
    ]


def draw(by_set: Mapping[str, Moments], titles: Mapping[str, str], path: Path) -> None:
    """Draw R-AUC and the error of answered rows as observations come in, with a column per set and head."""
    streams = [
        (f"{titles[name]}\n{head}", head, [moment for moment in moments if moment["head"] == head])
        for name, moments in by_set.items()
        for head in dict.fromkeys(moment["head"] for moment in moments)
    ]
    figure = Figure(figsize=(3.6 * len(streams), 4.2), layout="constrained")
    for axis, (title, head, moments) in zip(figure.subplots(1, len(streams), squeeze=False)[0], streams, strict=True):
        times = [datetime.fromtimestamp(moment["until"], UTC) for moment in moments]
        for name, label, colour in (
            ("mean_error", "all rows answered", "#999999"),
            ("answered_error", "what is answered", "#d55e00"),
            ("r_auc", "R-AUC", "#0072b2"),
        ):
            live = [moment["figures"][name]["live"] for moment in moments]
            offline = [moment["figures"][name]["offline"] for moment in moments]
            axis.plot(times, live, color=colour, label=f"{label}, live")
            axis.plot(times, offline, "o", color=colour, markersize=5, fillstyle="none", label="same, all labels")
        share = axis.twinx()
        shifted = [moment["shifted"] / moment["units"] for moment in moments]
        share.fill_between(times, shifted, color="#f0e442", alpha=0.25)
        share.set(ylim=(0, 1), yticks=[0, 0.5, 1])
        share.tick_params(labelsize=7, colors="#888888")
        axis.set(title=title, ylabel=_UNITS[head] if _UNITS[head] != "1" else "error rate", ylim=(0, None))
        axis.tick_params(axis="x", rotation=30, labelsize=8)
        axis.grid(alpha=0.3)
        axis.set_zorder(share.get_zorder() + 1)
        axis.patch.set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle("Since the beginning; yellow: share of shifted rows (right axis)", fontsize=10)
    pages.save(figure, path)


def _cell(values: Mapping[str, float] | None, figure: str, head: str) -> str:
    if values is None:
        return "–"
    unit = "" if figure.startswith("f1") or _UNITS[head] == "1" else f" {_UNITS[head]}"
    return f"{values['live']:.4g}{unit}"
