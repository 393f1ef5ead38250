"""Models of every framework, trained on a made table; None where a framework has no such model."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.models.rows.worlds import CLASSES, Columns, Kind

Framework = Literal["sklearn", "lightgbm", "xgboost", "catboost", "torch", "quantile"]
FRAMEWORKS: tuple[Framework, ...] = ("sklearn", "lightgbm", "xgboost", "catboost", "torch", "quantile")
EMPTY = {
    ("xgboost", "categorical"): "XGBoost's categorical splits have no ONNX form",
    ("torch", "categorical"): "a plain MLP takes numbers",
    ("torch", "missing"): "a plain MLP takes no missing values",
    ("quantile", "binary"): "classes have no quantiles",
    ("quantile", "five"): "classes have no quantiles",
}
"""Framework and kind of columns or target to the reason why there is no such model."""


def trained(framework: Framework, kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    """Return a fitted model, or five networks; small enough for a second each."""
    return {
        "sklearn": _sklearn,
        "lightgbm": _lightgbm,
        "xgboost": _xgboost,
        "catboost": _catboost,
        "torch": _torch,
        "quantile": _quantile,
    }[framework](kind, columns, frame, labels)


def labels_for(framework: Framework, kind: Kind, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that a framework is trained with: numbers where it takes no texts."""
    if framework in ("xgboost", "torch") and kind == "binary":
        return np.array([CLASSES[kind].index(label) for label in labels])
    return labels


def _sklearn(kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    forest = (RandomForestRegressor if kind == "regression" else RandomForestClassifier)(
        40, min_samples_leaf=5, random_state=0
    )
    if columns == "numeric":
        return forest.fit(frame, labels)
    steps = [(SimpleImputer(), [name for name in frame.columns if name != "city"])]
    if columns == "categorical":
        steps.append((OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city"]))
    return make_pipeline(make_column_transformer(*steps), forest).fit(frame, labels)


def _lightgbm(kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    model = (LGBMRegressor if kind == "regression" else LGBMClassifier)(n_estimators=80, verbose=-1, n_jobs=2)
    return model.fit(frame, labels)


def _xgboost(kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBRegressor if kind == "regression" else XGBClassifier)(n_estimators=60, n_jobs=2).fit(frame, labels)


def _catboost(kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    model = (CatBoostRegressor if kind == "regression" else CatBoostClassifier)(
        iterations=100,
        verbose=False,
        allow_writing_files=False,
        thread_count=2,
        cat_features=["city"] if columns == "categorical" else None,
    )
    return model.fit(frame, labels)


def _torch(kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    import torch
    from torch import nn

    x = torch.from_numpy(frame.to_numpy(np.float32, copy=True))
    y = torch.tensor(labels, dtype=torch.float32 if kind == "regression" else torch.long)
    width = 1 if kind == "regression" else len(CLASSES[kind])
    networks = []
    for seed in range(5):
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, width))
        optimiser = torch.optim.Adam(network.parameters(), 3e-3)
        for _ in range(150):
            optimiser.zero_grad()
            output = network(x)
            loss = nn.functional.cross_entropy(output, y) if width > 1 else ((output[:, 0] - y) ** 2).mean()
            loss.backward()
            optimiser.step()
        networks.append(network)
    return networks


def _quantile(kind: Kind, columns: Columns, frame: pd.DataFrame, labels: NDArray[Any]) -> Any:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=0.05,0.5,0.95",
        iterations=200,
        verbose=False,
        allow_writing_files=False,
        thread_count=2,
        cat_features=["city"] if columns == "categorical" else None,
    )
    return model.fit(frame, labels)
