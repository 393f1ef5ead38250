"""Models of Python frameworks as they are in memory: conversion to the form of files, and their own predictions."""

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import OPSET, Graph
from models.tasks.rows.data.table import Table
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources import catboost_source, lightgbm_source, xgboost_source
from models.tasks.rows.sources.brought import Brought, of_graph

_SKLEARN = "models of scikit-learn need the extra `sklearn`: pip install 'demur[sklearn]'"


def converted(model: Any, table: Table, columns: Sequence[str]) -> Brought:
    """Return a model of scikit-learn, LightGBM, XGBoost, CatBoost, PyTorch or MAPIE in the form of files.

    Args:
        table: columns that the model takes, for their types.
        columns: names of the columns in the order of the model.

    Raises:
        Refused: another kind of model, or one that cannot be converted.
    """
    module = type(model).__module__.partition(".")[0]
    if module == "lightgbm":
        booster = getattr(model, "booster_", model)
        return lightgbm_source.of_booster(booster, "LightGBM model", _labels(model))
    if module == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return xgboost_source.of_booster(booster, "XGBoost model", _labels(model))
    if module == "catboost":
        return _catboost(model)
    if _is_torch(model):
        return _torch(model, len(columns))
    if module == "mapie":
        return _mapie(model, table, columns)
    if hasattr(model, "get_params") and hasattr(model, "predict"):
        return of_graph(_sklearn(model, table, columns), "scikit-learn model", "sklearn")
    raise Refused(
        f"model = {type(model).__module__}.{type(model).__name__}: must be a model of scikit-learn, LightGBM, XGBoost, "
        "CatBoost, PyTorch or MAPIE; export others as ONNX, and build with demur models build rows"
    )


def predictions(model: Any, X: Any) -> NDArray[np.float64] | None:
    """Return the framework's own predictions for rows, [n], [n, T] or class probabilities [n, C]; None if it has none
    of a known form.

    Args:
        X: rows in the form in which the model takes them.
    """
    if _is_torch(model):
        import torch

        with torch.no_grad():
            output = model(torch.from_numpy(np.array(X, np.float32)))
        return output.numpy().astype(np.float64) if isinstance(output, torch.Tensor) else None
    name = type(model).__name__
    if type(model).__module__.startswith("mapie") or name == "Booster":
        return None
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), np.float64)
    if type(model).__module__.startswith("catboost"):
        return None  # compared with the library when the artefact is verified
    return np.asarray(model.predict(X), np.float64)


