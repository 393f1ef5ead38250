"""Replay sets of weather: rows of forecasts, some with missing values, scored by the served members."""

from pathlib import Path

from models.artefact import Artefact
from models.building import UNSTATED
from models.executors.device import Device
from models.replay import Arrays, Passes
from models.row_artefact import with_replay_set
from models.rows import executors
from models.rows.replay_set import encode, passes
from models.tasks.weather.inference import serving


def of_files(artefact: Artefact, directory: Path) -> Artefact:
    """Add rows of ``dev_in`` and ``dev_out`` of a folder of official files as the replay set of an artefact.

    Raises:
        BadFile, OSError, ValueError: a file is missing or cannot be read.
    """
    from models.tasks.weather.data.folder import read_files

    return with_replay_set(artefact, read_files(directory, ("dev_in", "dev_out")), encode, UNSTATED)


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Passes:
    """Return the passes that score the rows of a replay set; see ``models.rows.replay_set.passes``."""
    manifest = artefact.manifest
    members = serving.members(artefact, device=device)
    predictions = manifest.members * manifest.samples
    return passes(artefact, arrays, executors.of_members(members, serving.heads(artefact), predictions))
