"""A small simulated partition and a large piece of one split, made once."""

import numpy as np
import pytest

from models.tasks.weather.data import partition
from models.tasks.weather.data.features import NAMES
from models.tasks.weather.data.table import Table
from simulators.weather import dataset

SCALE = 0.003


@pytest.fixture(scope="session")
def splits() -> dict[str, Table]:
    """All nine splits at a scale of 0.003, seed 1."""
    return dataset.simulate(SCALE, 1, extended=True)


@pytest.fixture(scope="session")
def world() -> dataset.World:
    return dataset.world(1)


@pytest.fixture(scope="session")
def globe(world: dataset.World) -> Table:
    """Sixteen thousand reports of all stations and the whole year."""
    rng = np.random.default_rng(0)
    station = rng.integers(0, len(world.stations), 16_000)
    return world.rows(rng, station, partition.BEGIN + 3600.0 * rng.integers(0, 365 * 24, 16_000))


@pytest.fixture(scope="session")
def columns(globe: Table) -> dict[str, np.ndarray]:
    """The features of ``globe`` by name, float64."""
    return dict(zip(NAMES, globe.features.T.astype(np.float64), strict=True))
