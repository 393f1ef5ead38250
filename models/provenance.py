"""Origin and licence of data, and the file that states them in a data folder."""

import json
from dataclasses import dataclass
from pathlib import Path

PROVENANCE = "PROVENANCE.json"
"""File of a data folder; copied into the model card of artefacts that are trained on its data."""


@dataclass(frozen=True)
class Provenance:
    """Origin and licence of data."""

    description: str
    licence: str


UNSTATED = Provenance("labelled files given to training", "not stated")


def read(directory: Path) -> Provenance:
    """Return the provenance of a data folder; ``UNSTATED`` if it has no file."""
    path = directory / PROVENANCE
    return Provenance(**json.loads(path.read_text())) if path.exists() else UNSTATED


def write(directory: Path, description: str, licence: str) -> Path:
    """Write the file of a data folder, and return its path."""
    path = directory / PROVENANCE
    path.write_text(json.dumps({"description": description, "licence": licence}, indent=1))
    return path
