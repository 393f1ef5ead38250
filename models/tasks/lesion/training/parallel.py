"""Trains the members of a lesion ensemble from scans on disk, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from models import side_by_side
from models.tasks.lesion.data.examples import Example
from models.tasks.lesion.networks.settings import Settings

TRAIN, DEV = "train", "dev_in"


def train_member(scans: Path, folder: Path, settings: Settings, seed: int, tell: Callable[[float, str], None]) -> None:
    """Trains one member; it lies in ``folder`` afterwards (``training.finished``).

    Args:
        scans: folder of stored examples (``examples.Example``), in subfolders ``train`` and ``dev_in``.
        tell: told the share done, and a line.

    Raises:
        ValueError, FloatingPointError: as ``training.train``.
    """
    from models.tasks.lesion.training import member

    data = {
        name: [Example.load(path) for path in sorted((scans / name).iterdir()) if not path.name.startswith(".")]
        for name in (TRAIN, DEV)
    }
    member.train(
        data[TRAIN],
        data[DEV],
        settings,
        seed,
        folder=folder,
        progress=lambda state: tell(state.share, str(state)),
    )


def train_members(
    scans: Path,
    folder: Path,
    settings: Settings,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    progress: Callable[[float, str], None] = lambda done, what: None,
) -> None:
    """Trains the members of all seeds, ``jobs`` at a time; those that are finished in ``folder`` are left alone.

    Raises:
        RuntimeError: a member's process failed; the message says why. The others are stopped; what was saved stays.
    """
    side_by_side.train_members(partial(train_member, scans, folder, settings), seeds, jobs=jobs, progress=progress)
