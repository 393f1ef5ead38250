"""JSON body of rows, and its decoding straight into one float32 matrix.

This way takes only complete and plain bodies, and explains nothing: any other body is left to ``row_reader``.
"""

import struct
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from models.schema import Schema
from services.request.validate import Rows
from services.transport.http.components import PURPOSE_OR_NULL
from services.transport.http.decoding import ERRORS
from services.transport.http.struct_schema import documented

Number = float | None
"""Number of a body; null is NaN: a missing value, if the schema allows it."""
Text = str | None
"""Text of a categorical column; null is a missing value, if the schema allows it."""
_COLON = ord(":")
_NOTHING = msgspec.Raw()


class Matrix(msgspec.Struct, forbid_unknown_fields=True):
    """Rows as one list of numbers, row after row."""

    columns: list[str]
    values: list[Number]


class RowsBody(msgspec.Struct, forbid_unknown_fields=True):
    """JSON body of rows: ``columns`` (name to values), ``rows`` (a list of objects) or ``matrix``, one of them."""

    columns: Annotated[msgspec.Raw, documented("columns")] = msgspec.field(default_factory=msgspec.Raw)
    rows: Annotated[msgspec.Raw, documented("rows")] = msgspec.field(default_factory=msgspec.Raw)
    matrix: Annotated[msgspec.Raw, documented("matrix")] = msgspec.field(default_factory=msgspec.Raw)
    units: Annotated[dict[str, str] | UnsetType, documented("units")] = UNSET
    purpose: Annotated[str | UnsetType | None, documented(PURPOSE_OR_NULL)] = UNSET
    defer_above: Annotated[float | dict[str, float] | UnsetType | None, documented("defer_above")] = UNSET
    members: Annotated[
        bool | UnsetType, msgspec.Meta(description="Also return what each member says. Absent: false.")
    ] = UNSET
    intervals: Annotated[
        bool | UnsetType,
        msgspec.Meta(description="Also return the tables of intervals, which /v1/schema has, too. Absent: false."),
    ] = UNSET


VARIANTS = {"ColumnsRequest": ("columns",), "RowsRequest": ("rows",), "MatrixRequest": ("matrix",)}
"""Names of the components of the forms of a body, with the property that holds its rows."""
_OPTIONS = ("units", "purpose", "defer_above", "members", "intervals")


class Decoded(NamedTuple):
    """Body, and its rows [N, F] in schema order; ranges are not checked."""

    body: RowsBody
    rows: Rows


