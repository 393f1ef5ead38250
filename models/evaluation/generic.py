"""Reader of files of errors and uncertainties from other sources: CSV or Parquet, one row per unit."""

from pathlib import Path

import numpy as np

from models.assessment.figures import Rules
from models.evaluation.files import shifted_flags
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile, ErrorColumn, ErrorOptions, UnitErrors, unranked

OPTIONS: frozenset[str] = frozenset()
"""ErrorOptions that this reader uses besides error, limit, groups and convention."""

ERROR, UNCERTAINTY, SHIFTED = "error", "uncertainty", "shifted"


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read columns ``error`` (or that of ``options.error``), ``uncertainty``, and, if present, ``shifted`` and groups.

    An empty or NaN uncertainty ranks as the least certain.

    Raises:
        BadFile: a column is missing or not numeric, or an error is empty.
    """
    error = options.error or ERROR
    numeric = [error, UNCERTAINTY] + [SHIFTED] * (SHIFTED in column_names(path))
    groups = [name for name in options.by if name not in numeric]
    columns = read_columns(path, numeric, groups)
    n = len(columns[error])
    if np.isnan(columns[error]).any():
        row = int(np.flatnonzero(np.isnan(columns[error]))[0])
        raise BadFile(f"{path}: row {row} (from 0) has no {error}; a unit without one cannot be judged: leave it out")
    return UnitErrors(
        task="generic",
        source=str(path),
        errors={error: ErrorColumn(columns[error], "(unit of the file)", options.acceptable)},
        measures={UNCERTAINTY: columns[UNCERTAINTY]},
        shifted=shifted_flags(path, SHIFTED, columns.get(SHIFTED), n),
        groups={name: columns[name] for name in options.by},
        rules=Rules(options.convention),
        notes=unranked(columns[UNCERTAINTY]),
    )
