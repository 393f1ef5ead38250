"""Answers about the motion of vehicles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from demur._decisions import DecidedUnit, decode_unit, one_origin
from demur._errors import DemurError, InvalidInput, from_detail
from demur._ids import PredictionIds
from demur._messages import FLOAT64, Floats, PackedArray, from_message, packed_arrays
from demur._motion.frame import Agent, Pose
from demur.v1 import motion_pb2 as wire

STEP_SECONDS = 0.2
"""Time between positions of a trajectory, and before the first."""
SUMMARY_SECONDS = (1.0, 3.0, 5.0)
"""Moments of a trajectory in a summary."""

_ARRAYS = (
    PackedArray("trajectories", ("modes", "steps", 2), optional=True),
    PackedArray("scene_trajectories", ("modes", "steps", 2), FLOAT64, optional=True),
    PackedArray("confidences", ("modes",), optional=True),
    PackedArray("scores", ("modes",), optional=True),
    PackedArray("total", ("steps",), optional=True),
    PackedArray("data", ("steps",), optional=True),
    PackedArray("knowledge", ("steps",), optional=True),
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MotionAnswer(DecidedUnit):
    """The next seconds of one vehicle with their uncertainty, and the decision.

    D trajectories of T steps, 0.2 s apart, the first 0.2 s from now. Arrays are read-only. A request that was deferred
    still carries its prediction, unless the service's policy withholds it: then all arrays are None.
    """

    item: int
    """Index of the request among those of the call."""
    agent: Agent
    """The vehicle; its pose is the current one, None where it is not known."""
    trajectories: Floats | None
    """Positions in the agent's frame (x ahead, y to the left), the most confident trajectory first, m,
    float32 [D, T, 2]."""
    scene_trajectories: NDArray[np.float64] | None
    """The same in the frame of the scene, m, float64 [D, T, 2]; None without a pose."""
    confidences: Floats | None
    """Confidence of each trajectory, float32 [D]; they sum to one."""
    scores: Floats | None
    """Scores of which confidences are the softmax, nats, float32 [D]."""
    total: Floats | None
    """Variance of the position at each step over all samples, both axes together, m², float32 [T]."""
    data: Floats | None
    """Mean variance of one member's samples, m², float32 [T]; None for single models."""
    knowledge: Floats | None
    """Variance of the members' means: ``total`` less ``data``, m², float32 [T]; None for single models."""
    unseen_seconds: float | None
    """Time since the vehicle was last seen, s; None if it is seen now."""

    @property
    def best(self) -> Floats | None:
        """The most confident trajectory, m in the agent's frame, float32 [T, 2]."""
        return None if self.trajectories is None else self.trajectories[0]

    @property
    def times(self) -> NDArray[np.float64]:
        """Time of each step, s from now, float64 [T]; empty where the prediction is withheld."""
        steps = 0 if self.trajectories is None else self.trajectories.shape[1]
        return np.arange(1, steps + 1) * STEP_SECONDS

    def to_agent_frame(self, points: Any) -> NDArray[np.float64]:
        """Transform points of the scene's frame to the agent's, in which labels are given.

        Args:
            points: m, [T, 2]; None or NaN where a step is not known, which stays NaN.

        Returns:
            m, float64 [T, 2].

        Raises:
            InvalidInput: they are not positions, or the pose of the agent is not known.
        """
        return self._pose().to_agent_frame(points)

    def to_scene(self, points: Any) -> NDArray[np.float64]:
        """Transform points of the agent's frame to the scene's; the inverse of :meth:`to_agent_frame`."""
        return self._pose().to_scene(points)

    @property
    def outcome(self) -> str:
        """Prediction and decision as text, such as ``41.2 m ahead, 0.3 m left in 5 s with 0.62, answered``."""
        if self.best is None or self.confidences is None or not len(self.best):
            return f"{self.verdict}, prediction withheld"
        ahead, left = self.best[-1]
        place = f"{_distance(ahead, 'ahead', 'behind')}, {_distance(left, 'left', 'right')}"
        return f"{place} in {self.times[-1]:g} s with {self.confidences[0]:.2f}, {self.verdict}"

    def summary(self) -> str:
        """Return a summary of some lines: decision, trajectories, spread, remarks."""
        return self._summary(self._title, "requests", self._prediction_lines())

    def _prediction_lines(self) -> Iterator[str]:
        if self.unseen_seconds is not None:
            yield f"  last seen {self.unseen_seconds:.1f} s ago"
        if self.trajectories is None or self.confidences is None:
            yield "  prediction withheld"
            return
        shown = [(second, int(np.argmin(abs(self.times - second)))) for second in SUMMARY_SECONDS]
        heads = "".join(f"{f'{second:g} s':>16}" for second, _ in shown)
        yield f"   #  confidence       {heads}   m ahead, m to the left"
        trajectories = zip(self.trajectories, self.confidences, strict=True)
        for number, (trajectory, confidence) in enumerate(trajectories, 1):
            places = "".join(f"{f'{trajectory[step, 0]:.1f}, {trajectory[step, 1]:.1f}':>16}" for _, step in shown)
            yield f"  {number:>2}  {confidence:>10.2f}       {places}"
        spreads = {"total": self.total, "data": self.data, "knowledge": self.knowledge}
        for name, values in spreads.items():
            if values is not None:
                yield f"  {name + ' spread':<21}" + "".join(f"{values[step]:>16.2f}" for _, step in shown) + "   m²"

    def __repr__(self) -> str:
        return f"<MotionAnswer: {self._title}, {self.outcome}, model {self.model!r}>"

    @property
    def _title(self) -> str:
        """The request as text, such as ``scene 3dbc, track 4308``; ``request 2`` where neither is known."""
        agent = self.agent
        if not agent.scene_id and not agent.track_id:
            return f"request {self.item}"
        scene = f"scene {agent.scene_id}, " if agent.scene_id else ""
        return f"{scene}track {agent.track_id}"

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
    """Request that could not be predicted, while others of its scene could."""

    item: int
    """Index of the request among those of the call."""
    track_id: int
    error: DemurError


