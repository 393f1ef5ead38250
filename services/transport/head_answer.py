"""Fields of answers about rows: the outputs of each kind of head, and the inputs that are unlike the training data."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from models.calibration import IntervalTable
from models.head import Head
from models.predictive import Categorical, Gaussian
from services.ledger.contract import Portion
from services.request.row_task import shown
from services.transport.answer import DEFERRAL, AnswerField

_ROWS = ("rows",)
_OF_ENSEMBLES: dict[str, Any] = {"missing": "null", "needs": "ensemble"}
_MEMBERS: dict[str, Any] = {"missing": "absent", "default": False}
INTERVALS = AnswerField(
    "intervals",
    dtype="record",
    fields=(
        AnswerField("levels", "Coverages, 0 to 1.", shape=("levels",), finite=True, tensor=""),
        AnswerField("multipliers", "Standard deviations.", shape=("levels",), finite=True, tensor=""),
    ),
    prepared=True,
    missing="absent",
    tensor="",
    title="Intervals",
)
"""Central interval at levels[i]: mean ± multipliers[i] · sqrt(total)."""
SHIFTED_INPUTS = AnswerField(
    "shifted_inputs",
    dtype="record",
    prepared=True,
    title="ShiftedInputs",
    fields=(
        AnswerField("row", "Rows of the request.", "", "uint32", ("inputs",)),
        AnswerField("column", "Names of the columns.", "", "string", ("inputs",)),
        AnswerField("unit", "Of values, ranges and expected.", "", "string", ("inputs",)),
        AnswerField("value", "Values of the request.", shape=("inputs",)),
        AnswerField("trained_lower", "Lower end of the range seen in training; null: not known.", shape=("inputs",)),
        AnswerField("trained_upper", "Upper end of the range seen in training; null: not known.", shape=("inputs",)),
        AnswerField(
            "deviations",
            "Distance of a value from the range, in standard deviations of training, negative below it. Of a value "
            "within the range: distance from `expected`, in conditional standard deviations.",
            shape=("inputs",),
        ),
        AnswerField(
            "expected",
            "Value predicted from the row's other inputs; null of a value outside the range.",
            shape=("inputs",),
        ),
    ),
)
"""Inputs that make shifted rows unlike training data, at most three per row, worst first: equally long columns."""


def fields(head: Head) -> tuple[AnswerField, ...]:
    """Return the fields of a head's answer; tensors and JSON spell units differently."""
    return _FIELDS[head.kind](head)


def answered(heads: tuple[Head, ...]) -> tuple[AnswerField, ...]:
    """Return a field for each head with an answer of this form."""
    return tuple(
        AnswerField(head.name, dtype="record", fields=fields(head), title=f"{head.name.title()}Answer")
        for head in heads
        if head.kind in _FIELDS
    )


def _gaussian(head: Head) -> tuple[AnswerField, ...]:
    unit, square = head.unit, f"{head.unit}²"
    squared: dict[str, Any] = {"unit": head.error_unit, "x_unit": square, "shape": _ROWS}
    members = ("members", "rows")
    return (
        AnswerField(
            "mean",
            "Mean of the ensemble's predictive; NaN, in JSON null, where the policy withholds it.",
            unit,
            shape=_ROWS,
            x_unit=unit,
            tensor="prediction",
        ),
        AnswerField(
            "variance", "Total variance; the same as total.", shape=_ROWS, x_unit=square, message=False, tensor=""
        ),
        AnswerField("total", "Total uncertainty: variance of the mixture.", **squared),
        AnswerField("data", "Data uncertainty: mean of the members' variances.", **squared),
        AnswerField("knowledge", "Knowledge uncertainty: variance of the members' means.", **squared, **_OF_ENSEMBLES),
        INTERVALS,
        AnswerField("member_means", "Means of each member.", unit, shape=members, x_unit=unit, **_MEMBERS),
        AnswerField(
            "member_variances",
            "Variances of each member.",
            **squared | {"shape": members},
            **_MEMBERS,
        ),
        DEFERRAL,
    )


