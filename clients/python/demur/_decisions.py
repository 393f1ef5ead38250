"""Decisions about units: their names, the reasons of deferrals, and their decoding from messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from demur._errors import ServiceFailure
from demur._ids import PredictionIds
from demur._messages import UINT8, PackedArray, from_message, malformed, packed_arrays, plain
from demur.v1 import common_pb2 as common

CALLER = "caller"
"""The uncertainty is within the policy's threshold, but above the caller's stricter one."""
NOT_A_NUMBER = "not_a_number"
"""The uncertainty is NaN."""
NO_THRESHOLD = "no_threshold"
"""No threshold is in force (-inf), so that everything is deferred."""
ABOVE_THRESHOLD = "above_threshold"
"""The uncertainty exceeds the policy's threshold."""
SHIFTED = "shifted"
"""The uncertainty is within the threshold, but the policy defers shifted units; the shift reasons tell more."""
UNKNOWN = "unknown"
"""The answer does not determine it, such as for a batch that was decided under more than one threshold."""
IMPOSSIBLE = "impossible_prediction"
"""The target cannot have the predicted value: deferred under any policy."""

Decision: TypeAlias = Literal["answer", "defer", "caller_deferred"]

_DECISIONS: dict[int, Decision] = {
    common.DECISION_ANSWER: "answer",
    common.DECISION_DEFER: "defer",
    common.DECISION_CALLER_DEFERRED: "caller_deferred",
}
_DECISION_NUMBERS = {name: number for number, name in _DECISIONS.items()}
_VERDICTS: dict[Decision, str] = {
    "answer": "answered",
    "defer": "deferred",
    "caller_deferred": "deferred at the caller's wish",
}
_SHIFT_REASONS = {value: name.removeprefix("SHIFT_").lower() for name, value in common.Shift.items() if value}
_SHIFT_BITS = {name: value for value, name in _SHIFT_REASONS.items()}

DEFERRAL_ARRAYS = (
    PackedArray("uncertainty", ("units",)),
    PackedArray("decisions", ("units",), UINT8),
    PackedArray("shifts", ("units",), UINT8),
)


