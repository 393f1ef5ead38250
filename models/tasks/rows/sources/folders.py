"""Folders of models as other tools write them: MLflow models, and MLServer models with their settings."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.tasks.rows.refusal import Refused

MLFLOW, MLSERVER = "MLmodel", "model-settings.json"
_FLAVOURS = {
    "catboost": ("model.cb", "model.cbm"),
    "lightgbm": ("model.lgb", "model.txt"),
    "xgboost": ("model.ubj", "model.json", "model.xgb"),
    "onnx": ("model.onnx",),
}
"""Flavour of MLflow to the names of its files, which are read without running code."""
_RUNTIMES = {
    "mlserver_sklearn.SKLearnModel": "sklearn",
    "mlserver_xgboost.XGBoostModel": "xgboost",
    "mlserver_lightgbm.LightGBMModel": "lightgbm",
    "mlserver_catboost.CatboostModel": "catboost",
    "mlserver_onnx.OnnxModel": "onnx",
    "mlserver_mlflow.MLflowRuntime": "mlflow",
}
_DEFAULTS = {
    "xgboost": ("model.ubj", "model.json", "model.bst"),
    "lightgbm": ("model.bst", "model.txt"),
    "catboost": ("model.cbm",),
    "onnx": ("model.onnx",),
}
"""File that a runtime of MLServer looks for if the settings name none."""
_PICKLED = (".pkl", ".pickle", ".joblib", ".skops")
_PYTHON = (
    "holds a pickle, which runs code when it is opened; in your own Python, load it and call demur.build(model, X, y, "
    "name=...)"
)


@dataclass(frozen=True)
class Named:
    """Model file that a folder describes."""

    path: Path
    framework: str
    """Framework that wrote it: ``catboost``, ``lightgbm``, ``xgboost`` or ``onnx``."""


def model_file(folder: Path) -> Named:
    """Return the model file that a folder describes.

    Raises:
        Refused: neither form, a model that only Python can load, a runtime that is not supported, or no such file.
    """
    if (folder / MLFLOW).is_file():
        return _mlflow(folder)
    if (folder / MLSERVER).is_file():
        return _mlserver(folder)
    raise Refused(f"{folder}: holds neither {MLFLOW} of MLflow nor {MLSERVER} of MLServer; give the model file itself")


def _mlflow(folder: Path) -> Named:
    import yaml

    path = folder / MLFLOW
    try:
        document = yaml.safe_load(path.read_text())
        flavours = dict(document["flavors"])
    except (OSError, yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise Refused(f"{path}: has no readable flavors: {error}") from error
    for name, files in _FLAVOURS.items():
        if name in flavours:
            own = flavours[name] if isinstance(flavours[name], dict) else {}
            for file in filter(None, (own.get("data"), own.get("model_file"), *files)):
                if (file_path := folder / str(file)).is_file() and file_path.suffix not in _PICKLED:
                    return Named(file_path, name)
    if any(path.suffix in _PICKLED for path in folder.iterdir()):
        raise Refused(f"{folder}: {_PYTHON}")
    raise Refused(
        f"{folder}: MLflow flavours {', '.join(flavours) or 'none'}; read are {', '.join(_FLAVOURS)}, others through "
        "demur.build in your own Python"
    )


def _mlserver(folder: Path) -> Named:
    path = folder / MLSERVER
    try:
        settings: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise Refused(f"{path}: is no JSON: {error}") from error
    implementation = str(settings.get("implementation", ""))
    runtime = _RUNTIMES.get(implementation, "")
    if not runtime:
        raise Refused(
            f"{path}: implementation = {implementation or 'missing'}: must be one of {', '.join(_RUNTIMES)}; bring the "
            "model file itself"
        )
    parameters = settings.get("parameters") or {}
    uri = str(parameters.get("uri", "")).removeprefix("file://")
    if "://" in uri:
        raise Refused(f"{path}: uri = {uri}: is at another place; fetch it, and set uri to the file")
    named = (folder / uri).resolve() if uri else None
    if runtime == "mlflow":
        return _mlflow(named or folder)
    if runtime == "sklearn" or (named is not None and named.suffix in _PICKLED):
        raise Refused(f"{folder}: {_PYTHON}")
    if named is not None and named.is_file():
        return Named(named, runtime)
    for file in _DEFAULTS[runtime]:
        if ((named or folder) / file).is_file():
            return Named((named or folder) / file, runtime)
    raise Refused(
        f"{path}: uri = {uri or 'missing'}: no model file there; it must be one of {', '.join(_DEFAULTS[runtime])}"
    )
