"""What the answer of every head has: uncertainty, what was decided about each row, and the rows' identities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from demur._deferral_reason import deferral_reasons
from demur._errors import ServiceFailure
from demur._ids import PredictionIds
from demur._numbers import FLOAT32
from demur._shifted_inputs import ShiftedInputs, shifted_inputs
from demur._shifted_inputs import joined as joined_inputs
from demur.v1.common_pb2 import DECISION_ANSWER, CategoricalHead, Deferral, GaussianHead, Shift

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class HeadAnswer:
    """What a head says of N rows, in the order of the question, whatever the kind of its predictions.

    Arrays are read-only views of the received message. Uncertainties are in the unit of the head's measure:
    variances in the square of the head's unit, entropies in nats. A row that was deferred still carries its
    prediction, unless the service's policy withholds it (NaN).
    """

    total: Floats
    """Uncertainty of the predictive: data plus knowledge uncertainty, float32 [N]."""
    data: Floats | None
    """Uncertainty that more knowledge would not remove, float32 [N]; None where it does not exist."""
    knowledge: Floats | None
    """Disagreement of the ensemble's members, float32 [N]; None where it does not exist."""
    uncertainty: Floats
    """The deferral measure, larger = less certain, float32 [N]; infinite where the prediction is impossible."""
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
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    policy: str
    """Version of the policy that decided."""
    recorded: bool
    """Whether the decisions are durable in the service's ledger."""
    shifted_inputs: ShiftedInputs
    """Inputs that make each row unlike training: at most three a row, worst first; empty where it is not shifted by its
    inputs."""

    def __len__(self) -> int:
        return len(self.decisions)

    @cached_property
    def deferred(self) -> NDArray[np.bool_]:
        """Rows that the service does not answer by itself, bool [N]."""
        return frozen(self.decisions != DECISION_ANSWER)

    @property
    def answered(self) -> bool:
        """Whether no row was deferred."""
        return not self.deferred.any()

    @cached_property
    def shifted(self) -> NDArray[np.bool_]:
        """Rows unlike those that the model was trained on, bool [N]."""
        return frozen(self.shifts != 0)

    @cached_property
    def shift_reasons(self) -> tuple[tuple[str, ...], ...]:
        """Why each row is shifted, such as ``outside_training_range`` or ``impossible_prediction``; empty where it is
        not."""
        return tuple(map(reasons, self.shifts.tolist()))

    @cached_property
    def reasons(self) -> NDArray[np.str_]:
        """Why each row was deferred, text [N]; empty where it was answered.

        ``above_threshold``, ``shifted`` (the policy defers what is shifted), ``caller`` (``defer_above``),
        ``not_a_number``, ``no_threshold`` (everything is deferred), or ``unknown`` for a batch under several policies.
        """
        return frozen(deferral_reasons(self.decisions, self.uncertainty, self.threshold, self.shifts))

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Columns of one value a row, as ``pandas.DataFrame`` and ``polars.DataFrame`` take them.

        Predictions, ``total``, ``data`` and ``knowledge`` (left out where they do not exist), ``uncertainty``,
        ``deferred``, ``shifted``, ``prediction_id``, ``reason`` (of the deferral), ``shift_reasons`` (words, blanks
        between them) and ``shifted_inputs`` (in words, semicolons between them), empty where there is none. Members'
        predictions are not among them.
        """
        columns = dict(self._predictions())
        for name in ("total", "data", "knowledge", "uncertainty", "deferred", "shifted"):
            if (values := getattr(self, name)) is not None:
                columns[name] = values
        columns["prediction_id"] = np.array(list(self.prediction_ids), np.str_)
        columns["reason"] = self.reasons
        bits, places = np.unique(self.shifts, return_inverse=True)
        columns["shift_reasons"] = np.array([" ".join(reasons(bit)) for bit in bits.tolist()], np.str_)[places]
        columns["shifted_inputs"] = np.array(["; ".join(map(str, inputs)) for inputs in self.shifted_inputs], np.str_)
        return columns

    def _predictions(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Names and columns of what the head predicts, each [N]."""
        raise NotImplementedError

    @property
    def outcome(self) -> str:
        """How many rows were deferred and shifted, in words."""
        deferred, shifted = np.count_nonzero(self.deferred), np.count_nonzero(self.shifted)
        return f"{deferred} deferred, {shifted} shifted"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {counted(len(self))}, {self.outcome}, model {self.model!r}, "
            f"policy {self.policy!r}>"
        )


class Response(Protocol):
    """What a message says of all its heads together."""

    model: str
    profile: str
    recorded: bool

    @property
    def shifted_inputs(self) -> Any:
        """``demur.v1.ShiftedInputs``."""
        ...


def decided(head: GaussianHead | CategoricalHead, response: Response) -> dict[str, Any]:
    """The fields of :class:`HeadAnswer` in a head's message.

    Args:
        response: the message that the head is in.

    Raises:
        ServiceFailure: arrays of the message differ in length.
    """
    judged = verdicts(head.deferral)
    n = len(judged["decisions"])
    return judged | {
        "total": array(head.total, n),
        "data": optional(head.data, n),
        "knowledge": optional(head.knowledge, n),
        "model": response.model,
        "profile": response.profile,
        "recorded": response.recorded,
        "shifted_inputs": shifted_inputs(response.shifted_inputs, n),
    }


