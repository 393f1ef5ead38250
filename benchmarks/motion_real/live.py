"""Asks a running motion service about real scenes one after the other, gives each request's true future after its
answer, and compares what the monitor says with the same figures of all labels.

    DEMUR_CENSUS=trajectories demur serve motion
    demur monitor run
    python -m benchmarks.motion_real.live [--steps 4] [--json PATH]

The ledger should be new: the monitor's window ``last`` holds all that was asked of the model. Each scene is asked over
HTTP as well, as a replay, and has to be answered alike.
"""

from __future__ import annotations

import base64
import json
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import demur
from benchmarks.live import Figure, Sent, compared, parser, report, window, windows
from benchmarks.motion_real import data
from models.tasks.motion.errors import request_errors
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.spec import TRAJECTORIES

NEAR = 1e-4
"""m and nats: how far answers over both protocols may lie apart."""


@dataclass(frozen=True)
class Moment:
    """What was known after some scenes."""

    scenes: int
    units: int
    cities: dict[str, int]
    deferred: int
    figures: dict[str, Figure]
    reasons: tuple[str, ...]
    """Why the monitor calls its window invalid; it may still tell figures."""


def follow(client: Any, http: str, monitor: str, real: Sequence[data.Real], steps: int) -> Iterator[Moment]:
    """Asks, labels, and looks at the monitor after each of some steps.

    Raises:
        ValueError: both protocols differ.
        TimeoutError: the monitor does not see what was sent.
    """
    scenes = [list(group) for _, group in groupby(real, key=lambda one: one.file)]
    sent = Sent(TRAJECTORIES, [], [], [])
    cities: dict[str, int] = {}
    stops = {round(stop) for stop in np.linspace(0, len(scenes), steps + 1)[1:]}
    for number, requests in enumerate(scenes, start=1):
        model = _ask(client, http, requests, sent)
        cities[requests[0].city] = cities.get(requests[0].city, 0) + len(requests)
        if number in stops:
            units = sum(map(len, sent.errors))
            found = window(lambda: windows(monitor), TRAJECTORIES.name, model, units)
            yield Moment(
                number,
                units,
                dict(cities),
                int(sum((~one).sum() for one in sent.answered)),
                compared(found, sent.offline()),
                tuple(reason["reason"] for reason in found["reasons"]),
            )


def _ask(client: Any, http: str, requests: Sequence[data.Real], sent: Sent) -> str:
    tracks = [one.track for one in requests]
    answer = client.motion.predict(requests[0].file, track_ids=tracks, purpose="decide")
    said = list(answer.answers)
    _check_alike(said, _over_http(http, requests[0].file, tracks))
    future = np.stack([one.future for one in requests])
    weights = np.stack([one.confidences for one in said]).astype(np.float64)
    plans = np.stack([one.trajectories for one in said])
    errors = request_errors(future, plans, weights / weights.sum(axis=1, keepdims=True))
    sent.errors.append(errors["cnll"])
    sent.uncertainty.append(np.array([one.uncertainty for one in said], np.float32))
    sent.answered.append(np.array([not one.deferred for one in said]))
    now = time.time()
    client.labels.submit(
        demur.Label(found.prediction_id, one.future, source="census", observed=now)
        for found, one in zip(said, requests, strict=True)
    ).check()
    return str(answer.model)


def _over_http(http: str, scene: Path, tracks: Sequence[int]) -> Any:
    body = {"scene": base64.b64encode(scene.read_bytes()).decode(), "track_ids": tracks, "purpose": "replay"}
    request = urllib.request.Request(
        f"{http}/v1/predict", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["answers"]


def _check_alike(grpc: Sequence[Any], http: Sequence[Any]) -> None:
    for one, other in zip(grpc, http, strict=True):
        apart = np.abs(np.asarray(one.trajectories) - np.asarray(other["trajectories_m"])).max()
        if apart > NEAR or abs(one.uncertainty - other["uncertainty"]) > NEAR * max(1, abs(one.uncertainty)):
            raise ValueError(f"track {one.agent.track_id}: the protocols' trajectories are {apart:.2g} m apart")


def main(arguments: Sequence[str] | None = None) -> int:
    """0; 1 where data, service or monitor are not there or not fit."""
    asking = parser("benchmarks.motion_real.live", __doc__, 3003)
    asking.add_argument("--work", type=Path, default=data.ROOT / ".demur" / "motion-real", help="converted scenes")
    asked = asking.parse_args(arguments)
    try:
        source = data.folder()
        asked.work.mkdir(parents=True, exist_ok=True)
        real = list(data.requests(source, data.prepared(source, asked.work), OFFICIAL))
        with demur.connect(asked.target, actor="logs") as client:
            report(follow(client, asked.http, asked.monitor, real, asked.steps), _words, asked.json)
    except (LookupError, ValueError, OSError, demur.DemurError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _words(moment: Moment) -> str:
    return f"{moment.scenes} scenes, {moment.units} units {moment.cities}, {moment.deferred} deferred"


if __name__ == "__main__":
    sys.exit(main())
