"""Commands ``demur data motion`` and ``demur train motion``, with progress."""

from pathlib import Path

from models.tasks.motion.data import official_actions
from models.tasks.motion.networks.settings import FAMILIES
from models.tasks.motion.training.train import train_artefact

__all__ = ["ACTIONS", "FAMILIES", "read_files", "train_artefact"]

ACTIONS = official_actions.ACTIONS
"""Actions of ``demur data`` besides those of the simulator."""


def read_files(directory: Path) -> Path:
    """Return the directory itself: a released ensemble is calibrated with requests that are read one by one.

    Raises:
        FileNotFoundError: ``directory`` is not a folder.
    """
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory} is no folder; one with the official names is needed, dev_pb/000/*.pb")
    return directory
