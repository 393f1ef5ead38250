"""What a service says about rows: predictions, their uncertainty, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._errors import ServiceFailure, wrong_argument
from demur._ids import PredictionIds
from demur._rows import FLOAT32
from demur.v1.common_pb2 import DECISION_ANSWER, Shift
from demur.v1.vessel_pb2 import VesselPredictResponse

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Calibrated multipliers of the predictive standard deviation, by level of a central interval."""

    levels: tuple[float, ...]
    multipliers: tuple[float, ...]

    def multiplier(self, level: float) -> float:
        """The multiplier of any level in (0, 1), linear between tabulated ones, Gaussian without a table.

        The true multiplier is convex in the level for the usual shapes of error, so that a line between two
        levels, or between the mean (level 0) and the first, errs on the wide side.

        Raises:
            InvalidInput: outside (0, 1), or above the highest calibrated level.
        """
        if not 0 < level < 1:
            raise wrong_argument("level", level, "(0, 1)")
        if not self.levels:
            return NormalDist().inv_cdf((1 + level) / 2)
        top = self.levels[-1]
        if level > top + 1e-6:  # levels travel as float32
            raise wrong_argument("level", level, f"(0, {top:g}], the calibrated levels")
        return float(np.interp(level, (0.0, *self.levels), (0.0, *self.multipliers)))


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Predictions for N rows, in the order of the question.

    Arrays are read-only views of the received message. Values are in kW, uncertainties in kW². A row
    that was deferred still carries its prediction, unless the service's policy withholds it (NaN).
    """

    mean: Floats
    """Expected value, float32 [N]."""
    total: Floats
    """Variance of the predictive: data plus knowledge uncertainty, float32 [N]."""
    data: Floats | None
    """Uncertainty that more knowledge would not remove, float32 [N]; None where it does not exist."""
    knowledge: Floats | None
    """Disagreement of the ensemble's members, float32 [N]; None where it does not exist."""
    uncertainty: Floats
    """The deferral measure, larger = less certain, float32 [N]."""
    threshold: float
    """What ``uncertainty`` was compared with; -inf where everything is deferred, NaN for a batch of a
    stream whose parts were decided under more than one policy."""
    measure: str
    """Name of the deferral measure."""
    decisions: NDArray[np.uint8]
    """Decision of each row, uint8 [N]: 1 answered, 2 deferred by policy, 3 deferred at the caller's wish."""
    shifts: NDArray[np.uint8]
    """Bits of the reasons for ``shifted``, uint8 [N]."""
    prediction_ids: PredictionIds
    """Identity of each prediction, as text."""
    model: str
    policy: str
    """Version of the policy that decided."""
    recorded: bool
    """Whether the decisions are durable in the service's ledger."""
    member_means: Floats | None = None
    """Mean of each member, float32 [M, N], on request."""
    member_variances: Floats | None = None
    """Variance of each member, float32 [M, N], on request."""
    intervals: Intervals = field(default=Intervals((), ()))

    def __len__(self) -> int:
        return len(self.decisions)

    @property
    def variance(self) -> Floats:
        """Variance of the predictive, float32 [N]; the same as ``total``."""
        return self.total

    @cached_property
    def deferred(self) -> NDArray[np.bool_]:
        """Rows that the service does not answer by itself, bool [N]."""
        return _frozen(self.decisions != DECISION_ANSWER)

    @property
    def answered(self) -> bool:
        """Whether no row was deferred."""
        return not self.deferred.any()

    @cached_property
    def shifted(self) -> NDArray[np.bool_]:
        """Rows unlike those that the model was trained on, bool [N]."""
        return _frozen(self.shifts != 0)

    @cached_property
    def shift_reasons(self) -> tuple[tuple[str, ...], ...]:
        """Why each row is shifted, such as ``outside_training_range``; empty where it is not."""
        return tuple(map(_words, self.shifts.tolist()))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Central interval that holds the truth with this probability on in-domain data: low, high, [N].

        Multipliers of the standard deviation come from calibration on in-domain data, or from the Gaussian
        where the service gave none.

        Raises:
            InvalidInput: the level is outside (0, 1), or above the highest calibrated one.
        """
        half = np.float32(self.intervals.multiplier(level)) * np.sqrt(self.total)
        return self.mean - half, self.mean + half

    def __repr__(self) -> str:
        n = len(self)
        deferred, shifted = np.count_nonzero(self.deferred), np.count_nonzero(self.shifted)
        return (
            f"<Answer: {n} row{'' if n == 1 else 's'}, {deferred} deferred, {shifted} shifted, "
            f"model {self.model!r}, policy {self.policy!r}>"
        )


def decode(response: VesselPredictResponse) -> Answer:
    """The answer in a response.

    Raises:
        ServiceFailure: arrays of the response differ in length.
    """
    power = response.power
    deferral = power.deferral
    ids = deferral.ids
    decisions = np.frombuffer(deferral.decisions, np.uint8)
    n = len(decisions)
    shifts = np.frombuffer(deferral.shifts, np.uint8)
    if ids.count != n or len(shifts) != n:
        raise ServiceFailure(f"{ids.count} ids and {len(shifts)} shifts for {n} decisions", code="malformed")
    first = ids.first
    return Answer(
        mean=_array(power.mean, n),
        total=_array(power.total, n),
        data=_optional(power.data, n),
        knowledge=_optional(power.knowledge, n),
        uncertainty=_array(deferral.uncertainty, n),
        threshold=deferral.threshold,
        measure=deferral.measure,
        decisions=decisions,
        shifts=shifts,
        prediction_ids=PredictionIds(((ids.epoch, range(first, first + n)),)),
        model=response.model,
        policy=deferral.policy,
        recorded=response.recorded,
        member_means=_members(power.member_means, n),
        member_variances=_members(power.member_variances, n),
        intervals=_intervals(tuple(power.intervals.levels), tuple(power.intervals.multipliers)),
    )


def join(parts: Sequence[Answer]) -> Answer:
    """One answer for consecutive parts of a batch.

    Raises:
        ServiceFailure: the model changed between the parts.
    """
    if len(parts) == 1:
        return parts[0]
    models = dict.fromkeys(part.model for part in parts)
    if len(models) > 1:
        raise ServiceFailure(f"the model changed within a batch: {', then '.join(models)}", code="model_changed")
    thresholds = {part.threshold for part in parts}

    def whole(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else _frozen(np.concatenate(arrays, axis=-1))

    return Answer(
        mean=whole("mean"),
        total=whole("total"),
        data=whole("data"),
        knowledge=whole("knowledge"),
        uncertainty=whole("uncertainty"),
        threshold=thresholds.pop() if len(thresholds) == 1 else float("nan"),
        measure=parts[0].measure,
        decisions=whole("decisions"),
        shifts=whole("shifts"),
        prediction_ids=PredictionIds.joined(part.prediction_ids for part in parts),
        model=parts[0].model,
        policy=", then ".join(dict.fromkeys(part.policy for part in parts)),
        recorded=all(part.recorded for part in parts),
        member_means=whole("member_means"),
        member_variances=whole("member_variances"),
        intervals=parts[0].intervals,
    )


def _array(packed: bytes, n: int) -> Floats:
    array: Floats = np.frombuffer(packed, FLOAT32)
    if len(array) != n:
        raise ServiceFailure(f"an array of {len(array)} values for {n} decisions", code="malformed")
    return array


def _optional(packed: bytes, n: int) -> Floats | None:
    return _array(packed, n) if packed else None


def _members(packed: bytes, n: int) -> Floats | None:
    if not packed:
        return None
    values: Floats = np.frombuffer(packed, FLOAT32)
    if n == 0 or len(values) % n:
        raise ServiceFailure(f"members' arrays of {len(values)} values for {n} decisions", code="malformed")
    return values.reshape(-1, n)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@lru_cache(maxsize=8)
def _intervals(levels: tuple[float, ...], multipliers: tuple[float, ...]) -> Intervals:
    if len(levels) != len(multipliers):
        raise ServiceFailure(f"{len(multipliers)} interval multipliers for {len(levels)} levels", code="malformed")
    return Intervals(levels, multipliers)


@lru_cache(maxsize=256)
def _words(bits: int) -> tuple[str, ...]:
    """Words of the set bits, as the contract names them; a bit it does not name is ``bit_<value>``."""
    return tuple(_REASONS.get(bit, f"bit_{bit}") for bit in (1 << place for place in range(8)) if bits & bit)


_REASONS = {value: name.removeprefix("SHIFT_").lower() for name, value in Shift.items() if value}
