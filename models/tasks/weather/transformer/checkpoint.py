"""Finished members of a training on disk, so that one that was cut off goes on where it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models import npz
from models.resume import claim, write_whole
from models.tasks.weather.transformer.ensemble import Weights


@dataclass(frozen=True)
class Checkpoint:
    """A folder of one training's finished members.

    Raises:
        ValueError: the folder is another training's (other data, settings or versions).
    """

    directory: Path
    description: dict[str, str]
    """What makes the trained weights what they are."""

    def __post_init__(self) -> None:
        claim(self.directory, self.description)

    def load(self, seed: int) -> tuple[Weights, dict[str, float]] | None:
        """Weights and outcome of a member; None if it is not finished."""
        path = self._path(seed)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        outcome = {
            name.removeprefix("outcome."): float(arrays.pop(name)) for name in list(arrays) if "outcome." in name
        }
        return arrays, outcome

    def save(self, seed: int, weights: Weights, outcome: dict[str, float]) -> None:
        """Keeps a finished member; a file is there completely or not at all."""
        numbers = {f"outcome.{name}": np.asarray(value, np.float64) for name, value in outcome.items()}
        write_whole(self._path(seed), npz.encode(weights | numbers))

    def _path(self, seed: int) -> Path:
        return self.directory / f"member-{seed}.npz"
