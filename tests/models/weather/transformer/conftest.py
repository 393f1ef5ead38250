"""TrainingRows rows with a known relation, and ensembles that nobody trained."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from models.tasks.weather.transformer import network
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.scaling import Scaling, TrainingRows
from models.tasks.weather.transformer.settings import Sizes

SENTINELS = ((1, -9999.0),)
Untrained = Callable[..., TrainedEnsemble]


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


def some_rows(count: int, features: int, seed: int = 0) -> np.ndarray:
    """Rows of very different units, some values missing in both ways."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(np.linspace(-50, 1e5, features), np.linspace(0.01, 800, features), (count, features))
    rows[draw.random(rows.shape) < 0.05] = np.nan
    rows[::5, 1] = -9999.0
    return rows.astype(np.float32)


def make_toy(count: int, seed: int) -> TrainingRows:
    """Temperature 10 + 5 a °C with a noise of 0.5 °C, or 3 °C where b > 0; class 0, 1 or 2 by c; d is missing often."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 4))
    noise = np.where(rows[:, 1] > 0, 3.0, 0.5) * draw.normal(size=count)
    classes = np.digitize(rows[:, 2], (-0.5, 0.5))
    temperature = 10 + 5 * rows[:, 0] + noise
    rows[draw.random(count) < 0.4, 3] = np.nan
    return TrainingRows(rows.astype(np.float32), temperature, classes)


@pytest.fixture(scope="session")
def toy() -> Callable[[int, int], TrainingRows]:
    return make_toy


@pytest.fixture(scope="session")
def untrained() -> Untrained:
    """Networks with first weights, moved a little so that no norm is the identity and no bias is zero."""

    def make(
        sizes: Sizes, members: int = 1, *, samples: int = 1, features: int = 123, classes: int = 9, celsius: bool = True
    ) -> TrainedEnsemble:
        draw = np.random.default_rng(9)
        temperature = draw.normal(8, 11, 500) if celsius else None
        scaling = Scaling.fit(some_rows(500, features), temperature, SENTINELS)
        parts = []
        with torch.random.fork_rng():
            torch.manual_seed(4)
            for _ in range(members):
                member = network.Network(sizes, scaling, temperature=celsius, classes=classes)
                for value in member.parameters():
                    value.data += 0.1 * torch.randn_like(value)
                parts.append(network.export(member))
        weights = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        family = "ft_mcdp" if samples > 1 else "ft_transformer"
        return TrainedEnsemble(family, sizes, scaling, weights, tuple(range(7, 7 + members)), samples=samples)

    return make
