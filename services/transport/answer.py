"""Fields of answers: a task declares each once, and JSON, schemas, messages and tensors are derived from the table.

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
    """Field of an answer: a value, an array, or records."""

    name: str
    """Name of the message field, and of the value in a record."""
    about: str = ""
    """Description for schemas and metadata: a sentence without the unit."""
    unit: str = ""
    """Unit of the value; empty if it has none."""
    dtype: str = "float32"
    """NumPy type name of numbers; or ``string``, ``bytes``, ``purpose``, ``error`` (a ``DemurError``), ``deferral`` (a
    portion, its head, and the unit's index in it or None for all of its units), ``record``.
    """
    shape: tuple[int | str, ...] = ()
    """Shape of an array; named sizes differ between answers."""
    missing: Missing = "never"
    """JSON form of a value that does not exist."""
    null: bool = False
    """True if a number may be NaN or infinite, null in JSON; elements of arrays always may, unless ``finite``."""
    finite: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)
    """Additional keywords of the JSON Schema."""
    x_unit: str = ""
    """Unit as a keyword of the JSON Schema; if empty, the description has the unit."""
    needs: str = ""
    """Property that the model needs for the field to exist, such as ``ensemble``."""
    json: str | None = None
    """Name in JSON; None: the field's own; empty: not in JSON."""
    message: bool = True
    """True if messages have the field."""
    tensor: str | None = None
    """Name of the tensor; None: the field's own; empty: no tensor."""
    datatype: str = ""
    """Datatype of the tensor; empty: that of ``dtype``."""
    fill: float | bytes | None = None
    """Fill value of the tensor for missing values; None: NaN, zero or an empty text."""
    default: bool = True
    """True if the tensor is returned when the caller names no outputs."""
    fields: tuple[AnswerField, ...] = ()
    """Fields of records."""
    many: bool = False
    """True for a list of records."""
    flat: bool = False
    """True if JSON and tensors place the fields of the record among those of its parent record."""
    prepared: bool = False
    """True if values are already in the form of JSON or of a message, and are written unchanged."""
    columns: bool = False
    """True if the fields of a record are arrays of equal length, which JSON has as a list of rows."""
    pair: tuple[str, str] | None = None
    """Names of the two record fields that its tensor consists of."""
    keys: tuple[str, ...] = ()
    """Names of the elements of an array that is an object in JSON."""
    title: str = ""
    """Name of the schema component of JSON records."""

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
    """Return a field of an index from 0; its tensor, if it has one, is INT32."""
    return AnswerField(name, about, dtype="uint32", datatype="INT32", **more)


def records(name: str, about: str, fields: tuple[AnswerField, ...], **more: Any) -> AnswerField:
    """Return a field of a list of records."""
    return AnswerField(name, about, dtype="record", fields=fields, many=True, **{"tensor": ""} | more)


def without_tensors(fields: Iterable[AnswerField]) -> tuple[AnswerField, ...]:
    """Return fields of records without tensors, for JSON and messages only."""
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