def _categorical(head: Head) -> tuple[AnswerField, ...]:
    names = "; ".join(f"{number} {name}" for number, name in enumerate(head.class_names))
    classes: int | str = head.classes or "classes"
    entropy: dict[str, Any] = {"unit": "nats", "x_unit": "nat", "shape": _ROWS}
    return (
        AnswerField(
            "class",
            f"The most probable class: {names}; null, in tensors -1, where the policy withholds it.",
            dtype="int32",
            shape=_ROWS,
            message=False,
        ),
        AnswerField("classes", dtype="uint32", json="", tensor=""),
        AnswerField("probabilities", f"Probabilities of the classes: {names}.", shape=("rows", classes), x_unit="1"),
        AnswerField("total", "Total uncertainty: entropy of the members' mean probabilities.", **entropy),
        AnswerField("data", "Data uncertainty: mean entropy of the members.", **entropy, **_OF_ENSEMBLES),
        AnswerField("knowledge", "Knowledge uncertainty: mutual information.", **entropy, **_OF_ENSEMBLES),
        AnswerField(
            "member_probabilities",
            "Probabilities of each member.",
            shape=("members", "rows", classes),
            x_unit="1",
            **_MEMBERS,
        ),
        DEFERRAL,
    )


_FIELDS = {"gaussian": _gaussian, "categorical": _categorical}


def record(portion: Portion, head: str) -> dict[str, Any]:
    """Return a head's outputs for the rows of a portion, without classes and tables of intervals.

    Withheld predictions are NaN; member outputs would disclose them, and are left out.

    Raises:
        TypeError: the head is of a kind that rows do not have.
    """
    predictive, verdict = portion.predictives[head], portion.verdicts[head]
    if isinstance(predictive, Gaussian):
        name = "mean"
    elif isinstance(predictive, Categorical):
        name = "probabilities"
    else:
        raise TypeError(f"a {type(predictive).__name__} head has no answer about rows")
    prediction, total, data, knowledge = shown(predictive, verdict)
    values = {
        name: prediction,
        "total": total,
        "data": data,
        "knowledge": knowledge,
        "deferral": (portion, head, None),
    }
    if portion.payload.members and not verdict.policy.withhold:
        values |= members(portion, head)
    return values


IntervalTables = Mapping[str, IntervalTable | None]
"""Table of intervals by head; None for a head without one."""


def requested_intervals(portion: Portion, intervals: IntervalTables) -> IntervalTables:
    """Return the tables that the answer has: those in force if the request asks for them and does not know them.

    Heads that are not named in the result have no table in the answer.
    """
    option = portion.payload.intervals
    if not option.requested:
        return {}
    in_force = dict(intervals)  # they may be replaced meanwhile
    return {} if option.known and option.known == intervals_digest(in_force) else in_force


def interval_record(table: IntervalTable) -> dict[str, Any]:
    """Return the fields of ``INTERVALS``."""
    return {"levels": table.levels, "multipliers": table.multipliers}


def intervals_digest(intervals: IntervalTables) -> int:
    """Return a number of 64 bits, never 0, that differs between different tables; to have none is a table, too."""
    return _digest(tuple(intervals.items()))


@lru_cache(maxsize=16)
def _digest(intervals: tuple[tuple[str, IntervalTable | None], ...]) -> int:
    known = {head: interval_record(table) for head, table in intervals if table is not None}
    return int.from_bytes(blake2b(msgspec.json.encode(known), digest_size=8).digest(), "little") or 1


def members(portion: Portion, head: str) -> dict[str, Any]:
    """Return the member outputs of a head [M, N, ...]; empty unless the request asked for them."""
    arrays = portion.payload.members.get(head, ())
    if len(arrays) == 2:
        return {"member_means": arrays[0], "member_variances": arrays[1]}
    return {"member_probabilities": arrays[0].transpose(0, 2, 1)} if arrays else {}
