"""Conversion of decided prediction requests to records of ``services.tasks.motion.answer``, for all protocols."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.predictive import Trajectories
from models.tasks.motion.data import submission_file
from models.tasks.motion.inference.grid import FARTHEST, to_scene
from models.tasks.motion.inference.scenes import STEP_S
from services.ledger.contract import Portion
from services.request.contract import ItemFailed
from services.tasks.motion.answer import HEAD
from services.tasks.motion.inputs import Subject
from services.tasks.motion.task import CallData, ItemsResult

_OPTIONAL = ("scores", "total", "data", "knowledge")


@dataclass(frozen=True)
class Answered:
    """Portions and failures of one call, in the order of its requests."""

    call_data: CallData
    portions: tuple[Portion, ...]
    failures: tuple[ItemFailed, ...]

    def requests(self) -> Iterator[dict[str, Any]]:
        """Yield a record of each decided request."""
        for portion in self.portions:
            for index in range(portion.count):
                yield _request(portion, index)

    def record(self) -> dict[str, Any]:
        """Return the record of the call, without its submission."""
        first = self.portions[0]
        return {
            "model": first.model,
            "profile": first.profile,
            "purpose": first.purpose,
            "scene_id": self.call_data.scene_id,
            "answers": list(self.requests()),
            "failures": [
                {"item": failed.item, "track_id": self.call_data.tracks[failed.item], "error": failed.error}
                for failed in self.failures
            ],
        }


def answered(answers: list[Portion | ItemFailed]) -> Answered:
    """Return the portions and failures of a call, in the order of its requests.

    Raises:
        DemurError: nothing could be predicted: the error of the first request.
    """
    portions = sorted((part for part in answers if isinstance(part, Portion)), key=lambda portion: portion.first)
    failures = sorted(
        (failure for failure in answers if isinstance(failure, ItemFailed)), key=lambda failed: failed.item
    )
    if not portions:
        raise failures[0].error
    return Answered(portions[0].payload.call_data, tuple(portions), tuple(failures))


def submission(call: Answered) -> bytes:
    """Return the official submission of these answers, without predictions that are withheld or have impossible
    positions, and without those of unnamed scenes.
    """
    return b"".join(_submitted(portion, call.call_data) for portion in call.portions)


def shapes(portion: Portion) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the existing arrays of a request."""
    statistics = statistics_of(portion)
    arrays = {"trajectories": statistics.plans, "scene_trajectories": statistics.plans}
    arrays |= {"confidences": statistics.weights}
    arrays |= {name: array for name in _OPTIONAL if (array := getattr(statistics, name)) is not None}
    return {name: array.shape[1:] for name, array in arrays.items()}


def statistics_of(portion: Portion) -> Trajectories:
    """Return the statistics of the portion's requests."""
    statistics = portion.predictives[HEAD]
    assert isinstance(statistics, Trajectories)
    return statistics


def _request(portion: Portion, index: int) -> dict[str, Any]:
    """Return the record of a request; without its arrays if the policy withholds the prediction."""
    payload: ItemsResult = portion.payload
    item = portion.first + index
    subject = payload.call_data.subjects[item]
    record = {
        "item": item,
        "deferral": (portion, HEAD, index),
        "recorded": portion.recorded,
        "remarks": [vars(warning) for warning in payload.remarks[index]],
    }
    if subject is not None:
        record["agent"] = _agent(subject)
        if subject.unseen_steps:
            record["unseen_seconds"] = round(subject.unseen_steps * STEP_S, 3)
    if portion.verdicts[HEAD].hidden[index]:
        return record
    return record | _arrays(statistics_of(portion), index, subject)


def _agent(subject: Subject) -> dict[str, Any]:
    agent: dict[str, Any] = {"scene_id": subject.scene_id, "track_id": subject.track_id}
    if (pose := subject.pose) is not None:
        agent["pose"] = {"x": pose.x, "y": pose.y, "yaw": pose.yaw}
    return agent


def _arrays(statistics: Trajectories, index: int, subject: Subject | None) -> dict[str, Any]:
    plans = statistics.plans[index]
    modes, steps = plans.shape[:2]
    arrays = {"trajectories": plans, "confidences": statistics.weights[index], "modes": modes, "steps": steps}
    for name in _OPTIONAL:
        if (array := getattr(statistics, name)) is not None:
            arrays[name] = array[index]
    if subject is not None and (pose := subject.pose) is not None:
        arrays["scene_trajectories"] = to_scene(plans, pose.x, pose.y, pose.yaw)
    return arrays


def _submitted(portion: Portion, call_data: CallData) -> bytes:
    statistics, verdict = statistics_of(portion), portion.verdicts[HEAD]
    of_portion = [call_data.subjects[portion.first + index] for index in range(portion.count)]
    near = (np.abs(statistics.plans) < FARTHEST).all(axis=(1, 2, 3))
    shown = near & ~verdict.hidden & ~np.isnan(verdict.uncertainty)
    rows = [row for row in np.flatnonzero(shown) if (subject := of_portion[row]) is not None and subject.scene_id]
    subjects = [subject for row in rows if (subject := of_portion[row]) is not None]
    return submission_file.encoded(
        [subject.scene_id for subject in subjects],
        [subject.track_id for subject in subjects],
        statistics.plans[rows],
        statistics.weights[rows],
        verdict.uncertainty[rows],
        verdict.shifts[rows] != 0,
    )