@dataclass(frozen=True, slots=True)
class Remark:
    """Property of an input that is unlike the inputs that the model was made for."""

    code: str
    """Identifier for programs, such as ``looks_raw`` or ``thick_slices``."""
    message: str
    value: float
    """Measured value, in ``unit``."""
    unit: str
    lower: float
    """Training inputs lay between this and ``upper``."""
    upper: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecidedUnit:
    """The decision about one unit, and what it is based on."""

    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    recorded: bool
    """True if the decision is durable in the service's ledger."""
    decision: Decision
    """``answer``, ``defer`` by the policy, or ``caller_deferred`` at the caller's wish."""
    uncertainty: float
    """The deferral measure, larger = less certain; NaN is deferred."""
    threshold: float
    """Threshold that ``uncertainty`` was compared with; -inf where everything is deferred."""
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
        """True if the service leaves the unit to somebody else."""
        return self.decision != "answer"

    @property
    def answered(self) -> bool:
        """The opposite of ``deferred``."""
        return not self.deferred

    @property
    def shifted(self) -> bool:
        """True if the input is unlike those that the model was trained on."""
        return bool(self.shift_reasons)

    @property
    def reason(self) -> str:
        """Why the unit was deferred, a name as in ``HeadAnswer.reasons``; empty where it was answered."""
        (reason,) = deferral_reasons(
            np.array([_DECISION_NUMBERS[self.decision]], np.uint8),
            np.array([self.uncertainty], np.float32),
            self.threshold,
            np.array([sum(map(_shift_bit, self.shift_reasons))], np.uint8),
        )
        return str(reason)

    @property
    def verdict(self) -> str:
        """The decision as text, such as ``answered``."""
        return _VERDICTS[self.decision]

    @property
    def comparison(self) -> str:
        """The uncertainty against its threshold, such as ``request_uncertainty 12.3 <= 17.9``."""
        sign = "<=" if self.uncertainty <= self.threshold else ">" if self.uncertainty > self.threshold else "against"
        return f"{self.measure} {self.uncertainty:.4g} {sign} {self.threshold:.4g}"

    @property
    def origin(self) -> str:
        """Prediction, model and profile as text: ``prediction 5-0, model lesion:1, profile cpu-fp32-stacked``."""
        profile = f", profile {self.profile}" if self.profile else ""
        recorded = "" if self.recorded else ", not recorded"
        return f"prediction {self.prediction_id}, model {self.model}{profile}{recorded}"

    @property
    def prediction_ids(self) -> PredictionIds:
        """The identity as a sequence of length 1, as ``commit`` and ``erase`` take it."""
        epoch, _, number = self.prediction_id.partition("-")
        return PredictionIds(((int(epoch, 16), range(int(number), int(number) + 1)),))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON takes; arrays are lists."""
        values = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return values | {"deferred": self.deferred, "reason": self.reason, "shifted": self.shifted}

    def _summary(self, title: str, units: str, prediction: Iterable[str]) -> str:
        """Return a summary of some lines: decision, the lines of the prediction, remarks, origin.

        Args:
            title: name of the unit.
            units: plural noun of the task's units, such as ``scans``.
            prediction: lines that describe the prediction.
        """
        lines = [f"{title}: {self.verdict}", f"  {self.comparison}, policy {self.policy}"]
        if self.shifted:
            lines.append(f"  unlike the training {units}: {', '.join(self.shift_reasons)}")
        remarks = (f"  {remark.code}: {remark.message}" for remark in self.remarks)
        return "\n".join([*lines, *prediction, *remarks, f"  {self.origin}"])


def deferral_reasons(
    decisions: NDArray[np.uint8], uncertainty: NDArray[np.float32], threshold: float, shifts: NDArray[np.uint8]
) -> NDArray[np.str_]:
    """Return the reason of each unit [N], a name of this module; empty for units that were answered.

    If several apply, the first of: impossible prediction, caller's threshold, NaN, no threshold, above the threshold,
    shifted.

    Args:
        decisions: values of ``Decision`` [N].
        uncertainty: the deferral measure [N].
        threshold: the policy's threshold; -inf if everything is deferred, NaN if unknown.
        shifts: bits of ``Shift`` [N].
    """
    conditions = [
        decisions == common.DECISION_ANSWER,
        (shifts & np.uint8(common.SHIFT_IMPOSSIBLE_PREDICTION)) != 0,
        decisions == common.DECISION_CALLER_DEFERRED,
        np.isnan(uncertainty),
        np.full(len(decisions), threshold == -np.inf),
        uncertainty > threshold,
        (shifts != 0) & (not np.isnan(threshold)),
    ]
    names = ["", IMPOSSIBLE, CALLER, NOT_A_NUMBER, NO_THRESHOLD, ABOVE_THRESHOLD, SHIFTED]
    return np.select(conditions, names, UNKNOWN)


@lru_cache(maxsize=256)
def shift_reasons(bits: int) -> tuple[str, ...]:
    """Return the names of the set bits, as in the contract; a bit that it does not name is ``bit_<value>``."""
    return tuple(_SHIFT_REASONS.get(bit, f"bit_{bit}") for bit in (1 << place for place in range(8)) if bits & bit)


def decode_deferral(deferral: common.Deferral) -> dict[str, Any]:
    """Return decisions about N units and their identities: the fields of ``HeadAnswer`` with these names.

    Raises:
        ServiceFailure: arrays of the message differ in length.
    """
    ids, n = deferral.ids, len(deferral.decisions)
    if ids.count != n:
        raise malformed(f"{ids.count} ids for {n} decisions")
    return packed_arrays(deferral, DEFERRAL_ARRAYS, units=n) | {
        "threshold": deferral.threshold,
        "measure": deferral.measure,
        "prediction_ids": PredictionIds(((ids.epoch, range(ids.first, ids.first + n)),)),
        "policy": deferral.policy,
    }


def decode_unit(message: Any, unit: str) -> dict[str, Any]:
    """Return the fields of :class:`DecidedUnit` but for model, profile and record.

    Args:
        message: the answer about one unit; it has ``deferral`` and ``remarks``.
        unit: noun for the unit, such as ``scan``.

    Raises:
        ServiceFailure: it does not hold one decision about one unit.
    """
    fields = decode_deferral(message.deferral)
    if len(fields["decisions"]) != 1:
        raise malformed(f"{len(fields['decisions'])} decisions about one {unit}")
    number = int(fields["decisions"][0])
    if number not in _DECISIONS:
        raise malformed(f"the {unit}'s decision is {number}")
    return {
        "decision": _DECISIONS[number],
        "uncertainty": float(fields["uncertainty"][0]),
        "threshold": fields["threshold"],
        "measure": fields["measure"],
        "policy": fields["policy"],
        "prediction_id": fields["prediction_ids"][0],
        "shift_reasons": shift_reasons(int(fields["shifts"][0])),
        "remarks": tuple(from_message(Remark, remark) for remark in message.remarks),
    }


class Origin(Protocol):
    """An answer, or a part of an answer."""

    @property
    def model(self) -> str: ...
    @property
    def profile(self) -> str: ...


def one_origin(parts: Sequence[Origin]) -> dict[str, str]:
    """Return the ``model`` that answered all parts and its numeric ``profile``, by these names.

    Raises:
        ServiceFailure: one of them changed between the parts.
    """
    origin = {}
    for field in ("model", "profile"):
        names = list(dict.fromkeys(getattr(part, field) for part in parts))
        if len(names) > 1:
            raise ServiceFailure(
                f"the {field} changed within a batch: {', then '.join(names)}", code=f"{field}_changed"
            )
        origin[field] = names[0]
    return origin


def _shift_bit(reason: str) -> int:
    """Return the bit of a name that :func:`shift_reasons` gives."""
    return _SHIFT_BITS[reason] if reason in _SHIFT_BITS else int(reason.removeprefix("bit_"))
