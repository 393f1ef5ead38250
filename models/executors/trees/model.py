"""CatBoost model that is checked against a head and a schema when it is opened."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.head import Head
from models.schema import Schema

LOSSES = {"gaussian": "RMSEWithUncertainty", "categorical": "MultiClass"}
"""Kind of a head to the training loss of its models."""


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Model of a .cbm file, opened by the library."""

    path: Path
    native: Any
    """The ``catboost.CatBoost``; its raw sums are mean and log standard deviation, or one logit per class."""
    head: Head
    trees: int
    classes: NDArray[np.intp]
    """Class of each logit, [D]; empty for a Gaussian head."""
    shrinkage: float | None
    """Share by which each iteration shrank the model before it (0 without Langevin boosting); None if unknown."""

    @property
    def dimension(self) -> int:
        """Number of raw sums per row, D: 2, or the number of classes that the model has seen."""
        return len(self.classes) or 2


def open_model(path: Path, head: Head, schema: Schema) -> TreeModel:
    """Open a model and check that it answers the head from the schema's features.

    Raises:
        ArtefactError: no readable model, no trees, features that are not numeric, another number or other names of
            features than the schema's, another loss than the head's, or labels that are not classes of the head.
    """
    from catboost import CatBoost, CatBoostError

    if head.kind not in LOSSES:
        raise ArtefactError(f"{path}: trees answer {' and '.join(LOSSES)} heads, head {head.name!r} is {head.kind}")
    native = CatBoost()
    try:
        native.load_model(str(path))
    except (CatBoostError, OSError) as error:
        raise ArtefactError(f"{path}: no readable CatBoost model: {str(error).strip()}") from error
    metadata = {str(key): str(value) for key, value in native.get_metadata().items()}
    _check_features(path, native, schema)
    params = _objects(path, metadata, "params")
    loss = (params.get("loss_function") or _objects(path, metadata, "loss_function")).get("type")
    if loss != LOSSES[head.kind]:
        raise ArtefactError(
            f"{path}: trained with loss {loss or 'unknown'}, head {head.name!r} needs {LOSSES[head.kind]}"
        )
    classes = np.empty(0, np.intp)
    if head.kind == "categorical":
        classes = _classes(path, _objects(path, metadata, "class_params"), head)
    shape = np.shape(native.get_scale_and_bias()[1])
    if shape != (len(classes) or 2,):
        raise ArtefactError(f"{path}: {shape[0] if shape else 1} raw outputs, not {len(classes) or 2}")
    if not native.tree_count_:
        raise ArtefactError(f"{path}: a model without trees")
    return TreeModel(path, native, head, int(native.tree_count_), classes, _shrinkage(params))


def _objects(path: Path, metadata: Mapping[str, str], key: str) -> dict[str, Any]:
    try:
        value = json.loads(metadata.get(key) or "{}")
    except ValueError as error:
        raise ArtefactError(f"{path}: its {key} are not readable: {error}") from error
    if not isinstance(value, dict):
        raise ArtefactError(f"{path}: its {key} are no JSON object")
    return value


def _check_features(path: Path, native: Any, schema: Schema) -> None:
    names: Sequence[str] = native.feature_names_ or ()
    if len(names) != len(schema):
        raise ArtefactError(f"{path}: takes {len(names)} features, the schema has {len(schema)}")
    kinds = {
        "categorical": native.get_cat_feature_indices(),
        "text": native.get_text_feature_indices(),
        "embedding": native.get_embedding_feature_indices(),
    }
    for kind, indices in kinds.items():
        if len(indices):
            raise ArtefactError(f"{path}: feature {names[indices[0]]!r} is {kind}; only numeric features are served")
    if list(names) == [str(index) for index in range(len(names))]:
        return  # the library's names for columns without names
    for index, (name, expected) in enumerate(zip(names, schema.names, strict=True)):
        if name != expected:
            raise ArtefactError(f"{path}: feature {index} is {name!r}, the schema has {expected!r} there")


def _classes(path: Path, params: Mapping[str, Any], head: Head) -> NDArray[np.intp]:
    """Return the labels of the model's logits; there are none for classes that never occurred in training."""
    names, seen = params.get("class_names") or None, params.get("class_to_label", ())
    try:
        labels = [
            names[index] if names else index for index in seen
        ]  # a model with a declared number of classes has no names
    except (TypeError, IndexError, KeyError) as error:
        raise ArtefactError(f"{path}: its class_params are not readable: {error!r}") from error
    allowed = head.classes or 0
    if head.class_codes and set(labels) <= set(head.class_codes) and not set(labels) <= set(range(allowed)):
        labels = [head.class_codes.index(label) for label in labels]  # trained on an official file without changes
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, int | float) or label not in range(allowed):
            raise ArtefactError(
                f"{path}: label {label!r} is no class of head {head.name!r}: train on 0 to {allowed - 1}"
            )
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise ArtefactError(f"{path}: classes {labels}; two or more different ones are needed")
    return np.array(labels, np.intp)


def _shrinkage(params: Mapping[str, Any]) -> float | None:
    boosting = params.get("boosting_options")
    if not isinstance(boosting, dict):
        return None
    rate, step = boosting.get("model_shrink_rate", 0), boosting.get("learning_rate", 0)
    if not isinstance(rate, int | float) or not isinstance(step, int | float) or not 0 <= rate * step < 1:
        return None
    return float(np.float32(rate) * np.float32(step))