def verdicts(deferral: Deferral) -> dict[str, Any]:
    """What was decided about N units, and who they are: the fields of :class:`HeadAnswer` of these names.

    Raises:
        ServiceFailure: arrays of the message differ in length.
    """
    ids = deferral.ids
    decisions = np.frombuffer(deferral.decisions, np.uint8)
    n = len(decisions)
    shifts = np.frombuffer(deferral.shifts, np.uint8)
    if ids.count != n or len(shifts) != n:
        raise ServiceFailure(f"{ids.count} ids and {len(shifts)} shifts for {n} decisions", code="malformed")
    return {
        "uncertainty": array(deferral.uncertainty, n),
        "threshold": deferral.threshold,
        "measure": deferral.measure,
        "decisions": decisions,
        "shifts": shifts,
        "prediction_ids": PredictionIds(((ids.epoch, range(ids.first, ids.first + n)),)),
        "policy": deferral.policy,
    }


def joined(parts: Sequence[HeadAnswer]) -> dict[str, Any]:
    """The fields of :class:`HeadAnswer` for consecutive parts of a batch."""
    thresholds = {part.threshold for part in parts}
    names = ("total", "data", "knowledge", "uncertainty", "decisions", "shifts")
    return {name: whole(parts, name) for name in names} | {
        "threshold": thresholds.pop() if len(thresholds) == 1 else float("nan"),
        "measure": parts[0].measure,
        "prediction_ids": PredictionIds.joined(part.prediction_ids for part in parts),
        **one_origin(parts),
        "policy": ", then ".join(dict.fromkeys(part.policy for part in parts)),
        "recorded": all(part.recorded for part in parts),
        "shifted_inputs": joined_inputs([part.shifted_inputs for part in parts]),
    }


class Origin(Protocol):
    """An answer, or a part of one."""

    @property
    def model(self) -> str: ...
    @property
    def profile(self) -> str: ...


def one_origin(parts: Sequence[Origin]) -> dict[str, str]:
    """The ``model`` that answered all parts and the numeric ``profile`` that it ran under, by these names.

    Raises:
        ServiceFailure: one of them changed between the parts.
    """
    return {
        "model": _one("model", (part.model for part in parts)),
        "profile": _one("profile", (part.profile for part in parts)),
    }


def whole(parts: Sequence[HeadAnswer], name: str, axis: int = 0) -> Any:
    """An array of all parts, rows along the axis; None where it does not exist."""
    arrays = [getattr(part, name) for part in parts]
    return None if arrays[0] is None else frozen(np.concatenate(arrays, axis=axis))


def array(packed: bytes, n: int) -> Floats:
    """So many numbers, float32 [n].

    Raises:
        ServiceFailure: there are more or fewer.
    """
    if len(packed) != n * FLOAT32.itemsize:
        size = len(packed) / FLOAT32.itemsize
        raise ServiceFailure(f"an array of {size:g} values where the rows make {n}", code="malformed")
    return np.frombuffer(packed, FLOAT32)


def optional(packed: bytes, n: int) -> Floats | None:
    """As :func:`array`; None where nothing was sent."""
    return array(packed, n) if packed else None


def of_members(packed: bytes, *row: int) -> Floats | None:
    """What each member says of rows of this shape, float32 [M, *row]; None where nothing was sent.

    Raises:
        ServiceFailure: it is not so many numbers for each member.
    """
    if not packed:
        return None
    values: Floats = np.frombuffer(packed, FLOAT32)
    size = int(np.prod(row))
    if size == 0 or len(values) % size:
        raise ServiceFailure(f"members' arrays of {len(values)} values for {row[0]} decisions", code="malformed")
    return values.reshape(-1, *row)


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """The array itself, read-only from now on."""
    values.flags.writeable = False
    return values


def counted(rows: int) -> str:
    """``1 row`` or ``7 rows``."""
    return f"{rows} row{'' if rows == 1 else 's'}"


def _one(what: str, values: Iterator[str]) -> str:
    found = list(dict.fromkeys(values))
    if len(found) > 1:
        raise ServiceFailure(f"the {what} changed within a batch: {', then '.join(found)}", code=f"{what}_changed")
    return found[0]


@lru_cache(maxsize=256)
def reasons(bits: int) -> tuple[str, ...]:
    """Words of the set bits, as the contract names them; a bit it does not name is ``bit_<value>``."""
    return tuple(_REASONS.get(bit, f"bit_{bit}") for bit in (1 << place for place in range(8)) if bits & bit)


def shift_bit(reason: str) -> int:
    """The bit of a word that :func:`reasons` gives."""
    named = {word: bit for bit, word in _REASONS.items()}
    return named[reason] if reason in named else int(reason.removeprefix("bit_"))


_REASONS = {value: name.removeprefix("SHIFT_").lower() for name, value in Shift.items() if value}
