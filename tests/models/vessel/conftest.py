"""A small simulated data set and quickly trained ensembles for the vessel tests."""

from collections.abc import Callable
from functools import cache

import pytest
import torch

from models.tasks.vessel.artefact.ensemble import Family, TrainedEnsemble
from models.tasks.vessel.data.table import Table
from models.tasks.vessel.training.train import Settings, train
from simulators.vessel.dataset import simulate

QUICK = Settings(epochs=2, batch=256, rate=5e-3, patience=2)

Trained = Callable[[Family, int], TrainedEnsemble]


@cache
def _data() -> dict[str, Table]:
    return simulate(0.02, 7)


@cache
def _trained(family: Family, members: int) -> TrainedEnsemble:
    torch.set_num_threads(1)
    return train(family, _data(), members=members, seed=3, settings=QUICK)


@pytest.fixture(scope="session")
def data() -> dict[str, Table]:
    """The canonical partition at two hundredths of its size."""
    return _data()


@pytest.fixture(scope="session")
def trained() -> Trained:
    """Two epochs of training, remembered by family and members."""
    return _trained
