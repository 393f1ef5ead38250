"""What is said of one unit that was decided by itself, whatever was predicted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from demur._deferral_reason import deferral_reasons
from demur._errors import ServiceFailure
from demur._head_answer import reasons, shift_bit, verdicts
from demur._ids import PredictionIds
from demur.v1 import common_pb2 as common

Decision: TypeAlias = Literal["answer", "defer", "caller_deferred"]

_DECISIONS: dict[int, Decision] = {
    common.DECISION_ANSWER: "answer",
    common.DECISION_DEFER: "defer",
    common.DECISION_CALLER_DEFERRED: "caller_deferred",
}
_NUMBERS = {word: number for number, word in _DECISIONS.items()}
_WORDS: dict[Decision, str] = {
    "answer": "answered",
    "defer": "deferred",
    "caller_deferred": "deferred at the caller's wish",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """What about an input looks unlike those that the model was made for."""

    code: str
    """A word for programs, such as ``looks_raw`` or ``thick_slices``."""
    message: str
    value: float
    """What was measured, in ``unit``."""
    unit: str
    lower: float
    """Training inputs lay between this and ``upper``."""
    upper: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecidedUnit:
    """The decision about one unit, and what it was made of."""

    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    recorded: bool
    """Whether the decision is durable in the service's ledger."""
    decision: Decision
    """``answer``, ``defer`` by the policy, or ``caller_deferred`` at the caller's wish."""
    uncertainty: float
    """The deferral measure, larger = less certain; NaN is deferred."""
    threshold: float
    """What ``uncertainty`` was compared with; -inf where everything is deferred."""
    measure: str
    """Name of the deferral measure."""
    policy: str
    """Version of the policy that decided."""
    prediction_id: str
    """Identity of the prediction: labels are given with it."""
    shift_reasons: tuple[str, ...]
    """Why the input is unlike those that the model was trained on; empty where it is not."""
    remarks: tuple[Remark, ...]

    @property
    def deferred(self) -> bool:
        """Whether the service leaves the unit to somebody else."""
        return self.decision != "answer"

    @property
    def answered(self) -> bool:
        """The opposite of ``deferred``."""
        return not self.deferred

    @property
    def shifted(self) -> bool:
        """Whether the input is unlike those that the model was trained on."""
        return bool(self.shift_reasons)

    @property
    def reason(self) -> str:
        """Why the unit was deferred, a word as in ``HeadAnswer.reasons``; empty where it was answered."""
        bits = sum(shift_bit(word) for word in self.shift_reasons)
        (word,) = deferral_reasons(
            np.array([_NUMBERS[self.decision]], np.uint8),
            np.array([self.uncertainty], np.float32),
            self.threshold,
            np.array([bits], np.uint8),
        )
        return str(word)

    @property
    def verdict(self) -> str:
        """The decision in words, such as ``answered``."""
        return _WORDS[self.decision]

    @property
    def comparison(self) -> str:
        """The uncertainty against its threshold, such as ``request_uncertainty 12.3 <= 17.9``."""
        sign = "<=" if self.uncertainty <= self.threshold else ">" if self.uncertainty > self.threshold else "against"
        return f"{self.measure} {self.uncertainty:.4g} {sign} {self.threshold:.4g}"

    @property
    def origin(self) -> str:
        """Prediction, model and profile in words: ``prediction 5-0, model lesion:1, profile cpu-fp32-stacked``."""
        profile = f", profile {self.profile}" if self.profile else ""
        recorded = "" if self.recorded else ", not recorded"
        return f"prediction {self.prediction_id}, model {self.model}{profile}{recorded}"

    @property
    def prediction_ids(self) -> PredictionIds:
        """The identity as a sequence of one, as ``commit`` and ``erase`` take it."""
        epoch, _, number = self.prediction_id.partition("-")
        return PredictionIds(((int(epoch, 16), range(int(number), int(number) + 1)),))


def decided_unit(deferral: common.Deferral, remarks: Iterable[Any], what: str) -> dict[str, Any]:
    """The fields of :class:`DecidedUnit` in a message, less model and record.

    Args:
        what: the unit in a word, such as ``scan``.

    Raises:
        ServiceFailure: it does not hold one decision about one unit.
    """
    verdict = verdicts(deferral)
    if len(verdict["decisions"]) != 1:
        raise ServiceFailure(f"{len(verdict['decisions'])} decisions about one {what}", code="malformed")
    number = int(verdict["decisions"][0])
    if number not in _DECISIONS:
        raise ServiceFailure(f"the {what}'s decision is {number}", code="malformed")
    return {
        "decision": _DECISIONS[number],
        "uncertainty": float(verdict["uncertainty"][0]),
        "threshold": verdict["threshold"],
        "measure": verdict["measure"],
        "policy": verdict["policy"],
        "prediction_id": verdict["prediction_ids"][0],
        "shift_reasons": reasons(int(verdict["shifts"][0])),
        "remarks": tuple(Remark(one.code, one.message, one.value, one.unit, one.lower, one.upper) for one in remarks),
    }


def plain(value: Any) -> Any:
    """Values of answers as JSON takes them: mappings by field, lists, numbers, text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, tuple) else value
