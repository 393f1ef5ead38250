"""Replay sets of vessel power: rows in the schema's order and units, scored by the served graph."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npz, replay
from models.artefact import Artefact
from models.building import UNSTATED
from models.executors.device import Device
from models.executors.onnx import OnnxGraph, RowGraph
from models.predictive import Gaussian
from models.replay import Arrays, Passes, Scores
from models.row_artefact import with_replay_set
from models.tasks.vessel.inference.scoring import rows_per_pass
from models.tasks.vessel.spec import HEADS, POWER

UNITS = 4500
"""Number of rows in a set, if there are enough."""
_ROWS = "rows"


def encode(known: NDArray[Any], shifted: NDArray[Any], units: int = UNITS) -> bytes:
    """Return a file of inputs: rows [N, F] of in-domain and shifted data, drawn and shuffled with a fixed seed."""
    inside, outside = replay.chosen(len(known), len(shifted), units)
    rows = np.concatenate([known[inside], shifted[outside]]).astype(np.float32)
    return npz.encode({_ROWS: rows[replay.shuffled(len(rows))]})


def of_files(artefact: Artefact, directory: Path) -> Artefact:
    """Add rows of ``dev_in.csv`` and ``dev_out.csv`` of a folder as the replay set of an artefact.

    Raises:
        BadFile, OSError, ValueError: a file is missing or cannot be read.
    """
    from models.tasks.vessel.data.table import read_files

    return with_replay_set(artefact, read_files(directory, ("dev_in", "dev_out")), encode, UNSTATED)


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Passes:
    """Return the passes that score the rows of a replay set.

    Raises:
        BadArrays: see ``models.replay.array``.
        ArtefactError, ProviderUnavailable: the graph cannot be run.
    """
    manifest = artefact.manifest
    rows = replay.array(arrays, _ROWS, "float32", None, len(artefact.schema))
    statistics = ("mean", "mvar", "varm") if manifest.ensemble else ("mean", "mvar")
    pass_rows = rows_per_pass(manifest.members * manifest.samples, device.provider)
    run = RowGraph(OnnxGraph(artefact.path(manifest.executor.file), device=device), statistics, pass_rows=pass_rows)

    def score(part: slice) -> Scores:
        return replay.scored(HEADS, manifest, {POWER.name: Gaussian(*run(rows[part]))})

    return Passes(len(rows), pass_rows, score)
