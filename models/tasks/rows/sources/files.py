"""Files of trained models, opened by their form; nothing that could run code is ever opened."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources import catboost_source, folders, lightgbm_source, xgboost_source
from models.tasks.rows.sources.brought import Brought, of_graph

PICKLES = frozenset({".pkl", ".pickle", ".joblib", ".pt", ".pth", ".skops", ".dill", ".cloudpickle"})
FORMS = (
    ".onnx; CatBoost .cbm or .json; LightGBM text (.txt, .lgb); XGBoost .json or .ubj; a folder of an MLflow model, or "
    "of "
    "an MLServer model with model-settings.json"
)


def opened(path: Path) -> Brought:
    """Open a model file, or a folder that names one.

    Raises:
        Refused: no such file, a pickle, an unknown form, or a model that cannot be served.
    """
    if path.is_dir():
        named = folders.model_file(path)
        readers: Mapping[str, Callable[[Path], Brought]] = {
            "catboost": _catboost,
            "lightgbm": lightgbm_source.opened,
            "onnx": _onnx,
            "xgboost": xgboost_source.opened,
        }
        return readers[named.framework](named.path)
    suffix = path.suffix.lower()
    if suffix in PICKLES or (path.is_file() and path.read_bytes()[:1] == b"\x80"):
        raise Refused(
            f"{path}: is a pickle, which runs code when it is opened, and is never opened here; in your own Python, "
            "demur.build(model, X, y, name=...) makes an artefact from the model itself"
        )
    if not path.is_file():
        raise Refused(f"{path}: no such file; bring one of: {FORMS}")
    readers = {
        ".onnx": _onnx,
        ".cbm": _catboost,
        ".cb": _catboost,
        ".json": _json,
        ".ubj": xgboost_source.opened,
        ".xgb": xgboost_source.opened,
        ".txt": lightgbm_source.opened,
        ".lgb": lightgbm_source.opened,
    }
    if suffix not in readers:
        raise Refused(f"{path}: must be one of: {FORMS}")
    return readers[suffix](path)


def _onnx(path: Path) -> Brought:
    content = path.read_bytes()
    return of_graph(content, str(path), _family(content))


def _family(content: bytes) -> str:
    """Return the framework that a graph comes from, by the name of its exporter."""
    import onnx

    try:
        producer = str(onnx.load_model_from_string(content).producer_name).lower()
    except Exception:  # the reader names the file and the reason
        return "onnx"
    known = {"skl2onnx": "sklearn", "pytorch": "torch", "catboost": "catboost", "tf2onnx": "keras", "keras": "keras"}
    return next((family for name, family in known.items() if name in producer), "onnx")


def _catboost(path: Path) -> Brought:
    source = catboost_source.opened(path)
    if source.as_graph:
        brought = of_graph(catboost_source.graph_of(source), str(path), "catboost", names=source.names)
        return brought
    return Brought(source, "catboost", source.names)


def _json(path: Path) -> Brought:
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise Refused(f"{path}: is no JSON ({error}); a .json file must be a model of XGBoost or CatBoost") from error
    if isinstance(document, dict) and "learner" in document:
        return xgboost_source.opened(path)
    if isinstance(document, dict) and ("oblivious_trees" in document or "features_info" in document):
        return _catboost(path)
    raise Refused(f"{path}: is no model of XGBoost (learner) or CatBoost (oblivious_trees)")
