"""Finished members of a training on disk, so that one that was cut off goes on where it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models import npz
from models.tasks.weather.transformer.ensemble import Weights

DESCRIPTION = "training.json"


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
        path = self.directory / DESCRIPTION
        self.directory.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write(path, json.dumps(self.description, indent=1, sort_keys=True).encode())
        found = json.loads(path.read_text())
        other = sorted(name for name in found | self.description if found.get(name) != self.description.get(name))
        if other:
            raise ValueError(
                f"{self.directory} holds members of another training, with a different {', '.join(other)}: "
                "name another folder, or remove this one"
            )

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
        _write(self._path(seed), npz.encode(weights | numbers))

    def _path(self, seed: int) -> Path:
        return self.directory / f"member-{seed}.npz"


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)
