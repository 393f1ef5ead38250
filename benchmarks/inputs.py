"""Rows that a ship may report, and the artefact that is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact, read

ARTEFACTS = Path(__file__).resolve().parents[1] / "artefacts" / "vessel"
SERVED = "dnn-10"


def artefact(name: str = SERVED) -> Artefact:
    """A verified reference artefact."""
    return read(ARTEFACTS / name)


def rows(source: Artefact, count: int) -> NDArray[np.float32]:
    """Possible rows [count, F] around the middle of what the model was trained on."""
    trained = source.manifest.training_range
    low = source.schema.lower if trained is None else np.array(trained.lower, np.float32)
    high = source.schema.upper if trained is None else np.array(trained.upper, np.float32)
    middle, half = (low + high) / 2, (high - low) / 2
    draw = np.random.default_rng(7).uniform(-0.8, 0.8, (count, len(low)))
    return np.ascontiguousarray(middle + draw * half, np.float32)
