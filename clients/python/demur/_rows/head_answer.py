"""The part that answers of all heads share: uncertainty, decisions and identities of rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from demur._decisions import DEFERRAL_ARRAYS, decode_deferral, deferral_reasons, one_origin, shift_reasons
from demur._ids import PredictionIds
from demur._messages import Floats, PackedArray, frozen, packed_arrays
from demur._rows.shifted_inputs import ShiftedInputs, join_shifted_inputs, shifted_inputs
from demur.v1.common_pb2 import DECISION_ANSWER

_ARRAYS = (
    PackedArray("total", ("units",)),
    PackedArray("data", ("units",), optional=True),
    PackedArray("knowledge", ("units",), optional=True),
)


@dataclass(frozen=True, eq=False, repr=False)
class HeadAnswer:
    """Answer of one head for N rows, in the order of the request, for any kind of predictions.

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
    """Threshold that ``uncertainty`` was compared with; -inf where everything is deferred, NaN for a batch of a
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
    """True if the decisions are durable in the service's ledger."""
    shifted_inputs: ShiftedInputs
    """Inputs that make each row unlike training: at most three a row, worst first; empty where it is not shifted by its
    inputs."""

    def __len__(self) -> int:
        return len(self.decisions)

    @cached_property
    def deferred(self) -> NDArray[np.bool_]:
        """Rows that the service leaves to somebody else, bool [N]."""
        return frozen(self.decisions != DECISION_ANSWER)

    @property
    def answered(self) -> bool:
        """True if no row was deferred."""
        return not self.deferred.any()

    @cached_property
    def shifted(self) -> NDArray[np.bool_]:
        """Rows unlike those that the model was trained on, bool [N]."""
        return frozen(self.shifts != 0)

    @cached_property
    def shift_reasons(self) -> tuple[tuple[str, ...], ...]:
        """Why each row is shifted, such as ``outside_training_range`` or ``impossible_prediction``; empty where it is
        not."""
        return tuple(map(shift_reasons, self.shifts.tolist()))

    @cached_property
    def reasons(self) -> NDArray[np.str_]:
        """Why each row was deferred, text [N]; empty where it was answered.

        ``above_threshold``, ``shifted`` (the policy defers what is shifted), ``caller`` (``defer_above``),
        ``not_a_number``, ``no_threshold`` (everything is deferred), or ``unknown`` for a batch under several policies.
        """
        return frozen(deferral_reasons(self.decisions, self.uncertainty, self.threshold, self.shifts))

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return columns of one value a row, as ``pandas.DataFrame`` and ``polars.DataFrame`` take them.

        Predictions, ``total``, ``data`` and ``knowledge`` (left out where they do not exist), ``uncertainty``,
        ``deferred``, ``shifted``, ``prediction_id``, ``reason`` (of the deferral), ``shift_reasons`` (names, blanks
        between them) and ``shifted_inputs`` (as text, semicolons between them), empty where there is none. Members'
        predictions are left out.
        """
        columns = dict(self._predictions())
        for name in ("total", "data", "knowledge", "uncertainty", "deferred", "shifted"):
            if (values := getattr(self, name)) is not None:
                columns[name] = values
        columns["prediction_id"] = np.array(list(self.prediction_ids), np.str_)
        columns["reason"] = self.reasons
        bits, places = np.unique(self.shifts, return_inverse=True)
        columns["shift_reasons"] = np.array([" ".join(shift_reasons(bit)) for bit in bits.tolist()], np.str_)[places]
        columns["shifted_inputs"] = np.array(["; ".join(map(str, inputs)) for inputs in self.shifted_inputs], np.str_)
        return columns

    def _predictions(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield names and columns of the head's predictions, each [N]."""
        raise NotImplementedError

    @property
    def outcome(self) -> str:
        """Numbers of rows as text, such as ``2 deferred, 0 shifted``."""
        return f"{np.count_nonzero(self.deferred)} deferred, {np.count_nonzero(self.shifted)} shifted"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {counted(len(self))}, {self.outcome}, model {self.model!r}, "
            f"policy {self.policy!r}>"
        )


H = TypeVar("H", bound=HeadAnswer)


def decode_head(
    kind: type[H], head: Any, response: Any, arrays: Iterable[PackedArray], sizes: dict[str, int], **values: Any
) -> H:
    """Return the answer of one head.

    Args:
        kind: class of the answer.
        head: the head's message.
        response: the message that the head is in, with model, profile, record and shifted inputs.
        arrays: arrays of the head's predictions; the axis of rows is ``units``.
        sizes: of the other axes.
        values: further fields of the answer.

    Raises:
        ServiceFailure: arrays of the message differ in length.
    """
    deferral = decode_deferral(head.deferral)
    n = len(deferral["decisions"])
    return kind(
        **deferral,
        **packed_arrays(head, (*_ARRAYS, *arrays), units=n, **sizes),
        model=response.model,
        profile=response.profile,
        recorded=response.recorded,
        shifted_inputs=shifted_inputs(response.shifted_inputs, n),
        **values,
    )


def join_heads(parts: Sequence[H], arrays: Iterable[PackedArray]) -> H:
    """Join the answers of one head to consecutive parts of a batch.

    Args:
        arrays: arrays of the head's predictions; they are joined along the axis ``units``.

    Raises:
        ServiceFailure: the model or its numeric profile changed between the parts.
    """
    if len(parts) == 1:
        return parts[0]
    thresholds = {part.threshold for part in parts}
    joined: dict[str, Any] = {array.name: _join_array(parts, array) for array in (*DEFERRAL_ARRAYS, *_ARRAYS, *arrays)}
    return replace(
        parts[0],
        **joined | one_origin(parts),
        threshold=thresholds.pop() if len(thresholds) == 1 else float("nan"),
        prediction_ids=PredictionIds.joined(part.prediction_ids for part in parts),
        policy=", then ".join(dict.fromkeys(part.policy for part in parts)),
        recorded=all(part.recorded for part in parts),
        shifted_inputs=join_shifted_inputs([part.shifted_inputs for part in parts]),
    )


def counted(rows: int) -> str:
    """Return ``1 row`` or ``7 rows``."""
    return f"{rows} row{'' if rows == 1 else 's'}"


def _join_array(parts: Sequence[HeadAnswer], array: PackedArray) -> NDArray[Any] | None:
    values = [getattr(part, array.name) for part in parts]
    return None if values[0] is None else frozen(np.concatenate(values, axis=array.shape.index("units")))
