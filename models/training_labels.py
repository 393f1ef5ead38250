"""Labels of some training rows against one of their columns.

People who label see them as a cloud of points, which tells where labels lay. Nothing is computed with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npz
from models.npz import BadArrays
from models.schema import Schema

FILE = "training-labels.npz"
"""Name of the file in an artefact; an artefact has it or not."""
POINTS = 200
"""Rows that are kept."""
SECTION = f"""## Labels for reviewers

`{FILE}` holds the label and one column of {POINTS} random training rows, and no more of them. Reviewers see them as a \
cloud of points.
"""
_COLUMN = "column"
_PREFIX = "labels."
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TrainingLabels:
    """Labels of a head in some training rows."""

    column: str
    """Name of the column."""
    values: tuple[float, ...]
    """Value of the column by row, in its unit."""
    labels: tuple[float, ...]
    """Label by row, in the unit of the head."""


def encode(points: Mapping[str, NDArray[Any]], column: str, schema: Schema) -> bytes:
    """Return the file of points [2, n] by head: values of a column, and labels."""
    arrays = {f"{_PREFIX}{head}": np.asarray(own, np.float64) for head, own in points.items()}
    return npz.encode(arrays | {_COLUMN: np.array(schema.names.index(column), np.uint32)})


def decode(content: bytes, schema: Schema) -> dict[str, TrainingLabels]:
    """Return the labels by head.

    Raises:
        BadArrays: the bytes are not such a file for this schema.
    """
    arrays = npz.decode(content, _MOST_BYTES)
    column = arrays.pop(_COLUMN, None)
    if column is None or column.shape or column.dtype.kind not in "iu" or not 0 <= int(column) < len(schema):
        raise BadArrays(f"the array {_COLUMN!r} is not the position of a column")
    by_head = {}
    for name, points in arrays.items():
        if not name.startswith(_PREFIX) or points.ndim != 2 or len(points) != 2 or not np.isfinite(points).all():
            raise BadArrays(f"{name!r} is not an array {_PREFIX}HEAD of finite numbers with 2 rows")
        values, labels = (tuple(row.tolist()) for row in points)
        by_head[name.removeprefix(_PREFIX)] = TrainingLabels(schema.names[int(column)], values, labels)
    return by_head
