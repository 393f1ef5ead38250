"""Protobuf messages common to the services of all tasks: decisions, descriptions, policies, rows, options."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur.v1 import common_pb2
from models.calibration import IntervalTable
from models.familiarity import Departures
from models.schema import Schema
from services.ledger.contract import Portion, Purpose
from services.policy.decision import Policy
from services.request.contract import Description
from services.request.row_task import NO_INTERVALS, IntervalsOption, Named, Packed
from services.request.validate import Column
from services.runtime.errors import InvalidInput, shortened
from services.transport import head_answer
from services.transport.binding import Options, stricter

_PURPOSES: dict[int, Purpose | None] = {
    common_pb2.PURPOSE_UNSPECIFIED: None,
    common_pb2.PURPOSE_DECIDE: "decide",
    common_pb2.PURPOSE_EXPLORE: "explore",
    common_pb2.PURPOSE_REPLAY: "replay",
}


def options(message: Any, heads: tuple[str, ...]) -> Options:
    """Return purpose, stricter threshold and answer format of a request or of a stream's first frame.

    Raises:
        InvalidInput: a purpose that is not in the contract, or see ``stricter``.
    """
    stated = purpose(message.purpose)
    wish = message.defer_above if message.HasField("defer_above") else None
    by_head = dict(getattr(message, "defer_above_by_head", ()))  # of rows alone, which may have several heads
    if by_head and wish is not None:
        raise InvalidInput.about(
            "defer_above", f"{wish:g}", "must not be given together with defer_above_by_head", code="two_goals"
        )
    return Options(stated, stricter(by_head or wish, heads), message.plain)


def purpose(number: int) -> Purpose | None:
    """Return the purpose of a call; None: the transport's default.

    Raises:
        InvalidInput: a number that is not in the contract.
    """
    if number not in _PURPOSES:
        raise InvalidInput.about("purpose", number, "must be decide, explore or replay", code="unknown_purpose")
    return _PURPOSES[number]


def rows(message: Any, schema: Schema) -> Packed | Named:
    """Return the rows of a request.

    Named columns are read up to the width of the schema plus one: of these, at least one is unknown or duplicate, and
    validation names it. A message can contain millions of empty columns.

    Raises:
        InvalidInput: neither form is given.
    """
    form = message.WhichOneof("form")
    if form == "packed":
        packed = message.packed
        return Packed(packed.row_count, packed.values, packed.schema_hash)
    if form == "named":
        columns = message.named.columns[: len(schema) + len(schema.metadata) + 1]
        return Named(tuple(Column(c.name, _values(c, schema), c.unit) for c in columns))
    raise InvalidInput("the request holds no rows; fill rows.packed or rows.named", code="no_rows", field="rows")


def _values(column: Any, schema: Schema) -> Any:
    """Return the numbers of a column, or the texts of a categorical one, in which an empty text is a missing value.

    Raises:
        InvalidInput: texts in a column of numbers.
    """
    texts = column.texts
    if not texts:
        return column.values
    place = schema.position.get(column.name)
    if place is not None and place not in schema.codes:
        feature = schema.features[place]
        raise InvalidInput(
            f"column {feature.name!r} holds texts; send numbers in {feature.unit!r} as values",
            code="not_a_number",
            field=feature.name,
            value=shortened(texts[0]),
            unit=feature.unit,
            index=0,
        )
    return [text or None for text in texts]


def intervals_option(message: Any) -> IntervalsOption:
    """Return the option of a request about rows or of a stream's first frame."""
    return IntervalsOption(True, message.known_intervals) if message.intervals else NO_INTERVALS


def deferral(portion: Portion, head: str, item: int | None = None) -> Any:
    """Return the decisions on the units of a head; with ``item``, on the unit at that place of the portion."""
    verdict, ids = portion.verdicts[head], portion.ids[head]
    units = slice(0, ids.count) if item is None else slice(item, item + 1)
    return common_pb2.Deferral(
        ids=common_pb2.UnitIds(epoch=ids.epoch, first=ids.first + units.start, count=units.stop - units.start),
        policy=verdict.policy.version,
        measure=verdict.policy.measure,
        threshold=verdict.policy.threshold,
        uncertainty=pack(verdict.uncertainty[units]),
        decisions=verdict.decisions[units].tobytes(),
        shifts=verdict.shifts[units].tobytes(),
    )


def shifted_inputs(departures: Departures, description: Description) -> Any:
    """Return the inputs that make rows unlike the training data; None if there are none."""
    if not len(departures):
        return None
    assert description.schema is not None
    features = description.schema.features
    named = np.zeros(len(features), bool)
    named[departures.columns] = True
    positions, columns = np.flatnonzero(named), (np.cumsum(named) - 1)[departures.columns]
    ranges = [description.trained_range(column) for column in positions.tolist()]
    return common_pb2.ShiftedInputs(
        rows=departures.rows.astype("<u4").tobytes(),
        columns=columns.astype("<u4").tobytes(),
        values=pack(departures.values),
        deviations=pack(departures.deviations),
        expected=pack(departures.expected),
        inputs=[
            common_pb2.ShiftedInput(
                name=features[column].name, unit=features[column].unit, trained_lower=lower, trained_upper=upper
            )
            for column, (lower, upper) in zip(positions.tolist(), ranges, strict=True)
        ],
    )


@lru_cache(maxsize=64)
def intervals(table: IntervalTable | None) -> Any:
    """Return the interval table; empty if the artefact has none."""
    if table is None:
        return common_pb2.Intervals()
    return common_pb2.Intervals(**head_answer.interval_record(table))


def describe(
    description: Description, policies: tuple[Any, ...], tables: head_answer.IntervalTables | None = None
) -> Any:
    """Return the description of a task.

    Args:
        tables: tables of intervals in force, of a task about rows.
    """
    in_force = {} if tables is None else dict(tables)  # they may be replaced meanwhile
    schema = description.schema
    features = () if schema is None else schema.features
    lower = description.trained_lower or (float("nan"),) * len(features)
    upper = description.trained_upper or (float("nan"),) * len(features)
    by_head = {policy.head: policy for policy in policies}
    return common_pb2.DescribeResponse(
        task=description.task,
        model=description.model,
        schema_hash="" if schema is None else schema.hash,
        features=[
            of_attributes(common_pb2.FeatureSpec, feature, trained_lower=low, trained_upper=high)
            for feature, low, high in zip(features, lower, upper, strict=True)
        ],
        heads=[
            of_attributes(
                common_pb2.HeadSpec,
                head,
                measure=by_head[head.name].measure,
                intervals=None if (table := in_force.get(head.name)) is None else intervals(table),
                training_labels=None
                if (labels := description.training_labels.get(head.name)) is None
                else of_attributes(common_pb2.TrainingLabels, labels),
            )
            for head in description.heads
        ],
        policies=[policy_spec(policy) for policy in policies],
        max_rows=description.max_rows,
        metadata=() if schema is None else schema.metadata,
        intervals_digest=0 if tables is None else head_answer.intervals_digest(in_force),
    )


def policy_spec(policy: Policy) -> Any:
    """Return a policy as its message."""
    return of_attributes(common_pb2.PolicySpec, policy)


def of_attributes(kind: Any, source: object, **more: Any) -> Any:
    """Return a message whose fields are the attributes of the same names, except those passed as keywords."""
    names = kind.DESCRIPTOR.fields_by_name.keys() - more.keys()
    return kind(**{name: getattr(source, name) for name in names}, **more)


def pack(values: NDArray[np.float32]) -> bytes:
    """Return little-endian float32 bytes."""
    return values.astype("<f4", copy=False).tobytes()
