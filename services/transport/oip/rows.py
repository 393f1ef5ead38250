"""Rows over the protocol: one packed matrix, or a tensor a column; a tensor of each figure of each head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.calibration import IntervalTable
from models.head import Head
from models.predictive import Gaussian
from models.schema import Feature, Schema
from services.ledger.contract import Portion
from services.request.pipeline import Description
from services.request.row_task import Named, Packed, RowsRequest, shown
from services.request.validate import Column
from services.runtime.errors import InvalidInput
from services.transport.binding import Given, OipBinding, Parameter, TensorSpec, Told
from services.transport.http.rows import shifted_inputs
from services.transport.oip.datatypes import NUMBERS, of_bytes
from services.transport.oip.decided import decided, decided_specs, parameters
from services.transport.oip.wishes import text

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


def row_binding(
    description: Description, intervals: Mapping[str, IntervalTable | None], *, ensemble: bool
) -> OipBinding:
    """Tensors of a task whose items are rows. With several heads the names of outputs begin with the head's.

    Args:
        ensemble: whether there are several members, so that knowledge uncertainty exists.
    """
    schema = description.schema
    assert schema is not None
    heads = description.heads
    prefixes = {head.name: f"{head.name}_" if heads[1:] else "" for head in heads}

    def answer(answers: list[Portion], wanted: frozenset[str]) -> Told:
        (portion,) = answers
        tensors: dict[str, NDArray[Any]] = {}
        for head, prefix in prefixes.items():
            tensors |= _said(portion, head, prefix) | decided([portion], head, prefix)
        if _SHIFTED.name in wanted:
            tensors[_SHIFTED.name] = _shifted(portion, description)
        return Told(tensors, parameters([portion], prefixes))

    about: dict[str, Parameter] = {_SCHEMA_HASH: schema.hash, "max_rows": description.max_rows}
    return OipBinding(
        inputs=tuple(_inputs(schema)),
        outputs=(*(spec for head in heads for spec in _outputs(head, prefixes[head.name], ensemble)), _SHIFTED),
        read=lambda given: read(given, schema),
        answer=answer,
        parameters={_SCHEMA_HASH: f"of {PACKED}: the schema that they were packed for"},
        about=lambda: about | dict(_intervals(prefixes, intervals)) | dict(_classes(prefixes, description.heads)),
    )


def read(given: Given, schema: Schema) -> RowsRequest:
    """
    Raises:
        InvalidInput: no rows, or rows in both forms.
    """
    members = any(name.endswith(_MEMBERS) for name in given.wanted)
    columns = [name for name in given.tensors if name != PACKED and name not in schema.metadata]
    if PACKED not in given.tensors:
        if not columns:
            raise InvalidInput(
                f"the request holds no rows; send {PACKED}, [n, {len(schema)}], or a tensor of each column, [n]",
                code="no_rows",
                field=PACKED,
            )
        named = tuple(Column(name, _float32(given.tensors[name]), given.units.get(name, "")) for name in columns)
        return RowsRequest(Named(named), members)
    if columns:
        raise InvalidInput(
            f"the request holds {PACKED} and the column {columns[0]}; send one form",
            code="two_inputs",
            field=columns[0],
            allowed=PACKED,
        )
    rows = given.tensors[PACKED]
    declared = text(_SCHEMA_HASH, given.parameters.get(_SCHEMA_HASH, ""))
    return RowsRequest(Packed(len(rows), np.ascontiguousarray(_float32(rows), "<f4").tobytes(), declared), members)


def _float32(values: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers beyond the range of float32 are infinite, and refused as such."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32, copy=False)


def _inputs(schema: Schema) -> Iterator[TensorSpec]:
    order = "columns in the order of the other inputs" if len(schema) > 1 else "the one column"
    also = NUMBERS - {"FP32"}
    yield TensorSpec(PACKED, "FP32", (-1, len(schema)), "", f"all columns packed, {order}; or one input each", also)
    for feature in schema.features:
        yield TensorSpec(feature.name, "FP32", (-1,), feature.unit, _described(feature), also)
    for name in schema.metadata:
        yield TensorSpec(name, "FP64", (-1,), "", "may come along; is not looked at", NUMBERS | {"BYTES", "BOOL"})


def _described(feature: Feature) -> str:
    possible = f"{feature.lower:g} to {feature.upper:g}"
    if feature.values:
        possible = ", ".join(f"{value:g}" for value in feature.values)
    missing = (*(["NaN"] if feature.nullable else []), *(f"{value:g}" for value in feature.sentinels))
    return f"{feature.description.rstrip('.')}; {possible}" + (f"; missing: {', '.join(missing)}" if missing else "")


def _outputs(head: Head, prefix: str, ensemble: bool) -> Iterator[TensorSpec]:
    absent = set() if ensemble else {"knowledge"} if head.kind == "gaussian" else {"knowledge", "data"}
    for spec in (*_figures(head, prefix), *decided_specs(prefix)):
        if spec.name.removeprefix(prefix) not in absent:
            yield spec


def _figures(head: Head, prefix: str) -> Iterator[TensorSpec]:
    if head.kind == "gaussian":
        squared = head.error_unit
        yield TensorSpec(f"{prefix}prediction", "FP32", (-1,), head.unit, "mean; NaN where the policy withholds it")
        yield TensorSpec(f"{prefix}total", "FP32", (-1,), squared, "variance of the prediction")
        yield TensorSpec(f"{prefix}data", "FP32", (-1,), squared, "the members' mean variance")
        yield TensorSpec(f"{prefix}knowledge", "FP32", (-1,), squared, "variance of the members' means; of ensembles")
        for name, told in (("means", "mean"), ("variances", "variance")):
            unit = head.unit if name == "means" else squared
            yield TensorSpec(f"{prefix}member_{name}", "FP32", (-1, -1), unit, f"{told} of each member", default=False)
    else:
        classes = head.classes or -1
        yield TensorSpec(f"{prefix}class", "INT32", (-1,), "", "most probable; -1 where the policy withholds it")
        yield TensorSpec(f"{prefix}probabilities", "FP32", (-1, classes), "", "of each class; NaN where withheld")
        yield TensorSpec(f"{prefix}total", "FP32", (-1,), "nats", "entropy of the mean")
        yield TensorSpec(f"{prefix}data", "FP32", (-1,), "nats", "the members' mean entropy; of ensembles")
        yield TensorSpec(f"{prefix}knowledge", "FP32", (-1,), "nats", "mutual information; of ensembles")
        yield TensorSpec(
            f"{prefix}member_probabilities", "FP32", (-1, -1, classes), "", "of each member", default=False
        )


def _said(portion: Portion, head: str, prefix: str) -> dict[str, NDArray[Any]]:
    predictive, verdict = portion.predictives[head], portion.verdicts[head]
    prediction, total, data, knowledge = shown(predictive, verdict)  # type: ignore[arg-type]
    found: dict[str, Any] = {"total": total, "data": data, "knowledge": knowledge}
    members = tuple(np.asarray(one) for one in portion.payload.members.get(head, ()))
    if verdict.policy.withhold:  # a member's word gives a hidden prediction away
        members = tuple(np.full_like(one, np.nan) for one in members)
    if isinstance(predictive, Gaussian):
        found["prediction"] = prediction
        if members:
            found["member_means"], found["member_variances"] = (one.T for one in members)
    else:
        known = np.isfinite(prediction).all(axis=1)
        found["class"] = np.where(known, prediction.argmax(axis=1), -1).astype(np.int32)
        found["probabilities"] = prediction
        if members:
            found["member_probabilities"] = members[0].transpose(2, 0, 1)
    return {f"{prefix}{name}": array for name, array in found.items() if array is not None}


def _shifted(portion: Portion, description: Description) -> NDArray[Any]:
    """A JSON list for each row."""
    columns = shifted_inputs(portion.payload.departures(portion.verdicts), description)
    by_row: dict[int, list[dict[str, Any]]] = {}
    for row, *values in zip(*columns.values(), strict=True):
        by_row.setdefault(row, []).append(dict(zip(list(columns)[1:], values, strict=True)))
    return of_bytes(msgspec.json.encode(by_row.get(row, [])) for row in range(portion.count))


def _intervals(
    prefixes: Mapping[str, str], intervals: Mapping[str, IntervalTable | None]
) -> Iterator[tuple[str, Parameter]]:
    """Multipliers of the predictive's standard deviation, from in-domain data."""
    for head, prefix in prefixes.items():
        if (table := intervals.get(head)) is not None:
            yield f"{prefix}interval_levels", ",".join(f"{one:g}" for one in table.levels)
            yield f"{prefix}interval_multipliers", ",".join(f"{one:.9g}" for one in table.multipliers)


def _classes(prefixes: Mapping[str, str], heads: tuple[Head, ...]) -> Iterator[tuple[str, Parameter]]:
    for head in heads:
        if head.class_names:
            yield f"{prefixes[head.name]}classes", "; ".join(head.class_names)
