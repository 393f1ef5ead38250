"""What ``demur data motion`` and ``demur train motion`` do: scenes out, scenes in, with progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from models import building
from models.executors.device import CPU, Device
from models.tasks.motion.data import official_actions
from models.tasks.motion.data.writer import PROVENANCE
from models.tasks.motion.networks.settings import FAMILIES
from models.tasks.motion.training import train
from models.workbench import Progress

if TYPE_CHECKING:
    from models.artefact import Artefact

__all__ = ["ACTIONS", "FAMILIES", "read_files", "train_artefact"]

ACTIONS = official_actions.ACTIONS
"""Actions of ``demur data`` beside those of the simulator."""

_PRESETS = {"fast": "small", "full": "paper"}


def train_artefact(
    family: str,
    directory: Path,
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    progress: Progress,
    device: Device = CPU,
) -> Artefact:
    """Trains a family on a directory in the official layout and writes the calibrated artefact.

    Needs the ``train`` extra.

    Raises:
        BadFile: files that cannot be read, or that do not fit each other.
        ValueError: an unknown family, no members, or no requests to train on or to choose weights by.
        RuntimeError: the training of a member failed.
    """
    return train.train_artefact(
        family,
        directory,
        out,
        members=members,
        seed=seed,
        preset=_PRESETS.get(preset, preset),
        provenance=provenance(directory),
        progress=progress,
        device=device,
    )


def provenance(directory: Path) -> building.Provenance:
    """What a data set says of its origin and licence."""
    source = directory / PROVENANCE
    return building.Provenance(**json.loads(source.read_text())) if source.exists() else building.UNSTATED


def read_files(directory: Path) -> Path:
    """The directory itself: a released ensemble is calibrated with requests that are read one by one.

    Raises:
        FileNotFoundError: it is no folder.
    """
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory} is no folder; one with the official names is needed, dev_pb/000/*.pb")
    return directory
