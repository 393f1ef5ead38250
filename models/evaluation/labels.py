"""Reader of labels from a separate file, CSV or Parquet, for submissions, which have no labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation.files import Array, shifted_flags
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile, ErrorOptions, Mask

IDENTITY, SHIFTED = "time_id", "shifted"


@dataclass(frozen=True)
class Labels:
    """Rows of an official file, in its order."""

    path: Path
    ids: list[str]
    """Text of ``time_id`` if the file has it, else the rows' numbers from 0 [n]."""
    values: NDArray[np.float64]
    """Labels [n]."""
    shifted: Mask | None
    groups: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.ids)


def read(predictions: Path, options: ErrorOptions, label: str) -> Labels:
    """Read the file that ``options`` names as the ground truth, which needs a label in each row.

    Raises:
        BadFile: no file is named; a column is missing or not numeric; a row has no label.
    """
    ground_truth = options.companions.get("ground_truth")
    if ground_truth is None:
        raise BadFile(f"{predictions} has no labels: give --ground-truth, the official file with the column {label}")
    path = Path(ground_truth)
    have = column_names(path)
    groups = [name for name in options.by if name not in (label, SHIFTED)]
    others = list(dict.fromkeys([*([IDENTITY] if IDENTITY in have else []), *groups]))
    table = read_columns(path, [label, *([SHIFTED] if SHIFTED in have else [])], others)
    values = table[label]
    if (missing := ~np.isfinite(values)).any():
        raise BadFile(f"{path}: row {int(np.argmax(missing))} (from 0) has no {label}; each row needs one")
    ids = table[IDENTITY].tolist() if IDENTITY in have else [str(row) for row in range(len(values))]
    return Labels(
        path,
        ids,
        values,
        shifted_flags(path, SHIFTED, table.get(SHIFTED), len(values)),
        {n: table[n] for n in options.by},
    )


def places(predictions: Path, ids: Sequence[str], labels: Labels) -> NDArray[np.intp]:
    """Return the position of each row's prediction [n]; a submission has exactly one for each row.

    Raises:
        BadFile: a row has no prediction, a prediction has no row, or two rows have the same id.
    """
    known = {identity: place for place, identity in enumerate(ids)}
    if len(set(labels.ids)) < len(labels):
        raise BadFile(f"{labels.path}: a {IDENTITY} occurs twice; each row needs its own")
    for row, row_id in enumerate(labels.ids):
        if row_id not in known:
            raise BadFile(
                f"{predictions} has no prediction for row {row} (from 0) of {labels.path}, {IDENTITY} {row_id!r}; the "
                "benchmark needs one for each row. The table of `demur score` can be judged without it"
            )
    if len(known) > len(labels):
        surplus = next(identity for identity in ids if identity not in set(labels.ids))
        raise BadFile(f"{predictions}: {surplus!r} is not a row of {labels.path}")
    return np.array([known[row_id] for row_id in labels.ids], np.intp)
