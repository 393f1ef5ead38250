"""Converter of rows: a table of columns, and a number or a class as the label."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import SubElement

from services.runtime.errors import UnsupportedMediaType
from services.transport.label_studio import results
from services.transport.label_studio.converter import ClaimedInput, Data, Result, StudioHead

_SHOWN = "columns"


class RowConverter:
    """Converter of rows of a declared schema; see ``Converter``."""

    def config(self, head: StudioHead) -> str:
        root = results.view(head.label)
        SubElement(root, "Table", name=_SHOWN, value=f"${_SHOWN}")
        if head.kind == "categorical":
            choices = results.control(root, "Choices", _SHOWN, choice="single", required="true")
            for name in _names(head):
                SubElement(choices, "Choice", value=name)
        else:
            results.control(root, "Number", _SHOWN, required="true")
        return results.xml(root)

    def data(self, head: StudioHead, source: ClaimedInput) -> dict[str, Any]:
        if not source.columns:
            raise UnsupportedMediaType(
                f"inputs of this task are {source.media_type}, and no rows; its entry names no converter for them",
                code="content_type",
                field="label_studio",
                allowed="rows",
            )
        return {_SHOWN: {_title(column): _shown(column) for column in source.columns}}

    def value(self, head: StudioHead, data: Data, annotated: Sequence[Result]) -> object:
        if head.kind != "categorical":
            return results.finite(results.single(annotated, "number"))
        name = results.first_of(results.single(annotated, "choices"))
        names = _names(head)
        if name not in names:
            raise results.bad_label(name, f"must be one of {', '.join(names)}")
        return name if head.class_names else int(name)

    def predictions(self, head: StudioHead, data: Data, draft: object) -> list[list[dict[str, Any]]]:
        if head.kind != "categorical":
            return [[results.result("number", _SHOWN, {"number": draft})]]
        name = _names(head)[int(str(draft))]
        return [[results.result("choices", _SHOWN, {"choices": [name]})]]


def _names(head: StudioHead) -> tuple[str, ...]:
    """Return the names of the classes of a head; their numbers where they have no names."""
    return head.class_names or tuple(map(str, range(head.classes or 0)))


def _title(column: Any) -> str:
    unit = column.get("unit") or "1"
    return str(column["name"]) if unit == "1" else f"{column['name']} ({unit})"


def _shown(column: Any) -> Any:
    text = column.get("text")
    value = column.get("value") if text is None else text
    return "" if value is None else value


ROWS = RowConverter()
