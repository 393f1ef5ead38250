"""Common part of tasks whose items are rows of a declared schema: expand and run."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.familiarity import NO_DEPARTURES, Departures, Familiarity
from models.inputs.check import CheckResult, possible
from models.inputs.kernel import input_check
from models.predictive import Categorical, Gaussian, Predictives
from services.ledger.contract import Portion
from services.policy.decision import Shift, Verdict
from services.request.contract import Description, Done, Progress, RowBatch, RowExecutor, Units, Work
from services.request.validate import Column, Rows, check, named_rows, packed_rows, refusal
from services.runtime.errors import DemurError

BYTES_PER_ROW_FACTOR = 12
"""Memory of a row in flight, as a multiple of input and member values: both, outputs, statistics, encoded answer."""


_OUTSIDE, _UNLIKELY = np.uint8(Shift.OUTSIDE_TRAINING_RANGE), np.uint8(Shift.UNLIKELY_INPUTS)
_BY_INPUTS = _OUTSIDE | _UNLIKELY | np.uint8(Shift.KNOWLEDGE_ABOVE_REFERENCE)

MemberOutputs = Mapping[str, tuple[NDArray[np.float32], ...]]
"""Head name to member outputs: means and variances [M, n], or probabilities [M, C, n]; empty unless requested."""
Statistics = Callable[[tuple[NDArray[np.float32], ...]], tuple[Predictives, MemberOutputs]]


@dataclass(frozen=True, slots=True)
class Packed:
    """Row-major little-endian float32 in the declared order."""

    row_count: int
    values: bytes
    schema_hash: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """Columns by name, in any order."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class IntervalsOption:
    """Request for the tables of intervals, which are constants of the calibration in force."""

    requested: bool = False
    known: int = 0
    """Digest of the tables that the caller has, which the answer then leaves out; 0 for none."""


NO_INTERVALS = IntervalsOption()


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """Rows to predict; ``members`` requests the outputs of each member, too."""

    form: Packed | Named
    members: bool = False
    intervals: IntervalsOption = NO_INTERVALS


@dataclass(frozen=True, slots=True)
class RowsAnswered:
    """Contents of an answer to rows, beside predictions and decisions."""

    members: MemberOutputs
    departing: Callable[[NDArray[np.intp]], Departures]
    """Function that returns the inputs that make some of the rows unlike the training data."""
    intervals: IntervalsOption = NO_INTERVALS

    def departures(self, verdicts: Mapping[str, Verdict]) -> Departures:
        """Return the inputs that make shifted rows unlike the training data, at most three per row, worst first."""
        first, *others = (verdict.shifts for verdict in verdicts.values())
        shifts = reduce(np.bitwise_or, others, first)
        if not np.bitwise_or.reduce(shifts):
            return NO_DEPARTURES
        return self.departing(np.flatnonzero(shifts & _BY_INPUTS))

    def part(self, start: int, end: int, departures: Departures, intervals: IntervalsOption) -> "RowsAnswered":
        """Return the contents for the request of rows [start, end); ``departures`` are those of all rows."""
        members = {head: tuple(array[..., start:end] for array in arrays) for head, arrays in self.members.items()}
        of_part = departures.part(start, end)
        return RowsAnswered(members, lambda flagged: of_part, intervals)


@dataclass(frozen=True, slots=True)
class _Payload:
    rows: Rows
    members: bool
    intervals: tuple[IntervalsOption, ...]
    """Options of the requests that the rows belong to, in their order."""