@dataclass(frozen=True, eq=False, repr=False)
class MotionAnswers(Sequence[MotionAnswer]):
    """Answers to the requests of one call: a sequence of those that were predicted, in their order; and failures."""

    answers: tuple[MotionAnswer, ...]
    failures: tuple[MotionFailure, ...]
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    scene_id: str
    """Identifier of the scene; empty for maps."""
    submission: bytes
    """The answers as an official ``Submission``, serialised, if requested; several joined are one file."""

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
        """True if no request was deferred and none failed."""
        return not self.failures and all(answer.answered for answer in self.answers)

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each prediction, as ``commit`` and ``erase`` take them."""
        return PredictionIds.joined(answer.prediction_ids for answer in self.answers)

    def check(self) -> MotionAnswers:
        """Return itself if no request failed.

        Raises:
            DemurError: of the first request that failed.
        """
        for failure in self.failures:
            raise failure.error
        return self

    @property
    def outcome(self) -> str:
        """Numbers of requests as text, such as ``3 requests, 1 deferred, 0 shifted, 1 failed``."""
        count = len(self.answers) + len(self.failures)
        deferred, shifted = sum(answer.deferred for answer in self), sum(answer.shifted for answer in self)
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{count} request{'' if count == 1 else 's'}, {deferred} deferred, {shifted} shifted{failed}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the submission as plain values that JSON takes."""
        failures = [
            {"item": failure.item, "track_id": failure.track_id, "error": str(failure.error)}
            for failure in self.failures
        ]
        return {
            "model": self.model,
            "profile": self.profile,
            "scene_id": self.scene_id,
            "answers": [answer.to_dict() for answer in self.answers],
            "failures": failures,
        }

    def summary(self) -> str:
        """Return the summary of each request, and a line for each that failed."""
        failed = [f"track {failure.track_id}: failed: {failure.error}" for failure in self.failures]
        return "\n".join([*(answer.summary() for answer in self.answers), *failed])

    def __repr__(self) -> str:
        scene = f"{self.scene_id!r}, " if self.scene_id else ""
        return f"<MotionAnswers: {scene}{self.outcome}, model {self.model!r}>"


def decode(response: wire.MotionPredictResponse, first: int = 0) -> MotionAnswers:
    """Return the answers of a response.

    Args:
        first: index of the response's first request among those of the call.

    Raises:
        ServiceFailure: an answer does not hold one decision, or arrays of other sizes than it says.
    """
    failures = (
        MotionFailure(first + failure.item, failure.track_id, from_detail(failure.error))
        for failure in response.failures
    )
    return from_message(
        MotionAnswers,
        response,
        answers=tuple(_answer(answer, response, first) for answer in response.answers),
        failures=tuple(failures),
    )


def joined(parts: Sequence[MotionAnswers]) -> MotionAnswers:
    """Join the answers to consecutive parts of a call.

    Raises:
        ServiceFailure: the model or its numeric profile changed between the parts.
    """
    if len(parts) == 1:
        return parts[0]
    return MotionAnswers(
        answers=tuple(answer for part in parts for answer in part.answers),
        failures=tuple(failure for part in parts for failure in part.failures),
        **one_origin(parts),
        scene_id=parts[0].scene_id,
        submission=b"".join(part.submission for part in parts),
    )


def _answer(message: wire.MotionAnswer, response: wire.MotionPredictResponse, first: int) -> MotionAnswer:
    pose = from_message(Pose, message.agent.pose) if message.agent.HasField("pose") else None
    return from_message(
        MotionAnswer,
        message,
        **decode_unit(message, "request"),
        **packed_arrays(message, _ARRAYS, modes=message.modes, steps=message.steps),
        model=response.model,
        profile=response.profile,
        item=first + message.item,
        agent=from_message(Agent, message.agent, pose=pose),
    )


def _distance(metres: float, positive: str, negative: str) -> str:
    return f"{abs(metres):.1f} m {positive if metres >= 0 else negative}"