class BodyDecoder:
    """Decoder of the bodies of a schema, whose names become fields of structs."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        places = [f"f{place}" for place in range(len(schema))]
        self._metadata = tuple(f"m{place}" for place in range(len(schema.metadata)))
        along = [
            (place, msgspec.Raw, msgspec.field(default=_NOTHING, name=name))
            for place, name in zip(self._metadata, schema.metadata, strict=True)
        ]

        def struct(kind: str, number: Any, text: Any) -> Any:
            named = [
                (place, text if feature.categories else number, msgspec.field(name=feature.name))
                for place, feature in zip(places, schema.features, strict=True)
            ]
            return msgspec.defstruct(kind, [*named, *along], forbid_unknown_fields=True, gc=False)

        columns, row = struct("Columns", list[Number], list[Text]), struct("Row", Number, Text)
        forms: dict[str, Any] = {"columns": columns, "rows": list[row], "matrix": Matrix}  # type: ignore[valid-type]
        body: Any = msgspec.defstruct(
            "TypedBody",
            [(name, form | UnsetType, UNSET) for name, form in forms.items()],
            bases=(RowsBody,),
            forbid_unknown_fields=True,
        )
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(body)
        values = attrgetter(*places)
        self._values = values if len(places) > 1 else lambda row: (values(row),)

    def decode(self, content: bytes) -> Decoded | None:
        """Decode a body; None if it is invalid or unusual.

        Unusual are: a duplicate name, a colon in a name or an option, no or several forms, unequal columns, another
        unit, null in a column without missing values, and numbers beyond the range of float32.
        """
        try:
            body = self._decoder.decode(content)
        except ERRORS:
            return None
        forms = [form for form in (body.columns, body.rows, body.matrix) if form is not UNSET]
        if len(forms) != 1:
            return None
        try:
            rows, names = self._read(forms[0])
        except ValueError:  # lists of unequal length
            return None
        for name in _OPTIONS:
            value = getattr(body, name)
            names += (value is not UNSET) + (len(value) if isinstance(value, dict) else 0)
        if 1 + names != _colons(content) or not self._units_fit(body.units) or not self._numbers_fit(rows):
            return None
        return Decoded(body, rows)

    def _read(self, form: Any) -> tuple[Rows, int]:
        """Return the rows of a form, and the number of names in it.

        Raises:
            ValueError: lists of unequal length, or a matrix of other columns.
        """
        if self._schema.codes:
            return self._of_texts(form)
        if isinstance(form, Matrix):
            return self._of_matrix(form), 2
        width = len(self._schema)
        if isinstance(form, list):
            numbers = list(chain.from_iterable(map(self._values, form)))
            rows = _narrow(numbers).reshape(len(form), width)
            along = sum(self._along(row) for row in form) if self._metadata else 0
            return rows, len(numbers) + along
        lists = self._values(form)
        counts = set(map(len, lists))
        if len(counts) > 1:
            raise ValueError("columns of unequal length")
        numbers = list(chain.from_iterable(lists))
        return np.ascontiguousarray(_narrow(numbers).reshape(width, -1).T), width + self._along(form)

    def _of_texts(self, form: Any) -> tuple[Rows, int]:
        """Return the rows of a form with texts, and the number of names in it; a matrix is left to ``row_reader``.

        Raises:
            ValueError: a matrix, lists of unequal length, or a text that is no category.
        """
        if isinstance(form, Matrix):
            raise ValueError("a matrix with texts")
        if isinstance(form, list):
            lists: Sequence[Any] = list(zip(*map(self._values, form), strict=True))
            names = len(form) * len(self._schema) + (sum(map(self._along, form)) if self._metadata else 0)
        else:
            lists = self._values(form)
            names = len(self._schema) + self._along(form)
        rows = np.empty((len(lists[0]) if lists else 0, len(self._schema)), np.float32)
        try:
            for place, values in enumerate(lists):
                known = self._schema.codes.get(place)
                rows[:, place] = _narrow(values) if known is None else [known[text] for text in values]
        except KeyError as error:
            raise ValueError("a text that is no category") from error
        return rows, names

    def _of_matrix(self, matrix: Matrix) -> Rows:
        names = self._schema.names
        rows = _narrow(matrix.values).reshape(-1, len(names))
        if tuple(matrix.columns) == names:
            return rows
        if len(matrix.columns) != len(names) or set(matrix.columns) != set(names):
            raise ValueError("other columns")
        return rows[:, [matrix.columns.index(name) for name in names]]

    def _along(self, struct: Any) -> int:
        """Return the number of metadata columns; a value that may hold names counts as no column."""
        values = [bytes(getattr(struct, place)) for place in self._metadata]
        return sum(1 + (value.count(b":") if value[:1] == b'"' else 0) for value in values if value)

    def _units_fit(self, units: dict[str, str] | UnsetType) -> bool:
        if units is UNSET:
            return True
        features, position = self._schema.features, self._schema.position
        return all(
            name in position and (not unit or unit == features[position[name]].unit) for name, unit in units.items()
        )

    def _numbers_fit(self, rows: Rows) -> bool:
        """Return whether all numbers are finite, or null where a value may be missing: the body has no other NaN."""
        fine = np.isfinite(rows)
        return bool(fine.all() or (fine | (np.isnan(rows) & self._schema.nullable)).all())


def _narrow(numbers: Sequence[Number]) -> NDArray[np.float32]:
    try:
        return np.frombuffer(struct.pack(f"<{len(numbers)}f", *numbers), np.float32)  # twice as fast as np.array
    except (struct.error, OverflowError):  # null, or a number beyond the range of float32
        with np.errstate(over="ignore"):
            return np.array(numbers, np.float64).astype(np.float32)


def _colons(content: bytes) -> int:
    """Return the number of colons, one after each name: with as many distinct names, no name is duplicate."""
    return int(np.count_nonzero(np.frombuffer(content, np.uint8) == _COLON))