class RowTask:
    """Task on rows; a concrete task passes executors and a function that interprets their arrays."""

    payload_type = "application/x-demur-row-f32"
    """Media type of a row: little-endian float32, in the order of the schema."""
    payload_kept = True

    def __init__(
        self,
        description: Description,
        executor: RowExecutor,
        member_executor: RowExecutor,
        statistics: Statistics,
        *,
        member_values: int,
        familiarity: Familiarity | None = None,
    ) -> None:
        """Initialise a task from its executors.

        Args:
            familiarity: density of the training inputs; None if the artefact does not have it.
            member_executor: returns the arrays of ``executor``, followed by arrays per member [M, n].
            statistics: interprets the arrays of either executor (last axis: rows).
            member_values: number of values per row in all arrays per member.
        """
        assert description.schema is not None
        self.name = description.task
        self.heads = description.heads
        self.schema = description.schema
        self._executor = executor
        self._member_executor = member_executor
        self._statistics = statistics
        self._member_values = member_values
        lower = np.array(description.trained_lower or (-np.inf,) * len(self.schema), np.float32)
        upper = np.array(description.trained_upper or (np.inf,) * len(self.schema), np.float32)
        self._check = input_check(self.schema, lower, upper, familiarity)
        self._familiarity = familiarity
        self._max_rows = description.max_rows

    def expand(self, request: RowsRequest) -> Units[_Payload]:
        """Validate rows; each row is an item.

        Raises:
            InvalidInput, TooLarge: see ``services.request.validate``.
        """
        rows = self._rows(request.form)
        result = self._check.run(rows)
        if result.refused:
            check(self.schema, rows)
        return self._units(rows, result, request.members, ((0, len(rows)),), (request.intervals,))

    def _rows(self, form: Packed | Named) -> Rows:
        if isinstance(form, Packed):
            return packed_rows(self.schema, form.row_count, form.values, form.schema_hash, self._max_rows)
        return named_rows(self.schema, form.columns, self._max_rows)

    def _units(
        self,
        rows: Rows,
        result: CheckResult,
        members: bool,
        requests: Sequence[tuple[int, int]],
        intervals: tuple[IntervalsOption, ...],
    ) -> Units[_Payload]:
        """Return the units of checked rows.

        Args:
            result: of the check of the rows.
            requests: first and end row of each request.
            intervals: option of each request.
        """
        unseen = result.outside
        shifts = np.zeros(len(rows), np.uint8) if unseen is None else unseen * _OUTSIDE
        if self._familiarity is not None and result.scores is not None:
            unlikely = self._familiarity.unlikely(result.scores, requests)
            if np.logical_or.reduce(unlikely):
                shifts[unlikely if unseen is None else unlikely & ~unseen] = _UNLIKELY
        member_bytes = len(rows) * self._member_values * rows.itemsize if members else 0
        return Units(
            payload=_Payload(rows, members, intervals),
            count=len(rows),
            seconds=self._chosen(members).seconds(len(rows)),
            nbytes=(rows.nbytes + member_bytes) * BYTES_PER_ROW_FACTOR,
            shifts=shifts,
        )

    def run(self, units: Units[_Payload]) -> Work:
        """Yield passes of at most a quantum of rows, then one ``Done`` for all rows."""
        rows = units.payload.rows
        executor = self._chosen(units.payload.members)
        parts: list[tuple[NDArray[np.float32], ...]] = []
        for start in range(0, len(rows), executor.quantum_rows):
            parts.append((yield RowBatch(executor, rows[start : start + executor.quantum_rows])))
            if start + executor.quantum_rows < len(rows):
                yield Progress((start + executor.quantum_rows) / len(rows), "rows")
        yield self.finished(units, _join(parts))

    def finished(self, units: Units[_Payload], arrays: tuple[NDArray[np.float32], ...]) -> Done:
        """Return the event of all rows, from the executor's arrays for them."""
        predictives, members = self._statistics(arrays)
        departing = partial(self._check.departures, units.payload.rows)
        return Done(0, units.count, predictives, RowsAnswered(members, departing, units.payload.intervals[0]))

    # Several requests in one pass

    def expected_seconds(self, request: RowsRequest) -> float:
        """Return the expected duration of the pass of a request; infinite if it needs several."""
        form, executor = request.form, self._chosen(request.members)
        if isinstance(form, Packed):
            rows = form.row_count
        else:  # the longest, as columns that are not the model's may have any length
            rows = max((len(column.values) for column in form.columns), default=0)
        return executor.seconds(rows) if 0 <= rows <= executor.quantum_rows else math.inf

    def alike(self, request: RowsRequest) -> bool:
        """Return what requests in one pass have in common: whether they ask for the outputs of members."""
        return request.members

    def join(
        self, requests: Sequence[RowsRequest]
    ) -> tuple[Units[_Payload] | None, list[tuple[int, int] | DemurError]]:
        """Validate requests; return the units of all rows, and the first and end row of each request, or its error."""
        places: list[tuple[int, int] | DemurError] = []
        accepted: list[Rows] = []
        start = 0
        for request in requests:
            try:
                rows = self._rows(request.form)
            except DemurError as error:
                places.append(error)
                continue
            accepted.append(rows)
            places.append((start, start + len(rows)))
            start += len(rows)
        if not accepted:
            return None, places
        joined = accepted[0] if len(accepted) == 1 else np.concatenate(accepted)
        result = self._check.run(joined)
        if result.refused and (fine := possible(self.schema, joined)) is not None:
            joined, places = self._without_refused(joined, fine, places)
            if not len(joined):
                return None, places
            result = self._check.run(joined)
        kept = [
            (place, request.intervals)
            for place, request in zip(places, requests, strict=True)
            if isinstance(place, tuple)
        ]
        bounds, intervals = [place for place, _ in kept], tuple(option for _, option in kept)
        return self._units(joined, result, requests[0].members, bounds, intervals), places

    def _without_refused(
        self, joined: Rows, fine: NDArray[np.bool_], places: Sequence[tuple[int, int] | DemurError]
    ) -> tuple[Rows, list[tuple[int, int] | DemurError]]:
        """Return the rows of requests without an impossible value, and the places of all requests among them.

        Args:
            fine: result of ``possible``.
        """
        kept: list[Rows] = [joined[:0]]
        moved: list[tuple[int, int] | DemurError] = []
        end = 0
        for place in places:
            if isinstance(place, tuple):
                rows, fine_rows = joined[slice(*place)], fine[slice(*place)]
                if fine_rows.all():
                    kept.append(rows)
                    place = (end, end + len(rows))
                    end += len(rows)
                else:
                    place = refusal(self.schema, rows, fine_rows, int(np.argmin(fine_rows.all(axis=1))))
            moved.append(place)
        return np.concatenate(kept), moved

    def batch(self, units: Units[_Payload]) -> RowBatch:
        """Return the one quantum of some units."""
        return RowBatch(self._chosen(units.payload.members), units.payload.rows)

    def split(self, units: Units[_Payload], portion: Portion, places: Sequence[tuple[int, int]]) -> Sequence[Portion]:
        """Return the portions of requests, given by their first and end rows."""
        if len(places) == 1:
            return (portion,)
        answered: RowsAnswered = portion.payload
        departures = answered.departures(portion.verdicts)
        parts = []
        for (start, end), intervals in zip(places, units.payload.intervals, strict=True):
            rows = slice(start, end)
            predictives = {head: of_head.part(rows) for head, of_head in portion.predictives.items()}  # type: ignore[attr-defined]
            parts.append(portion.part(start, end, predictives, answered.part(start, end, departures, intervals)))
        return parts

    def collapse(self, units: Units[_Payload], portion: Portion) -> Portion:
        """Return the portion, which is the answer to rows; its payload is ``RowsAnswered``."""
        return portion

    def payload(self, units: Units[_Payload], items: NDArray[np.intp]) -> list[bytes]:
        """Return rows as bytes, for reviewers."""
        rows = np.ascontiguousarray(units.payload.rows[items], "<f4")
        width = rows.shape[1] * rows.itemsize
        packed = rows.tobytes()
        return [packed[start : start + width] for start in range(0, len(packed), width)]

    def _chosen(self, members: bool) -> RowExecutor:
        return self._member_executor if members else self._executor


def shown(predictive: Gaussian | Categorical, verdict: Verdict) -> tuple[Any, Any, Any, Any]:
    """Return prediction (means [n], or probabilities [n, C]), and total, data and knowledge uncertainty [n], as the
    policy shows them to the caller: NaN if withheld, None if they do not exist.
    """
    statistics: tuple[Any, Any, Any, Any]
    if isinstance(predictive, Gaussian):
        statistics = (predictive.mean, predictive.tvar, predictive.mvar, predictive.varm)
    else:
        knowledge = None if predictive.expected_entropy is None else uncertainty.score(predictive, "mi")
        total = uncertainty.score(predictive, "entropy")
        statistics = (predictive.probabilities, total, predictive.expected_entropy, knowledge)
    hidden = verdict.hidden
    if not hidden.any():
        return statistics
    return tuple(None if s is None else _without(s, hidden) for s in statistics)  # type: ignore[return-value]


def _without(values: NDArray[Any], hidden: NDArray[np.bool_]) -> NDArray[Any]:
    return np.where(hidden if values.ndim == 1 else hidden[:, None], np.float32(np.nan), values)


def _join(parts: list[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
