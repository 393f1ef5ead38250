"""What the service says of prediction requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from demur import _motion_text
from demur._decided import DecidedUnit, decided_unit, plain
from demur._errors import DemurError, InvalidInput, ServiceFailure, from_detail
from demur._head_answer import Floats, one_origin, optional
from demur._ids import PredictionIds
from demur._motion_frame import Agent, Pose
from demur.v1 import motion_pb2 as wire

STEP_SECONDS = 0.2
"""Between positions of a trajectory, and before the first."""
FLOAT64 = np.dtype("<f8")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MotionAnswer(DecidedUnit):
    """The next seconds of one vehicle, how uncertain they are, and whether the service answers for them.

    D trajectories of T steps, 0.2 s apart, the first 0.2 s from now. Arrays are read-only. A request that was deferred
    still carries its prediction, unless the service's policy withholds it: then all arrays are None.
    """

    item: int
    """Index of the request in the question."""
    agent: Agent
    """Whose future it is; its pose is that now, None where it is not known."""
    trajectories: Floats | None
    """Positions in the agent's frame (x ahead, y to the left), the most confident trajectory first, m,
    float32 [D, T, 2]."""
    scene_trajectories: NDArray[np.float64] | None
    """The same in the frame of the scene, m, float64 [D, T, 2]; None without a pose."""
    confidences: Floats | None
    """Of each trajectory, float32 [D]; they sum to one."""
    scores: Floats | None
    """What confidences are the softmax of, nats, float32 [D]."""
    total: Floats | None
    """Variance of the position at each step over all that was imagined, both axes together, m², float32 [T]."""
    data: Floats | None
    """Of it what every member sees: the mean variance of one member's samples, m², float32 [T]; None for single
    models."""
    knowledge: Floats | None
    """Of it what members disagree about: ``total`` less ``data``, m², float32 [T]; None for single models."""
    unseen_seconds: float | None
    """How long ago the vehicle was last seen, s; None where that is now."""

    @property
    def best(self) -> Floats | None:
        """The most confident trajectory, m in the agent's frame, float32 [T, 2]."""
        return None if self.trajectories is None else self.trajectories[0]

    @property
    def times(self) -> NDArray[np.float64]:
        """When each step is, s from now, float64 [T]; empty where the prediction is withheld."""
        steps = 0 if self.trajectories is None else self.trajectories.shape[1]
        return np.arange(1, steps + 1) * STEP_SECONDS

    def to_agent_frame(self, points: Any) -> NDArray[np.float64]:
        """Points of the scene's frame in the agent's, in which labels are given.

        Args:
            points: m, [T, 2]; None or NaN where a step is not known, which stays NaN.

        Returns:
            m, float64 [T, 2].

        Raises:
            InvalidInput: they are no positions, or the pose of the agent is not known.
        """
        return self._pose().to_agent_frame(points)

    def to_scene(self, points: Any) -> NDArray[np.float64]:
        """Points of the agent's frame in the scene's; the inverse of :meth:`to_agent_frame`."""
        return self._pose().to_scene(points)

    @property
    def outcome(self) -> str:
        """What was found and decided, in words."""
        return _motion_text.outcome(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON takes; arrays are lists."""
        found = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return found | {"deferred": self.deferred, "reason": self.reason, "shifted": self.shifted}

    def summary(self) -> str:
        """All that matters, in some lines of text."""
        return _motion_text.text(self)

    def __repr__(self) -> str:
        return f"<MotionAnswer: {_motion_text.named(self)}, {self.outcome}, model {self.model!r}>"

    def _pose(self) -> Pose:
        if self.agent.pose is None:
            raise InvalidInput(
                "the pose of the agent is not known: ask with the scene, or name it in the agents of maps",
                code="no_pose",
                field="pose",
            )
        return self.agent.pose


@dataclass(frozen=True, slots=True)
class MotionFailure:
    """A request that could not be predicted, while others of its scene could."""

    item: int
    """Index of the request in the question."""
    track_id: int
    error: DemurError


@dataclass(frozen=True, eq=False, repr=False)
class MotionAnswers(Sequence[MotionAnswer]):
    """What became of the requests of one question: a sequence of those that were predicted, in their order."""

    answers: tuple[MotionAnswer, ...]
    failures: tuple[MotionFailure, ...]
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    scene_id: str
    """Of a scene; empty for maps."""
    submission: bytes
    """The answers as an official ``Submission``, serialised, where it was asked for; several joined are one file."""

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, index: int) -> MotionAnswer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MotionAnswer, ...]: ...
    def __getitem__(self, index: int | slice) -> MotionAnswer | tuple[MotionAnswer, ...]:
        return self.answers[index]

    def __iter__(self) -> Iterator[MotionAnswer]:
        return iter(self.answers)

    @property
    def answered(self) -> bool:
        """Whether no request was deferred and none failed."""
        return not self.failures and all(one.answered for one in self.answers)

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each prediction, as ``commit`` and ``erase`` take them."""
        return PredictionIds.joined(one.prediction_ids for one in self.answers)

    def check(self) -> MotionAnswers:
        """Itself, if no request failed.

        Raises:
            DemurError: of the first that did.
        """
        for one in self.failures:
            raise one.error
        return self

    @property
    def outcome(self) -> str:
        """How many requests were predicted, deferred, shifted and failed, in words."""
        return _motion_text.outcome_of_all(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the submission as plain values that JSON takes."""
        failures = [{"item": one.item, "track_id": one.track_id, "error": str(one.error)} for one in self.failures]
        return {
            "model": self.model,
            "profile": self.profile,
            "scene_id": self.scene_id,
            "answers": [one.to_dict() for one in self.answers],
            "failures": failures,
        }

    def summary(self) -> str:
        """All that matters of each request, in some lines of text."""
        return _motion_text.text_of_all(self)

    def __repr__(self) -> str:
        scene = f"{self.scene_id!r}, " if self.scene_id else ""
        return f"<MotionAnswers: {scene}{self.outcome}, model {self.model!r}>"


def decode(response: wire.MotionPredictResponse, first: int = 0) -> MotionAnswers:
    """The answers in a response to requests of which the first has this index in the question.

    Raises:
        ServiceFailure: an answer does not hold one decision, or arrays of other sizes than it says.
    """
    return MotionAnswers(
        answers=tuple(_answer(one, response, first) for one in response.answers),
        failures=tuple(
            MotionFailure(first + one.item, one.track_id, from_detail(one.error)) for one in response.failures
        ),
        model=response.model,
        profile=response.profile,
        scene_id=response.scene_id,
        submission=response.submission,
    )


def joined(parts: Sequence[MotionAnswers]) -> MotionAnswers:
    """One answer for consecutive parts of a question.

    Raises:
        ServiceFailure: the model or its numeric profile changed between the parts.
    """
    if len(parts) == 1:
        return parts[0]
    return MotionAnswers(
        answers=tuple(one for part in parts for one in part.answers),
        failures=tuple(one for part in parts for one in part.failures),
        **one_origin(parts),
        scene_id=parts[0].scene_id,
        submission=b"".join(part.submission for part in parts),
    )


def _answer(message: wire.MotionAnswer, response: wire.MotionPredictResponse, first: int) -> MotionAnswer:
    modes, steps = message.modes, message.steps
    trajectories = optional(message.trajectories, modes * steps * 2)
    return MotionAnswer(
        **decided_unit(message.deferral, message.remarks, "request"),
        model=response.model,
        profile=response.profile,
        recorded=message.recorded,
        item=first + message.item,
        agent=_agent(message.agent),
        trajectories=None if trajectories is None else trajectories.reshape(modes, steps, 2),
        scene_trajectories=_in_scene(message.scene_trajectories, modes, steps),
        confidences=optional(message.confidences, modes),
        scores=optional(message.scores, modes),
        total=optional(message.total, steps),
        data=optional(message.data, steps),
        knowledge=optional(message.knowledge, steps),
        unseen_seconds=message.unseen_seconds if message.HasField("unseen_seconds") else None,
    )


def _in_scene(packed: bytes, modes: int, steps: int) -> NDArray[np.float64] | None:
    if not packed:
        return None
    if len(packed) != modes * steps * 2 * FLOAT64.itemsize:
        raise ServiceFailure(f"{len(packed)} bytes of {modes} trajectories of {steps} steps", code="malformed")
    return np.frombuffer(packed, FLOAT64).reshape(modes, steps, 2)


def _agent(message: wire.MotionAgent) -> Agent:
    pose = Pose(message.pose.x, message.pose.y, message.pose.yaw) if message.HasField("pose") else None
    return Agent(message.scene_id, message.track_id, pose)
