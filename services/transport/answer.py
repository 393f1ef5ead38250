"""Fields of an answer: a task declares each once, and JSON, schemas, messages and tensors follow from the table.

A record is a mapping of field names to values; a field without a value is left out of it. ``http.answer_json``,
``grpc.answer_message`` and ``oip.answer_tensors`` compile a table to functions that write records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Record = Mapping[str, Any]
Missing = Literal["never", "absent", "null"]


@dataclass(frozen=True)
class AnswerField:
    """A value, an array, or records of an answer."""

    name: str
    """Of the field of the message, and of the value in a record."""
    about: str = ""
    """For schemas and metadata; a sentence without its unit."""
    unit: str = ""
    """Empty: it has none."""
    dtype: str = "float32"
    """NumPy's name of numbers; or ``string``, ``bytes``, ``purpose``, ``error`` (a ``DemurError``), ``deferral`` (a
    portion, its head, and the unit's index in it or None for all of its units), ``record``."""
    shape: tuple[int | str, ...] = ()
    """Of arrays; words are sizes that differ between answers."""
    missing: Missing = "never"
    """How JSON tells that the value does not exist."""
    null: bool = False
    """Whether a number may be NaN or infinite, which JSON has as null; elements of arrays always may, unless
    ``finite``."""
    finite: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)
    """Further keywords of the JSON Schema."""
    x_unit: str = ""
    """Keyword of the JSON Schema; empty: the description tells the unit."""
    needs: str = ""
    """What the model has to have for the field to exist, such as ``ensemble``."""
    json: str | None = None
    """Name in JSON; None: the field's own, empty: JSON does not have it."""
    message: bool = True
    """Whether messages have it."""
    tensor: str | None = None
    """Name of the tensor; None: the field's own, empty: there is none."""
    datatype: str = ""
    """Of the tensor; empty: that of ``dtype``."""
    fill: float | bytes | None = None
    """What the tensor holds where there is no value; None: NaN, zero or an empty text."""
    default: bool = True
    """Whether the tensor is answered where the caller names none."""
    fields: tuple[AnswerField, ...] = ()
    """Of records."""
    many: bool = False
    """Whether there are any number of records."""
    flat: bool = False
    """Whether JSON and tensors have the fields of a record beside those of the record that it is part of."""
    prepared: bool = False
    """Whether values come as JSON or a message has them, and are written as they are."""
    columns: bool = False
    """Whether the fields of a record are arrays of equal length, which JSON has as a list of rows."""
    pair: tuple[str, str] | None = None
    """Fields of a record which its tensor consists of."""
    keys: tuple[str, ...] = ()
    """Names of the elements of an array, which is an object in JSON."""
    title: str = ""
    """Name of the component of JSON records."""

    @property
    def json_name(self) -> str:
        return self.name if self.json is None else self.json

    @property
    def tensor_name(self) -> str:
        return self.name if self.tensor is None else self.tensor


def text(name: str, about: str, **more: Any) -> AnswerField:
    """Return a field of text without a tensor."""
    return AnswerField(name, about, dtype="string", **{"tensor": ""} | more)


def index(name: str, about: str, **more: Any) -> AnswerField:
    """Return a field that counts from 0; its tensor, if it has one, is INT32."""
    return AnswerField(name, about, dtype="uint32", datatype="INT32", **more)


def records(name: str, about: str, fields: tuple[AnswerField, ...], **more: Any) -> AnswerField:
    """Return a field of any number of records."""
    return AnswerField(name, about, dtype="record", fields=fields, many=True, **{"tensor": ""} | more)


def without_tensors(fields: Iterable[AnswerField]) -> tuple[AnswerField, ...]:
    """Return fields of records that JSON and messages have, and tensors have not."""
    return tuple(replace(field, tensor="", fields=without_tensors(field.fields)) for field in fields)


def input_warnings(codes: str) -> AnswerField:
    """Return the field of ``models.input_warning``; ``codes`` are examples."""
    return AnswerField(
        "remarks",
        f"Properties of the input that are unlike those of training: {codes} and others.",
        dtype="record",
        fields=INPUT_WARNING,
        many=True,
        title="Remark",
    )


RECORDED = AnswerField("recorded", "Whether the decision is durable in the ledger.", dtype="bool", tensor="")
DEFERRAL = AnswerField("deferral", "Decision on the unit.", dtype="deferral", flat=True)
ORIGIN = (
    text("model", "Tag of the artefact that answered."),
    text("profile", "Numeric profile that computed the scores."),
    AnswerField("purpose", dtype="purpose", message=False, tensor=""),
)
"""First fields of every answer."""
ORIGIN_OF_ALL = (*ORIGIN[:2], RECORDED, *ORIGIN[2:])
"""First fields of an answer whose units are recorded together."""
INPUT_WARNING = (
    text("code", "Stable word."),
    text("message", "For people."),
    AnswerField("value", "In `unit`.", dtype="float64"),
    text("unit", "Unit of the three numbers."),
    AnswerField("lower", "Training inputs lay above; null: no limit.", dtype="float64", null=True),
    AnswerField("upper", "Training inputs lay below; null: no limit.", dtype="float64", null=True),
)
