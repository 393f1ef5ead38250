"""Tables from objects in memory: data frames of pandas and polars, mappings, and arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from models.tasks.rows.data.table import Column, Table, of_arrow
from models.tasks.rows.refusal import Refused


def table(X: Any, source: str, names: Sequence[str] = ()) -> Table:
    """Return a data frame, a mapping of columns, or an array [n, F] as a table.

    Args:
        names: names of an array's columns; without any, x0, x1, ...

    Raises:
        Refused: another kind of object, or see ``models.tasks.rows.data.table``.
    """
    if isinstance(X, Mapping):
        return Table({str(name): _column(values) for name, values in X.items()}, source)
    if hasattr(X, "to_arrow"):
        return of_arrow(X.to_arrow(), source)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        import pyarrow

        return of_arrow(pyarrow.Table.from_pandas(X, preserve_index=False), source)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise Refused(
            f"{source} = {type(X).__name__} {list(array.shape)} of {array.dtype}: must be a data frame, a mapping of "
            "columns, "
            "or an array [rows, columns] of numbers"
        )
    columns = tuple(names) if len(names) == array.shape[1] else tuple(f"x{at}" for at in range(array.shape[1]))
    return Table({name: _column(array[:, at]) for at, name in enumerate(columns)}, source)


def labels(y: Any, source: str, name: str = "") -> Table:
    """Return labels as a table: a series or array [n], or a data frame or array [n, T] of several targets.

    Args:
        name: name of a single target that has none of its own.

    Raises:
        Refused: see ``table``.
    """
    if isinstance(y, Mapping) or hasattr(y, "columns"):
        return table(y, source)
    array = np.asarray(y)
    if array.ndim == 1:
        own = getattr(y, "name", None)
        return Table({name or (own if isinstance(own, str) and own else "target"): _column(y)}, source)
    return table(array, source, [f"target{at}" for at in range(array.shape[-1])])


def _column(values: Any) -> Column:
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return Column(array.astype(np.float64), flag=True)
    if array.dtype.kind in "iuf":
        return Column(array.astype(np.float64), whole=array.dtype.kind in "iu")
    texts = np.array([None if value is None or value != value else str(value) for value in array], object)
    return Column(texts)
