"""Rows of the official 123 columns, drawn from their ranges."""

import numpy as np

from models.building import Labelled
from models.tasks.weather.data.features import SCHEMA


def table(count: int, seed: int) -> Labelled:
    """The official columns in their ranges, from which both labels follow."""
    draw = np.random.default_rng(seed)
    rows = draw.uniform(SCHEMA.lower, SCHEMA.upper, (count, len(SCHEMA))).astype(np.float32)
    for position, values in SCHEMA.enumerated:
        rows[:, position] = draw.choice(values, count)
    rows[(draw.random(rows.shape) < 0.05) & SCHEMA.nullable] = np.nan
    first = draw.normal(size=count)
    rows[:, 0] = SCHEMA.lower[0] + (SCHEMA.upper[0] - SCHEMA.lower[0]) / (1 + np.exp(-first))
    temperature = (10 * first + draw.normal(size=count)).astype(np.float32)
    return Labelled(
        rows, {"temperature": temperature, "precipitation": (np.abs(first) * 3).clip(0, 8).astype(np.uint8)}
    )
