"""Requests with maps that tell what is driven: the agent's velocity, and a lane ahead that bends left or right."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from models.tasks.motion.data import examples
from models.tasks.motion.data.examples import Example, Examples
from models.tasks.motion.inference.grid import OFFICIAL, Grid

SECONDS = 0.2 * np.arange(1, 26)


def drive(seed: int, grid: Grid = OFFICIAL) -> Example:
    """One of the scene ``seed // 2``; every third scene is shifted: twice as fast."""
    generator = np.random.default_rng(seed)
    scene = seed // 2
    shifted = scene % 3 == 2
    speed = float(generator.uniform(1, 8)) * (2 if shifted else 1)
    side = float(generator.choice([-1, 1]))
    drawn = np.zeros(grid.shape, np.float32)
    middle = grid.size // 2
    drawn[0, middle - 1 : middle + 1, middle - 2 : middle + 2] = 1
    drawn[1, middle - 1 : middle + 1, middle - 2 : middle + 2] = speed
    for ahead in range(grid.size // 2):
        drawn[13, int(np.clip(middle + side * ahead**2 / 40, 0, grid.size - 1)), middle + ahead] = 1
    angle = side * 0.1 * SECONDS
    along = speed * SECONDS
    noise = generator.normal(0, 0.1, (25, 2))
    future = np.stack([along * np.cos(angle), along * np.sin(angle)], axis=1) + noise
    tags = {"track": "AnnArbor" if shifted else "Moscow"}
    return Example(f"scene-{scene:04d}", seed % 2, drawn, future.astype(np.float32), shifted, tags)


def drives(first: int, count: int, grid: Grid = OFFICIAL) -> Iterator[Example]:
    return (drive(seed, grid) for seed in range(first, first + count))


def stored(folder: Path, first: int, count: int, grid: Grid = OFFICIAL) -> Examples:
    return examples.store(drives(first, count, grid), folder, grid)
