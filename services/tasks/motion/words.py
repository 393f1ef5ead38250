"""What is said of decided requests, in plain values and arrays, for both protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.input_warning import Remark
from models.predictive import Trajectories
from models.tasks.motion.data import submission_file
from models.tasks.motion.inference.frame import FARTHEST, to_scene
from models.tasks.motion.inference.scenes import STEP_S
from models.tasks.motion.spec import TRAJECTORIES
from services.ledger.contract import Portion
from services.request.work import ItemFailed
from services.tasks.motion.inputs import Subject
from services.tasks.motion.task import Asked, Found

HEAD = TRAJECTORIES.name


@dataclass(frozen=True)
class Said:
    """One decided request."""

    item: int
    """Index in the call."""
    portion: Portion
    index: int
    """In the portion."""
    subject: Subject | None
    arrays: Mapping[str, NDArray[Any]]
    """Of ``MotionAnswer`` by name, without what does not exist; none where the policy withholds the prediction."""
    remarks: tuple[Remark, ...]

    @property
    def unseen_seconds(self) -> float | None:
        """Since the vehicle was seen; None: it is seen now, or nobody knows."""
        steps = 0 if self.subject is None else self.subject.unseen_steps
        return round(steps * STEP_S, 3) if steps else None


@dataclass(frozen=True)
class Answered:
    """All that became of a call."""

    asked: Asked
    model: str
    profile: str
    purpose: str
    portions: tuple[Portion, ...]
    failures: tuple[ItemFailed, ...]

    def __iter__(self) -> Iterator[Said]:
        for portion in self.portions:
            for index in range(portion.count):
                yield _said(portion, index)


def answered(answers: list[Portion | ItemFailed]) -> Answered:
    """What became of a call.

    Raises:
        DemurError: nothing could be predicted: why the first request could not.
    """
    portions = tuple(sorted((one for one in answers if isinstance(one, Portion)), key=lambda one: one.first))
    failures = tuple(sorted((one for one in answers if isinstance(one, ItemFailed)), key=lambda one: one.item))
    if not portions:
        raise failures[0].error
    first = portions[0]
    return Answered(first.payload.asked, first.model, first.profile, first.purpose, portions, failures)


def submission(found: Answered) -> bytes:
    """The official submission of these answers, without what is withheld, nowhere on Earth or of an unnamed scene."""
    return b"".join(_submitted(portion, found.asked) for portion in found.portions)


def _said(portion: Portion, index: int) -> Said:
    found: Found = portion.payload
    item = portion.first + index
    subject = found.asked.subjects[item]
    hidden = bool(portion.verdicts[HEAD].hidden[index])
    arrays = {} if hidden else _arrays(_statistics(portion), index, subject)
    return Said(item, portion, index, subject, arrays, found.remarks[index])


def _arrays(statistics: Trajectories, index: int, subject: Subject | None) -> dict[str, NDArray[Any]]:
    plans = statistics.plans[index]
    known: dict[str, Any] = {
        "trajectories": plans,
        "confidences": statistics.weights[index],
        "scores": None if statistics.scores is None else statistics.scores[index],
        **{
            name: None if (array := getattr(statistics, name)) is None else array[index]
            for name in ("total", "data", "knowledge")
        },
    }
    if subject is not None and (pose := subject.pose) is not None:
        known["scene_trajectories"] = to_scene(plans, pose.x, pose.y, pose.yaw)
    return {name: array for name, array in known.items() if array is not None}


def _submitted(portion: Portion, asked: Asked) -> bytes:
    statistics, verdict = _statistics(portion), portion.verdicts[HEAD]
    whose = [asked.subjects[portion.first + index] for index in range(portion.count)]
    near = (np.abs(statistics.plans) < FARTHEST).all(axis=(1, 2, 3))
    told = near & ~verdict.hidden & ~np.isnan(verdict.uncertainty)
    rows = [index for index in np.flatnonzero(told) if (one := whose[index]) is not None and one.scene_id]
    subjects = [one for index in rows if (one := whose[index]) is not None]
    return submission_file.encoded(
        [one.scene_id for one in subjects],
        [one.track_id for one in subjects],
        statistics.plans[rows],
        statistics.weights[rows],
        verdict.uncertainty[rows],
        verdict.shifts[rows] != 0,
    )


def _statistics(portion: Portion) -> Trajectories:
    found = portion.predictives[HEAD]
    assert isinstance(found, Trajectories)
    return found
