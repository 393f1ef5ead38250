"""XGBoost models as sources, from their JSON or UBJ form or a booster."""

from pathlib import Path
from typing import Any

from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources.brought import Brought, of_graph

INSTALL = "XGBoost models need the extra `xgboost`: pip install 'demur[xgboost]'"


def opened(path: Path) -> Brought:
    """Open a model that XGBoost saved.

    Raises:
        Refused: XGBoost is not installed, or see ``of_booster``.
    """
    try:
        from xgboost import Booster
        from xgboost.core import XGBoostError
    except ModuleNotFoundError as error:
        raise Refused(f"{path}: {INSTALL} ({error.name} is missing)") from error
    booster = Booster()
    try:
        booster.load_model(str(path))
    except (XGBoostError, ValueError) as error:
        raise Refused(f"{path}: no readable XGBoost model: {str(error).splitlines()[0]}") from error
    return of_booster(booster, str(path))


def of_booster(booster: Any, name: str, classes: tuple[str, ...] = ()) -> Brought:
    """Return a booster as a graph.

    Args:
        classes: labels of the classes in the order of the outputs; empty if they are not known.

    Raises:
        Refused: it has categorical columns, cannot be converted, or packages are missing.
    """
    try:
        from onnxmltools import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType
    except ModuleNotFoundError as error:
        raise Refused(f"{name}: {INSTALL} ({error.name} is missing)") from error
    if "c" in (booster.feature_types or []):
        raise Refused(
            f"{name}: XGBoost model with categorical columns has no ONNX form; encode them in a pipeline, or train it "
            "with "
            "LightGBM or CatBoost"
        )
    names = tuple(booster.feature_names or ())
    booster.feature_names = None  # the converter knows f0, f1, ... only
    try:
        model = convert_xgboost(booster, initial_types=[("rows", FloatTensorType([None, booster.num_features()]))])
    except Exception as error:  # converters raise errors of many kinds
        raise Refused(f"{name}: XGBoost model cannot be converted: {error}") from error
    finally:
        booster.feature_names = list(names) or None
    return of_graph(model.SerializeToString(), name, "xgboost", names=names, classes=classes)
