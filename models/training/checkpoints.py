"""Checkpoints of a member: its state during training, its weights afterwards.

Files hold tensors and numbers; nothing else is read from them. Reading and writing needs torch.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.training.training_folder import claim, write_whole

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class TrainedMember:
    """Finished member."""

    seed: int
    weights: dict[str, Tensor]
    steps: int
    """Steps of its last stage up to the kept weights."""
    score: float
    """Score of these weights on development data."""


@dataclass(frozen=True)
class Checkpoints:
    """Files of one member in a folder reserved for its training (``training_folder.claim``)."""

    folder: Path
    seed: int

    def finished(self) -> dict[str, Any] | None:
        """Return what ``finish`` stored; None before."""
        return _read(self.folder / f"member-{self.seed}.pt")

    def state(self) -> dict[str, Any] | None:
        """Return what ``save`` stored last; None before the first call, and after the member is finished."""
        return _read(self._state)

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the stored state atomically."""
        write_whole(self._state, _bytes(state))

    def finish(self, result: Mapping[str, Any]) -> None:
        """Store the result and remove the state."""
        write_whole(self.folder / f"member-{self.seed}.pt", _bytes(result))
        self._state.unlink(missing_ok=True)

    @property
    def _state(self) -> Path:
        return self.folder / f"member-{self.seed}.state.pt"


def claim_members(folder: Path, settings: object, **fingerprints: str) -> None:
    """Create the folder of members, or check that it was made for these settings and data. Needs torch.

    Args:
        fingerprints: name of a data set to its digest.

    Raises:
        ValueError: the folder belongs to another training.
    """
    import torch

    claim(folder, {"settings": repr(settings), "torch": torch.__version__, **fingerprints})


def finished(folder: Path, seed: int) -> TrainedMember | None:
    """Return the member of a seed that was finished in ``folder``, None without one."""
    stored = Checkpoints(folder, seed).finished()
    if stored is None:
        return None
    (measure,) = stored.keys() - {"seed", "weights", "steps"}
    return TrainedMember(stored["seed"], stored["weights"], stored["steps"], stored[measure])


def finished_members(folder: Path, seeds: Sequence[int]) -> list[TrainedMember]:
    """Return the finished members of all seeds.

    Raises:
        ValueError: a member is not finished.
    """
    members = []
    for seed in seeds:
        if (member := finished(folder, seed)) is None:
            raise ValueError(f"{folder} has no finished member of seed {seed}")
        members.append(member)
    return members


def _read(path: Path) -> dict[str, Any] | None:
    import torch

    if not path.exists():
        return None
    content: dict[str, Any] = torch.load(path, weights_only=True)
    return content


def _bytes(content: Mapping[str, Any]) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(dict(content), buffer)
    return buffer.getvalue()
