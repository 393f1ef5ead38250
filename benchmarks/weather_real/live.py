"""Gives a running weather service the test rows of a real set in the order of time, each row's observation after its
answer, and compares what the monitor says with the same figures of all labels.

    DEMUR_CENSUS=temperature demur serve weather    # with an artefact of the set's schema
    demur monitor run
    python -m benchmarks.weather_real.live hannover [--steps 10] [--json PATH]

The artefact has to be built for the schema of the set: ``build(members_by_head, schema, data)`` of the weather task,
with ``data.schema``, ``data.part(data.split.train)`` and its likes from ``benchmarks.weather_real``. The ledger
should be new: the monitor's window ``last`` holds all that was asked of the model.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.live import Figure, Sent, Windows, compared, parser, report, window, windows
from benchmarks.weather_real.data import SETS, folder
from benchmarks.weather_real.realset import Part, RealSet
from models.assessment import classification
from models.assessment.errors import squared_error
from models.tasks.weather.spec import HEADS


class Client(Protocol):
    """What is used of ``demur.Client``."""

    weather: Any
    labels: Any


@dataclass(frozen=True)
class Moment:
    """What was known after some units of a head."""

    head: str
    units: int
    until: float
    """When the last of them was valid, seconds since 1970."""
    shifted: int
    """How many of them are shifted by the set's definition."""
    figures: dict[str, Figure]
    reasons: tuple[str, ...]
    """Why the monitor calls its window invalid; it may still tell figures."""


def follow(
    data: RealSet,
    client: Client,
    look: Callable[[], Windows],
    heads: Sequence[str],
    steps: int = 10,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Moment]:
    """Asks, labels, and looks at the monitor after each of some steps; one moment a step and head.

    Args:
        look: the monitor's windows as they are now.
        heads: heads that get all their labels; each has to be declared in DEMUR_CENSUS.
        pause: waits so many seconds between two looks.

    Raises:
        ValueError: the service has another schema than the set, or does not predict one of the heads.
        TimeoutError: the monitor does not see what was sent.
    """
    _check(data, client, heads)
    test = data.part(data.split.test)
    sent = {head.name: Sent(head, [], [], []) for head in HEADS if head.name in heads}
    bounds = _steps(test.time, steps)
    for start, end in pairwise(bounds):
        model = _ask(client, test, start, end, sent)
        for name, one in sent.items():
            found = window(look, name, model, end, pause)
            yield Moment(
                head=name,
                units=end,
                until=float(test.time[end - 1]),
                shifted=int(test.shifted[:end].sum()),
                figures=compared(found, one.offline()),
                reasons=tuple(reason["reason"] for reason in found["reasons"]),
            )


def _ask(client: Client, test: Part, start: int, end: int, sent: Mapping[str, Sent]) -> str:
    """Asks about rows, gives their labels as a census, and keeps what is needed to judge them; the model's tag."""
    rows = slice(start, end)
    answer = client.weather.predict(np.ascontiguousarray(test.rows[rows]), purpose="decide")
    for name, one in sent.items():
        said, labels = answer.heads[name], test.labels[name][rows]
        if one.head.kind == "gaussian":
            errors = squared_error(labels, said.mean)
        else:
            errors = classification.error_indicator(labels, said.classes, one.head.classes)
        one.errors.append(errors)
        one.uncertainty.append(np.asarray(said.uncertainty))
        one.answered.append(~np.asarray(said.deferred))
        client.labels.census(said.prediction_ids, labels, observed=test.time[rows], head=name)
    return str(answer.model)


def _steps(times: NDArray[np.float64], steps: int) -> list[int]:
    """Bounds of about equal numbers of rows that never part rows of one time."""
    changes = np.flatnonzero(np.diff(times)) + 1
    wanted = np.linspace(0, len(times), steps + 1)[1:-1]
    inner = {int(changes[np.argmin(np.abs(changes - place))]) for place in wanted} if len(changes) else set()
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
    """0; 1 where data, service or monitor are not there or not fit."""
    import demur

    asking = parser("benchmarks.weather_real.live", __doc__, 3001, steps=10, http=False)
    asking.add_argument("set", choices=SETS)
    asking.add_argument("--heads", nargs="+", default=["temperature"], help="those declared in DEMUR_CENSUS")
    asked = asking.parse_args(arguments)

    try:
        data = SETS[asked.set](folder())
        with demur.connect(asked.target, actor="weather stations") as client:
            report(follow(data, client, lambda: windows(asked.monitor), asked.heads, asked.steps), _words, asked.json)
    except (LookupError, ValueError, OSError, demur.DemurError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _words(moment: Moment) -> str:
    return f"{moment.head}, {moment.units} units ({moment.shifted} shifted)"


if __name__ == "__main__":
    sys.exit(main())
