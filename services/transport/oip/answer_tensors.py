"""Conversion of answers to tensors of the Open Inference Protocol, and their metadata, from the table of fields."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.transport.answer import AnswerField, Record
from services.transport.binding import TensorSpec
from services.transport.oip.datatypes import DATATYPES, datatype_of, of_bytes
from services.transport.oip.decided import decided_specs, remarks, remarks_spec

_DTYPES = {"string": "BYTES", "bytes": "BYTES"}


def specs(
    fields: Iterable[AnswerField], *, repeated: bool, unit: str, has: Collection[str] = ()
) -> Iterator[TensorSpec]:
    """Yield the specs of the tensors for records of these fields.

    Args:
        repeated: whether the first axis counts records; otherwise a scalar value is a tensor of one element.
        unit: name of a unit in descriptions, such as "scan".
        has: properties of the model, see ``AnswerField.needs``.
    """
    for field in fields:
        if field.needs and field.needs not in has:
            continue
        if field.dtype == "deferral":
            yield from decided_specs(item=unit)
        elif field.dtype == "record" and field.tensor_name and not field.pair:
            yield remarks_spec(field.about)
        elif field.dtype == "record" and not field.pair:
            yield from specs(field.fields, repeated=repeated or field.many, unit=unit, has=has)
        elif field.tensor_name:
            shape = tuple(size if isinstance(size, int) else -1 for size in field.shape)
            shape = (2,) if field.pair else (-1, *shape) if repeated else shape or (1,)
            yield TensorSpec(field.tensor_name, _datatype(field), shape, field.unit, field.about, default=field.default)


Shapes = Mapping[str, tuple[int, ...]]
_NO_SHAPES: Shapes = {}


class TensorWriter:
    """Function that turns records [n] of some fields into the requested tensors, except decisions on units, which
    ``oip.decided`` writes.
    """

    def __init__(self, fields: Iterable[AnswerField]) -> None:
        self._columns: list[_Column] = []
        self._inner: list[tuple[str, bool, TensorWriter]] = []
        self._warnings: list[tuple[str, str]] = []
        for field in fields:
            if field.dtype == "deferral" or (field.dtype != "record" and not field.tensor_name):
                continue
            if field.dtype != "record" or field.pair:
                self._columns.append(_Column(field))
            elif field.tensor_name:
                self._warnings.append((field.name, field.tensor_name))
            elif (inner := TensorWriter(field.fields)).written:
                self._inner.append((field.name, field.many, inner))

    @property
    def written(self) -> bool:
        """True if there is any tensor."""
        return bool(self._columns or self._warnings or self._inner)

    def __call__(
        self, records: Sequence[Record], output_names: Collection[str], shapes: Shapes = _NO_SHAPES
    ) -> dict[str, NDArray[Any]]:
        """Return the requested tensors of records.

        Args:
            shapes: shapes, by field, of arrays that no record may have; an array of variable size without a value and
                without a shape is left out.
        """
        tensors: dict[str, NDArray[Any]] = {}
        for column in self._columns:
            if column.tensor in output_names:
                array = column([record.get(column.name) for record in records], shapes.get(column.name))
                if array is not None:
                    tensors[column.tensor] = array
        for name, tensor in self._warnings:
            if tensor in output_names:
                tensors[tensor] = remarks(record.get(name) or () for record in records)
        for name, many, write in self._inner:
            if many:
                parts = [part for record in records for part in record.get(name) or ()]
            else:
                parts = [record.get(name) or {} for record in records]
            tensors |= write(parts, output_names, shapes)
        return tensors


class _Column:
    """Function that stacks the values of a field."""

    def __init__(self, field: AnswerField) -> None:
        datatype = _datatype(field)
        self.name, self.tensor = field.name, field.tensor_name
        self._pair = field.pair
        self._bytes = datatype == "BYTES"
        self._dtype = DATATYPES[datatype].dtype
        self._fill: Any = field.fill
        if self._fill is None:
            self._fill = b"" if self._bytes else np.nan if self._dtype.kind == "f" else 0
        self._least = tuple(size if isinstance(size, int) else 0 for size in field.shape)
        self._fixed = all(isinstance(size, int) for size in field.shape)

    def __call__(self, values: Sequence[Any], shape: tuple[int, ...] | None) -> NDArray[Any] | None:
        """Return values as one array [n, ...], filled if a value is missing or smaller than others."""
        if self._pair is not None:  # field of a record that is not repeated
            (record,) = values
            return np.array([self._fill if record is None else record[part] for part in self._pair], self._dtype)
        if not self._least:
            return self._scalars(values)
        if shape is None:
            shape = self._shape(values)
        if shape is None:
            return None
        filled = np.full((len(values), *shape), self._fill, self._dtype)
        for row, value in enumerate(values):
            if value is not None:
                size = np.shape(value)
                place: Any = row if size == shape else (row, *map(slice, size))
                filled[place] = value
        return filled

    def _scalars(self, values: Sequence[Any]) -> NDArray[Any]:
        known = [self._fill if value is None else value for value in values]
        if self._bytes:
            return of_bytes(value.encode() if isinstance(value, str) else value for value in known)
        return np.array(known, self._dtype)

    def _shape(self, values: Sequence[Any]) -> tuple[int, ...] | None:
        """Return the shape that all values fit into; None if it is unknown."""
        if self._fixed:
            return self._least
        known = [np.shape(value) for value in values if value is not None]
        if not known and values:
            return None
        return tuple(map(max, zip(self._least, *known, strict=True)))


def _datatype(field: AnswerField) -> str:
    return field.datatype or _DTYPES.get(field.dtype) or datatype_of(np.empty(0, field.dtype))
