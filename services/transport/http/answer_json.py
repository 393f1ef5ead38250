"""Conversion of answers to JSON, and their schemas, from the table of their fields."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from numpy import ndarray

from services.transport.answer import AnswerField, Record
from services.transport.http.body import describe
from services.transport.http.components import NUMBER_OR_NULL, PURPOSE, Json, ref
from services.transport.http.unit_json import decided, decided_rows_schema, decided_schema

Writer = Callable[[Record], dict[str, Any]]
_INTEGERS = ("uint32", "uint64")


def writer(fields: Iterable[AnswerField]) -> Writer:
    """Return a function that turns a record of these fields into a value that msgspec can encode."""
    named = [field for field in fields if field.json_name]
    plain = tuple(
        (field.name, field.json_name, _converter(field), field.missing == "null") for field in named if not field.flat
    )
    flat = tuple((field.name, _converter(field)) for field in named if field.flat)

    def write(record: Record) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for name, json_name, convert, null in plain:
            if (value := record.get(name)) is None:
                if null:
                    written[json_name] = None
            elif convert is not None:
                written[json_name] = convert(value)
            else:
                written[json_name] = value.tolist() if type(value) is ndarray else value
        for name, convert in flat:
            if (value := record.get(name)) is not None:
                written.update(convert(value))  # type: ignore[misc]
        return written

    return write


def _converter(field: AnswerField) -> Callable[[Any], Any] | None:
    if field.dtype == "error":
        return describe
    if field.dtype == "deferral":
        return lambda unit: decided(*unit)
    if field.columns:
        return _rows(field)
    if field.prepared:
        return None
    if field.dtype == "record":
        write = writer(field.fields)
        return (lambda values: [write(value) for value in values]) if field.many else write
    if field.keys:
        return lambda values: dict(zip(field.keys, values.tolist(), strict=True))
    return None


def _rows(field: AnswerField) -> Callable[[Record], list[dict[str, Any]]]:
    names = [(column.name, column.json_name) for column in field.fields]

    def write(record: Record) -> list[dict[str, Any]]:
        columns = {json_name: record[name].tolist() for name, json_name in names if name in record}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    return write


def schema(fields: Iterable[AnswerField], *, title: str = "", unit: str = "") -> Json:
    """Return the JSON Schema of records of these fields.

    Args:
        title: name of the component; empty for none.
        unit: name of a unit in descriptions, such as "scan"; empty if a record is of many units.
    """
    properties: Json = {}
    required: list[str] = []
    for field in fields:
        if not field.json_name:
            continue
        if field.flat:
            inner = _of_deferral(unit) if field.dtype == "deferral" else schema(field.fields, unit=unit)
            properties |= inner["properties"]
            required += inner["required"] if field.missing == "never" else ()
            continue
        properties[field.json_name] = _of_field(field, unit)
        if field.missing != "absent":
            required.append(field.json_name)
    described_object: Json = {"type": "object", "required": required, "properties": properties}
    return described_object | ({"title": title} if title else {})


def _of_deferral(unit: str) -> Json:
    return decided_schema(unit) if unit else decided_rows_schema()


def _of_field(field: AnswerField, unit: str) -> Json:
    """Return the schema of a field; a description is not put beside a component that has its own."""
    if field.dtype == "purpose":
        return PURPOSE
    if field.dtype == "error":
        return ref("ErrorDetail")
    described = {"description": f"{field.about}{f' Unit: {field.unit}.' if field.unit else ''}"}
    if field.dtype == "record":
        fields = [replace(column, shape=()) for column in field.fields] if field.columns else field.fields
        inner = schema(fields, title=field.title, unit=unit)
        return {"type": "array", "items": inner} | described if field.many or field.columns else inner
    if field.keys:
        properties: Json = {name: NUMBER_OR_NULL for name in field.keys}
        return {"title": field.title, "type": "object", "properties": properties} | described
    document = _of_elements(field)
    for place, size in enumerate(reversed(field.shape)):
        fixed = {"minItems": size, "maxItems": size} if isinstance(size, int) and not field.x_unit else {}
        document = {"type": "array", "items": document} | fixed
        if field.x_unit and not place:
            document["x-unit"] = field.x_unit
    if field.missing == "null":
        document["type"] = ["array", "null"]
    return document | described


def _of_elements(field: AnswerField) -> Json:
    if field.dtype in ("string", "bytes"):
        return {"type": "string"}
    if field.dtype == "bool":
        return {"type": "boolean"}
    if field.dtype in _INTEGERS:
        return {"type": "integer", "minimum": 0} | dict(field.limits)
    nullable = field.null or (field.shape and not field.finite)
    if field.dtype == "int32":
        return {"type": ["integer", "null"] if nullable else "integer"}
    return (NUMBER_OR_NULL if nullable else {"type": "number"}) | dict(field.limits)
