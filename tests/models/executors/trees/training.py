"""Small CatBoost models, trained in a second, and the schema that fits them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.trees.model import TreeModel, open_model
from models.head import Head
from models.schema import Feature, Schema
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE

FEATURES = 7
HEADS = {"RMSEWithUncertainty": TEMPERATURE, "MultiClass": PRECIPITATION}


def schema(names: tuple[str, ...] = tuple(f"feature_{index}" for index in range(FEATURES))) -> Schema:
    return Schema.of(Feature(name, "1", -10.0, 10.0, "", nullable=True) for name in names)


def rows(count: int, seed: int = 0, missing: float = 0.05) -> NDArray[np.float32]:
    """Gaussian rows [n, FEATURES] with missing values."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(count, FEATURES)).astype(np.float32)
    values[draw.random(values.shape) < missing] = np.nan
    return values


def train(loss: str, inputs: NDArray[np.float32], *, names: list[str] | None = None, **settings: Any) -> Any:
    """A model of a made-up dependence; classes are 0, 1, 2, 4 and 7."""
    from catboost import CatBoost, Pool

    known = np.nan_to_num(inputs).astype(np.float64)
    noise = np.random.default_rng(9).normal(size=len(inputs))
    target = 2 * known[:, 0] + known[:, 1] ** 2 + noise * np.exp(known[:, 2])
    if loss == "MultiClass":
        target = np.array([0, 1, 2, 4, 7])[np.digitize(target, [-2.0, 0.0, 2.0, 4.0])]
    defaults = {"iterations": 40, "depth": 4, "learning_rate": 0.3, "random_seed": 1, "thread_count": 1}
    quiet = {"allow_writing_files": False, "verbose": False, "loss_function": loss}
    model = CatBoost(defaults | quiet | settings)
    model.fit(Pool(inputs, target, feature_names=names))
    return model


def saved(folder: Path, model: Any, head: Head, name: str = "model.cbm") -> TreeModel:
    """The model as opened from a file."""
    model.save_model(str(folder / name))
    return open_model(folder / name, head, schema())


def trained(folder: Path, loss: str, name: str = "model.cbm", seed: int = 0, **settings: Any) -> TreeModel:
    """Trains on rows of its own and opens the file."""
    return saved(folder, train(loss, rows(400, seed), **settings), HEADS[loss], name)