def _labels(model: Any) -> tuple[str, ...]:
    """Return the labels of a classifier of scikit-learn's interface as texts; empty if it has none."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ()
    return tuple(str(label.item() if hasattr(label, "item") else label) for label in classes)


def _is_torch(model: Any) -> bool:
    return any(base.__module__.startswith("torch.nn") for base in type(model).__mro__)


def _catboost(model: Any) -> Brought:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path))
        source = catboost_source.opened(path)
        if source.as_graph:
            return of_graph(catboost_source.graph_of(source), "CatBoost model", "catboost", names=source.names)
    return Brought(source, "catboost", source.names)


def _torch(model: Any, width: int) -> Brought:
    import io
    import warnings

    import torch

    model.eval()
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the exporter, about itself
            program = torch.onnx.export(
                model,
                (torch.zeros(2, width),),
                dynamo=True,
                dynamic_shapes=({0: torch.export.Dim("rows", min=1)},),
                opset_version=OPSET,
                external_data=False,
                verbose=False,
            )
            program.save(buffer)
    except Exception as error:  # the exporter raises errors of many kinds
        raise Refused(f"PyTorch model: cannot be exported as ONNX: {str(error).splitlines()[0]}") from error
    return of_graph(buffer.getvalue(), "PyTorch model", "torch", names=())


def _sklearn(model: Any, table: Table, columns: Sequence[str]) -> bytes:
    """Return a model of scikit-learn as a graph: one input, or one for each column of a table with texts."""
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    except ModuleNotFoundError as error:
        raise Refused(f"scikit-learn model: {_SKLEARN} ({error.name} is missing)") from error
    _register_boosters()
    single = [("rows", FloatTensorType([None, len(columns)]))]
    each = [(name, (StringTensorType if table[name].text else FloatTensorType)([None, 1])) for name in columns]
    texts = any(table[name].text for name in columns)
    named = hasattr(model, "feature_names_in_")
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    problem: Exception | None = None
    # a pipeline that chooses columns by name needs an input for each; others are quicker with one
    for types in [each] if texts else [single, each] if named else [single]:
        try:
            graph = to_onnx(model, initial_types=types, options=options, target_opset={"": OPSET, "ai.onnx.ml": 3})
            return bytes(graph.SerializeToString())
        except Exception as error:  # converters raise errors of many kinds
            problem = problem or error
    raise Refused(f"scikit-learn model: cannot be converted to ONNX: {str(problem).splitlines()[0]}") from problem


def _register_boosters() -> None:
    """Tell skl2onnx of LightGBM and XGBoost as last steps of pipelines, where they are installed."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes,
        calculate_linear_regressor_output_shapes,
    )

    zipmap = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor
        from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm

        def exact(scope: Any, operator: Any, container: Any) -> None:
            single = copy(operator.raw_operator)
            single._Booster = lightgbm_source.in_single_precision(single.booster_)
            operator.raw_operator = single
            convert_lightgbm(scope, operator, container)

        update_registered_converter(
            LGBMClassifier,
            "LightGbmLGBMClassifier",
            calculate_linear_classifier_output_shapes,
            exact,
            options=zipmap,
        )
        update_registered_converter(
            LGBMRegressor,
            "LightGbmLGBMRegressor",
            calculate_linear_regressor_output_shapes,
            exact,
            options={"split": None},
        )
    except ModuleNotFoundError:
        pass
    try:
        from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
        from xgboost import XGBClassifier, XGBRegressor

        update_registered_converter(
            XGBClassifier,
            "XGBoostXGBClassifier",
            calculate_linear_classifier_output_shapes,
            convert_xgboost,
            options=zipmap,
        )
        update_registered_converter(
            XGBRegressor, "XGBoostXGBRegressor", calculate_linear_regressor_output_shapes, convert_xgboost
        )
    except ModuleNotFoundError:
        pass


MAPIE_QUANTILES = "quantiles"
"""Name of the output of joined quantile models."""


def _mapie(model: Any, table: Table, columns: Sequence[str]) -> Brought:
    """Return the estimators of a MAPIE regressor: three quantile models as one, or the one estimator behind it."""
    quantile = getattr(model, "_mapie_quantile_regressor", None)
    if quantile is not None:
        levels = [float(level) for level in quantile.alpha_np]
        order = np.argsort(levels)
        parts = [of_graph(_sklearn(quantile.estimators_[at], table, columns), "MAPIE model", "mapie") for at in order]
        return of_graph(_joined(parts, len(columns)), "MAPIE model", "mapie", levels=tuple(levels[at] for at in order))
    regressor = getattr(model, "_mapie_regressor", None)
    single = getattr(getattr(regressor, "estimator_", None), "single_estimator_", None)
    if single is None:
        raise Refused(
            f"model = {type(model).__name__}: must be a fitted SplitConformalRegressor, CrossConformalRegressor, "
            "JackknifeAfterBootstrapRegressor or ConformalizedQuantileRegressor of MAPIE"
        )
    return converted(single, table, columns)


def _joined(parts: Sequence[Brought], width: int) -> bytes:
    """Return models of one value each as one graph with all values side by side."""
    graph = Graph("joined")
    rows = graph.input("rows", ("rows", width))
    values = []
    for part in parts:
        file: Any = part.model
        (name,) = file.outputs
        outputs: Mapping[str, Any] = graph.embed(file.model, {file.inputs[0].name: rows})
        values.append(graph.op("Reshape", outputs[name], np.array([-1, 1])))
    graph.output(MAPIE_QUANTILES, graph.op("Concat", *values, axis=1), ("rows", len(parts)))
    return graph.serialise()
