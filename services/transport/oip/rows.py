"""Rows over the protocol: inputs as one packed matrix or a tensor per column; outputs as tensors per head."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.familiarity import Departures
from models.head import Head
from models.schema import Feature, Schema
from services.ledger.contract import Portion
from services.request.contract import Description
from services.request.row_task import Named, Packed, RowsRequest
from services.request.validate import SHOWN_CATEGORIES, Column
from services.runtime.errors import InvalidInput
from services.transport import head_answer
from services.transport.binding import OipBinding, Parameter, TensorInputs, TensorOutputs, TensorSpec
from services.transport.oip.answer_tensors import specs
from services.transport.oip.datatypes import NUMBERS, of_bytes
from services.transport.oip.decided import decided, parameters
from services.transport.oip.request_parameters import text

Names = tuple[tuple[str, str], ...]
PACKED = "rows"
_SCHEMA_HASH = "schema_hash"
_SHIFTED = TensorSpec(
    "shifted_inputs",
    "BYTES",
    (-1,),
    "",
    "JSON list of the inputs that make a row unlike training, at most three, worst first, each with column, unit, "
    "value, trained_lower, trained_upper, deviations, expected",
    default=False,
)
_MEMBERS = ("member_means", "member_variances", "member_probabilities")


def row_binding(description: Description, intervals: head_answer.IntervalTables, *, ensemble: bool) -> OipBinding:
    """Return the binding of a task whose items are rows. With several heads, output names start with that of the head.

    Args:
        ensemble: whether there are several members, so that knowledge uncertainty exists.
    """
    schema = description.schema
    assert schema is not None
    heads = description.heads
    prefixes = {head.name: f"{head.name}_" if heads[1:] else "" for head in heads}

    names = {head.name: _names(head, prefixes[head.name]) for head in heads}

    def answer(answers: list[Portion], output_names: frozenset[str]) -> TensorOutputs:
        (portion,) = answers
        tensors: dict[str, NDArray[Any]] = {}
        for head, prefix in prefixes.items():
            tensors |= _figures(portion, head, names[head]) | decided([portion], head, prefix)
        if _SHIFTED.name in output_names:
            tensors[_SHIFTED.name] = _shifted(portion, description)
        return TensorOutputs(tensors, parameters([portion], prefixes))

    about: dict[str, Parameter] = {_SCHEMA_HASH: schema.hash, "max_rows": description.max_rows}
    return OipBinding(
        inputs=tuple(_inputs(schema)),
        outputs=(*(spec for head in heads for spec in _outputs(head, prefixes[head.name], ensemble)), _SHIFTED),
        read=lambda inputs: read(inputs, schema),
        answer=answer,
        parameters={_SCHEMA_HASH: f"of {PACKED}: the schema that they were packed for"},
        about=lambda: about | dict(_intervals(prefixes, intervals)) | dict(_classes(prefixes, description.heads)),
    )


def read(inputs: TensorInputs, schema: Schema) -> RowsRequest:
    """Return the request of the tensors.

    Raises:
        InvalidInput: no rows, or rows in both forms.
    """
    members = _names_members(inputs.output_names)
    columns = [name for name in inputs.tensors if name != PACKED and name not in schema.metadata]
    if PACKED not in inputs.tensors:
        if not columns:
            raise InvalidInput(
                f"the request holds no rows; send {PACKED}, [n, {len(schema)}], or a tensor of each column, [n]",
                code="no_rows",
                field=PACKED,
            )
        named = tuple(
            Column(name, _values(inputs.tensors[name], schema.position.get(name), schema), inputs.units.get(name, ""))
            for name in columns
        )
        return RowsRequest(Named(named), members)
    if columns:
        raise InvalidInput(
            f"the request holds {PACKED} and the column {columns[0]}; send one form",
            code="two_inputs",
            field=columns[0],
            allowed=PACKED,
        )
    rows = inputs.tensors[PACKED]
    declared = text(_SCHEMA_HASH, inputs.parameters.get(_SCHEMA_HASH, ""))
    return RowsRequest(Packed(len(rows), np.ascontiguousarray(_float32(rows), "<f4").tobytes(), declared), members)


@lru_cache(maxsize=64)
def _names_members(outputs: frozenset[str]) -> bool:
    """Return whether outputs of members are among the requested ones, of which there are few combinations."""
    return any(name.endswith(_MEMBERS) for name in outputs)


def _float32(values: NDArray[Any]) -> NDArray[np.float32]:
    """Convert to float32; numbers beyond its range become infinite, and are refused as such."""
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32, copy=False)


def _values(tensor: NDArray[Any], place: int | None, schema: Schema) -> Any:
    """Return a column: numbers, or texts of a categorical one, in which an empty text is a missing value."""
    if place not in schema.codes:
        return _float32(tensor)
    return [element.decode(errors="replace") or None for element in tensor.reshape(-1)]


def _inputs(schema: Schema) -> Iterator[TensorSpec]:
    order = "columns in the order of the other inputs" if len(schema) > 1 else "the one column"
    also = NUMBERS - {"FP32"}
    yield TensorSpec(PACKED, "FP32", (-1, len(schema)), "", f"all columns packed, {order}; or one input each", also)
    for feature in schema.features:
        if feature.categories:
            yield TensorSpec(feature.name, "BYTES", (-1,), "", _described(feature))
            continue
        yield TensorSpec(feature.name, "FP32", (-1,), feature.unit, _described(feature), also)
    for name in schema.metadata:
        yield TensorSpec(name, "FP64", (-1,), "", "may come along; is not looked at", NUMBERS | {"BYTES", "BOOL"})


def _described(feature: Feature) -> str:
    possible = f"{feature.lower:g} to {feature.upper:g}"
    if feature.categories:
        shown, more = feature.categories[:SHOWN_CATEGORIES], len(feature.categories) - SHOWN_CATEGORIES
        words = [", ".join(shown) + (f" and {more} more" if more > 0 else "")]
        words += ["or others"] * feature.other + ["missing: an empty text"] * feature.nullable
        return f"{feature.description.rstrip('.')}; texts: {'; '.join(words)}"
    if feature.values:
        possible = ", ".join(f"{value:g}" for value in feature.values)
    missing = (*(["NaN"] if feature.nullable else []), *(f"{value:g}" for value in feature.sentinels))
    return f"{feature.description.rstrip('.')}; {possible}" + (f"; missing: {', '.join(missing)}" if missing else "")


def _outputs(head: Head, prefix: str, ensemble: bool) -> Iterator[TensorSpec]:
    has = ("ensemble",) if ensemble else ()
    for spec in specs(head_answer.fields(head), repeated=False, unit="row", has=has):
        yield replace(spec, name=f"{prefix}{spec.name}")


def _names(head: Head, prefix: str) -> Names:
    return tuple(
        (field.name, f"{prefix}{field.tensor_name}")
        for field in head_answer.fields(head)
        if field.tensor_name and field.dtype != "deferral"
    )


def _figures(portion: Portion, head: str, names: Names) -> dict[str, NDArray[Any]]:
    """Return the tensors of a head, rows along the first axis; ``names`` pairs each field with its tensor."""
    record = head_answer.record(portion, head)
    if "probabilities" in record:
        known = np.isfinite(record["probabilities"]).all(axis=1)
        record["class"] = np.where(known, record["probabilities"].argmax(axis=1), -1).astype(np.int32)
    for name, values in head_answer.members(portion, head).items():
        withheld = portion.verdicts[head].policy.withhold
        rows_first = np.asarray(values).swapaxes(0, 1)
        record[name] = np.full_like(rows_first, np.nan) if withheld else rows_first
    return {tensor: array for name, tensor in names if (array := record.get(name)) is not None}


def _shifted(portion: Portion, description: Description) -> NDArray[Any]:
    """Return the shifted inputs of each row as a JSON list."""
    columns = _shifted_inputs(portion.payload.departures(portion.verdicts), description)
    by_row: dict[int, list[dict[str, Any]]] = {}
    for row, *values in zip(*columns.values(), strict=True):
        by_row.setdefault(row, []).append(dict(zip(list(columns)[1:], values, strict=True)))
    return of_bytes(msgspec.json.encode(by_row.get(row, [])) for row in range(portion.count))


def _shifted_inputs(departures: Departures, description: Description) -> dict[str, list[Any]]:
    """Return the inputs that make rows unlike training data, as columns of equal length; unknown numbers are NaN."""
    assert description.schema is not None
    features, columns = description.schema.features, departures.columns.tolist()
    ranges = {column: description.trained_range(column) for column in set(columns)}
    return {
        "row": departures.rows.tolist(),
        "column": [features[column].name for column in columns],
        "unit": [features[column].unit for column in columns],
        "value": departures.values.tolist(),
        "trained_lower": [ranges[column][0] for column in columns],
        "trained_upper": [ranges[column][1] for column in columns],
        "deviations": departures.deviations.tolist(),
        "expected": departures.expected.tolist(),
    }


def _intervals(prefixes: Mapping[str, str], intervals: head_answer.IntervalTables) -> Iterator[tuple[str, Parameter]]:
    """Yield levels of intervals, and multipliers of the predictive's standard deviation, from in-domain data."""
    for head, prefix in prefixes.items():
        if (table := intervals.get(head)) is not None:
            yield f"{prefix}interval_levels", ",".join(f"{level:g}" for level in table.levels)
            yield f"{prefix}interval_multipliers", ",".join(f"{multiplier:.9g}" for multiplier in table.multipliers)


def _classes(prefixes: Mapping[str, str], heads: tuple[Head, ...]) -> Iterator[tuple[str, Parameter]]:
    for head in heads:
        if head.class_names:
            yield f"{prefixes[head.name]}classes", "; ".join(head.class_names)
