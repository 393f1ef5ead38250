"""Comparison of the live monitor with all labels, on real scenes.

    DEMUR_CENSUS=trajectories demur serve motion
    demur monitor run
    python -m studies.motion_real.live [--steps 4] [--json PATH]

Asks a running motion service about real scenes in turn, gives each request's true future after its answer, and
compares the monitor's figures with the same figures of all labels. The ledger should be new: the monitor's window
``last`` holds all requests to the model. Each scene is also sent over HTTP, as a replay, and must get the same answer.
"""

import base64
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import demur
from models.tasks.motion.errors import request_errors
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.spec import TRAJECTORIES
from studies import pages
from studies.live import Seen, Sent, parser, post, report, seen, steps_of, windows
from studies.motion_real import judge

NEAR = 1e-4
"""Largest difference of answers over both protocols, m and nats."""


@dataclass(frozen=True)
class Moment(Seen):
    """State after some scenes."""

    scenes: int
    cities: dict[str, int]
    deferred: int


def follow(client: Any, http: str, monitor: str, real: Sequence[judge.Real], steps: int) -> Iterator[Moment]:
    """Ask, label, and read the monitor after each of some steps.

    Raises:
        ValueError: both protocols differ.
        TimeoutError: the monitor does not show the sent requests.
    """
    scenes = [list(group) for _, group in groupby(real, key=lambda request: request.file)]
    sent = Sent(TRAJECTORIES)
    cities: Counter[str] = Counter()
    for number, (requests, stop) in enumerate(steps_of(scenes, steps), start=1):
        model = _ask(client, http, requests, sent)
        cities[requests[0].city] += len(requests)
        if stop:
            now = seen(lambda: windows(monitor), model, sent)
            deferred = int(sum((~answered).sum() for answered in sent.answered))
            yield Moment(**vars(now), scenes=number, cities=dict(cities), deferred=deferred)


def _ask(client: Any, http: str, requests: Sequence[judge.Real], sent: Sent) -> str:
    scene, tracks = requests[0].file, [request.track for request in requests]
    response = client.motion.predict(scene, track_ids=tracks, purpose="decide")
    answers = list(response.answers)
    body = {"scene": base64.b64encode(scene.read_bytes()).decode(), "track_ids": tracks, "purpose": "replay"}
    _check_alike(answers, post(f"{http}/v1/predict", body, 60)["answers"])
    future = np.stack([request.future for request in requests])
    weights = np.stack([answer.confidences for answer in answers]).astype(np.float64)
    plans = np.stack([answer.trajectories for answer in answers])
    errors = request_errors(future, plans, weights / weights.sum(axis=1, keepdims=True))
    sent.add(errors["cnll"], [reply.uncertainty for reply in answers], [reply.deferred for reply in answers])
    now = time.time()
    client.labels.submit(
        demur.Label(answer.prediction_id, request.future, source="census", observed=now)
        for answer, request in zip(answers, requests, strict=True)
    ).check()
    return str(response.model)


def _check_alike(grpc: Sequence[Any], http: Sequence[Any]) -> None:
    for answer, other in zip(grpc, http, strict=True):
        apart = np.abs(np.asarray(answer.trajectories) - np.asarray(other["trajectories_m"])).max()
        if apart > NEAR or abs(answer.uncertainty - other["uncertainty"]) > NEAR * max(1, abs(answer.uncertainty)):
            raise ValueError(f"track {answer.agent.track_id}: the protocols' trajectories are {apart:.2g} m apart")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; return 1 if data, service or monitor are missing or unsuitable, else 0."""
    asking = parser("motion_real.live", __doc__, 3003)
    asking.add_argument("--work", type=Path, default=pages.ROOT / ".demur" / "motion-real", help="converted scenes")
    options = asking.parse_args(arguments)
    try:
        source = judge.folder()
        options.work.mkdir(parents=True, exist_ok=True)
        real = list(judge.requests(source, judge.prepared(source, options.work), OFFICIAL))
        with demur.connect(options.target, actor="logs") as client:
            report(follow(client, options.http, options.monitor, real, options.steps), _words, options.json)
    except (LookupError, ValueError, OSError, demur.DemurError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _words(moment: Moment) -> str:
    return f"{moment.scenes} scenes, {moment.units} units {moment.cities}, {moment.deferred} deferred"


if __name__ == "__main__":
    sys.exit(main())
