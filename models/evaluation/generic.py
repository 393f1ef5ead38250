"""Files of errors and uncertainties that somebody else computed: CSV or Parquet, one row a unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from models.assessment.figures import Rules
from models.evaluation.files import shifted_flags
from models.evaluation.judged import Asked, BadFile, ErrorColumn, Judged, unranked
from models.evaluation.table import column_names, read_columns

OPTIONS: frozenset[str] = frozenset()
"""What of ``Asked`` is of use here besides error, limit, groups and convention."""

ERROR, UNCERTAINTY, SHIFTED = "error", "uncertainty", "shifted"


def read(path: Path, asked: Asked) -> Judged:
    """Columns ``error`` (or the one that ``asked.error`` names), ``uncertainty``, optional ``shifted`` and groups.

    An empty or NaN uncertainty ranks as the least certain.

    Raises:
        BadFile: a column is missing or not numeric, or an error is empty.
    """
    error = asked.error or ERROR
    numeric = [error, UNCERTAINTY] + [SHIFTED] * (SHIFTED in column_names(path))
    groups = [name for name in asked.by if name not in numeric]
    columns = read_columns(path, numeric, groups)
    n = len(columns[error])
    if np.isnan(columns[error]).any():
        row = int(np.flatnonzero(np.isnan(columns[error]))[0])
        raise BadFile(f"{path}: row {row} (from 0) has no {error}; a unit without one cannot be judged: leave it out")
    return Judged(
        task="generic",
        source=str(path),
        errors={error: ErrorColumn(columns[error], "(unit of the file)", asked.acceptable)},
        measures={UNCERTAINTY: columns[UNCERTAINTY]},
        shifted=shifted_flags(path, SHIFTED, columns.get(SHIFTED), n),
        groups={name: columns[name] for name in asked.by},
        rules=Rules(asked.convention),
        notes=unranked(columns[UNCERTAINTY]),
    )
