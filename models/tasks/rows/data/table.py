"""Tables of named columns from files and data frames: numbers and texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.rows.refusal import Refused

FORMATS = (".parquet", ".csv", ".csv.gz", ".feather", ".arrow")
_SHOWN = 8
"""Most names that a message lists."""


@dataclass(frozen=True)
class Column:
    """Column of n values: float64 numbers with NaN for missing ones, or texts with None for missing ones."""

    values: NDArray[Any]
    unit: str = ""
    """Unit by the metadata of the file; empty if there is none."""
    flag: bool = False
    """True if the values were booleans, now 0 and 1."""
    whole: bool = False
    """True if the values were integers."""

    @property
    def text(self) -> bool:
        """True if the values are texts."""
        return self.values.dtype == object

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mask of the missing values [n]."""
        if self.text:
            return np.fromiter((value is None for value in self.values), bool, len(self.values))
        return np.asarray(np.isnan(self.values))


@dataclass(frozen=True)
class Table:
    """Columns of equal length by name."""

    columns: Mapping[str, Column]
    source: str
    """File or description, for messages."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).values) if self.columns else 0

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def column(self, name: str, role: str) -> Column:
        """Return a column.

        Args:
            role: what it is needed for, for the message.

        Raises:
            Refused: there is no such column.
        """
        if name not in self.columns:
            raise Refused(f"{role} = {name!r}: {self.source} has no such column; it has {listed(self.columns)}")
        return self.columns[name]

    def without(self, names: Sequence[str]) -> "Table":
        """Return the table without some columns."""
        return Table({name: column for name, column in self.columns.items() if name not in names}, self.source)


def listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Return names in one line, at most ``_SHOWN`` of them."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def read(path: Path) -> Table:
    """Read a table.

    Raises:
        Refused: no such file, another format, a damaged file, or a column that holds neither numbers nor texts.
    """
    if not path.is_file():
        raise Refused(f"{path}: no such file; give a table in one of {', '.join(FORMATS)}")
    if not path.name.endswith(FORMATS):
        raise Refused(f"{path}: must be a table in one of {', '.join(FORMATS)}")
    import pyarrow
    from pyarrow import csv, feather, parquet

    try:
        if path.suffix == ".parquet":
            content = parquet.read_table(path)
        elif path.name.endswith((".csv", ".csv.gz")):
            options = csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA", "NaN", "nan", "null"])
            content = csv.read_csv(path, convert_options=options)
        else:
            content = feather.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise Refused(f"{path}: cannot be read as {path.suffix.lstrip('.')}: {error}") from error
    return of_arrow(content, str(path))


def of_arrow(content: Any, source: str) -> Table:
    """Return a ``pyarrow.Table`` as a table.

    Raises:
        Refused: two columns of one name, or a column that holds neither numbers nor texts.
    """
    if doubled := sorted({name for name in content.column_names if content.column_names.count(name) > 1}):
        raise Refused(f"{source}: two columns are called {doubled[0]!r}; each needs a name of its own")
    return Table(dict(_columns(content, source)), source)


def _columns(content: Any, source: str) -> Iterator[tuple[str, Column]]:
    from pyarrow import types

    for field in content.schema:
        if field.name.startswith("__index_level_"):
            continue
        array, kind = content.column(field.name).combine_chunks(), field.type
        if types.is_dictionary(kind):
            array, kind = array.cast(kind.value_type), kind.value_type
        unit = (field.metadata or {}).get(b"unit", b"").decode(errors="replace")
        if types.is_boolean(kind):
            yield field.name, Column(_numbers(array.cast("uint8")), unit, flag=True)
        elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
            yield field.name, Column(_numbers(array), unit, whole=types.is_integer(kind))
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            yield field.name, Column(np.array(array.to_pylist(), object))
        else:
            raise Refused(
                f"{source}: column {field.name} holds {kind}; columns must hold numbers, true and false, or texts: "
                "convert it, or leave it out of the table"
            )


def _numbers(array: Any) -> NDArray[np.float64]:
    return np.asarray(array.cast("float64").to_numpy(zero_copy_only=False), np.float64)
