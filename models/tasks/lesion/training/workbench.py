"""Commands ``demur data lesion`` and ``demur train lesion``, with progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models import provenance
from models.executors.device import CPU, Device
from models.tasks.lesion.data.official import read_files
from models.tasks.lesion.networks.settings import FAMILIES
from models.tasks.lesion.training import train
from models.workbench import Action, Progress

if TYPE_CHECKING:
    from models.artefact import Artefact

__all__ = ["ACTIONS", "FAMILIES", "PRESETS", "read_files", "train_artefact"]


PRESETS = ("brief", "fast", "full")
"""Presets: the usual two, and one of about two minutes per member for trials."""
_SETTINGS = {"fast": "small", "full": "paper"}


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
    """Train a family on a directory in the official layout and write the calibrated artefact.

    Scans of all sites are used by their split: ``train`` for training and calibration (``held_out``), ``dev_in`` to
    choose weights and the threshold of voxels by, other labelled scans for the model card. Needs the ``train`` extra.

    Raises:
        BadFile: a file is duplicated, missing or not an image.
        ValueError: the family is unknown, or there are no members, training scans or development scans.
        RuntimeError: training of a member failed.
    """
    data = read_files(directory)
    return train.train_artefact(
        family,
        data,
        out,
        members=members,
        seed=seed,
        preset=_SETTINGS.get(preset, preset),
        provenance=provenance.read(directory),
        progress=progress,
        device=device,
    )


ACTIONS: tuple[Action, ...] = ()
"""Actions of ``demur data`` besides those of the simulator."""
