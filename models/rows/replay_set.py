"""Replay sets of rows, some with missing values, scored by the served executors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npz, replay
from models.artefact import Artefact, ArtefactError
from models.executors.reduced import MOST_ROWS
from models.replay import Arrays, Passes, Scores
from models.rows.executors import RowExecutors

UNITS = 2400
"""Number of rows in a set, if there are enough."""
_ROWS = "rows"


def encode(known: NDArray[Any], shifted: NDArray[Any], units: int = UNITS) -> bytes:
    """Return a file of inputs: rows [N, F] of in-domain and shifted data, drawn and shuffled with a fixed seed.

    Bytes of the same significance are stored together, column by column, which halves the file.
    """
    inside, outside = replay.chosen(len(known), len(shifted), units)
    rows = np.concatenate([known[inside], shifted[outside]]).astype("<f4")
    columns = np.ascontiguousarray(rows[replay.shuffled(len(rows))].T)
    planes = columns.view(np.uint8).reshape(*columns.shape, 4)
    return npz.encode({_ROWS: np.ascontiguousarray(np.moveaxis(planes, -1, 0))})


def decoded(arrays: Arrays) -> NDArray[np.float32]:
    """Return the rows [N, F] of a file of inputs.

    Raises:
        BadArrays: see ``models.replay.array``.
    """
    planes = replay.array(arrays, _ROWS, "uint8", 4, None, None)
    columns = np.ascontiguousarray(np.moveaxis(planes, 0, -1)).view("<f4")[..., 0]
    return np.ascontiguousarray(columns.T, np.float32)


def passes(artefact: Artefact, arrays: Arrays, executors: RowExecutors) -> Passes:
    """Return the passes that score the rows of a replay set.

    Raises:
        BadArrays: see ``decoded``; or the rows have another schema.
        ArtefactError: the golden rows cannot be read.
    """
    rows = decoded(arrays)
    if rows.shape[1] != len(artefact.schema):
        raise npz.BadArrays(f"rows have {rows.shape[1]} values, the schema has {len(artefact.schema)}")
    executors.prepare(_golden(artefact))

    def score(part: slice) -> Scores:
        predictives, _ = executors.read(executors.plain(rows[part]))
        return replay.scored(executors.heads, artefact.manifest, predictives)

    return Passes(len(rows), MOST_ROWS, score)


def _golden(artefact: Artefact) -> NDArray[np.float32]:
    """Return the golden rows, which members use to choose among ways to compute, as at start."""
    path = artefact.path(artefact.manifest.golden)
    try:
        with np.load(path, allow_pickle=False) as recorded:
            return np.asarray(recorded[_ROWS], np.float32)
    except Exception as error:  # damaged archives and headers raise many kinds of errors
        raise ArtefactError(f"{path}: no readable rows: {error}") from error
