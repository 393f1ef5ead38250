"""Replay sets of weather: rows of forecasts, some with missing values, scored by the served members."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npz, replay
from models.artefact import Artefact, ArtefactError
from models.building import UNSTATED
from models.executors.device import Device
from models.executors.reduced import MOST_ROWS, Reduced
from models.replay import Arrays, Passes, Scores
from models.row_artefact import with_replay_set
from models.tasks.weather.inference import serving

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


def of_files(artefact: Artefact, directory: Path) -> Artefact:
    """Add rows of ``dev_in`` and ``dev_out`` of a folder of official files as the replay set of an artefact.

    Raises:
        BadFile, OSError, ValueError: a file is missing or cannot be read.
    """
    from models.tasks.weather.data.folder import read_files

    return with_replay_set(artefact, read_files(directory, ("dev_in", "dev_out")), encode, UNSTATED)


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Passes:
    """Return the passes that score the rows of a replay set.

    Raises:
        BadArrays: see ``decoded``; or the rows have another schema.
        ArtefactError, ProviderUnavailable: the members cannot be run.
    """
    manifest = artefact.manifest
    rows = decoded(arrays)
    if rows.shape[1] != len(artefact.schema):
        raise npz.BadArrays(f"rows have {rows.shape[1]} values, the schema has {len(artefact.schema)}")
    heads = serving.heads(artefact)
    members = serving.members(artefact, device=device)
    members.measure(_golden(artefact))
    reduced = Reduced(members, heads, ensemble=manifest.ensemble)

    def score(part: slice) -> Scores:
        predictives, _ = reduced.read(reduced(rows[part]))
        return replay.scored(heads, manifest, predictives)

    return Passes(len(rows), MOST_ROWS, score)


def _golden(artefact: Artefact) -> NDArray[np.float32]:
    """Return the golden rows, which members use to choose among ways to compute, as at start."""
    path = artefact.path(artefact.manifest.golden)
    try:
        with np.load(path, allow_pickle=False) as recorded:
            return np.asarray(recorded[_ROWS], np.float32)
    except Exception as error:  # damaged archives and headers raise many kinds of errors
        raise ArtefactError(f"{path}: no readable rows: {error}") from error
