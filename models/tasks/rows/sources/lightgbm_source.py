"""LightGBM models as sources, from their text form or a booster."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources.brought import Brought, of_graph

INSTALL = "LightGBM models need the extra `lightgbm`: pip install 'demur[lightgbm]'"


def opened(path: Path) -> Brought:
    """Open a model that LightGBM saved as text.

    Raises:
        Refused: LightGBM is not installed, or see ``of_booster``.
    """
    try:
        from lightgbm import Booster
        from lightgbm.basic import LightGBMError
    except ModuleNotFoundError as error:
        raise Refused(f"{path}: {INSTALL} ({error.name} is missing)") from error
    try:
        booster = Booster(model_file=str(path))
    except LightGBMError as error:
        raise Refused(f"{path}: no readable LightGBM model: {error}") from error
    return of_booster(booster, str(path))


def of_booster(booster: Any, name: str, classes: tuple[str, ...] = ()) -> Brought:
    """Return a booster as a graph.

    Args:
        classes: labels of the classes in the order of the outputs; empty if they are not known.

    Raises:
        Refused: it cannot be converted, or packages are missing.
    """
    try:
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType
    except ModuleNotFoundError as error:
        raise Refused(f"{name}: {INSTALL} ({error.name} is missing)") from error
    width = booster.num_feature()
    try:
        model = convert_lightgbm(
            in_single_precision(booster), initial_types=[("rows", FloatTensorType([None, width]))], zipmap=False
        )
    except Exception as error:  # converters raise errors of many kinds
        raise Refused(f"{name}: LightGBM model cannot be converted: {error}") from error
    names = tuple(booster.feature_name())
    plain = all(re.fullmatch(r"Column_\d+", one) for one in names)
    categories = _categories(booster, names)
    return of_graph(
        model.SerializeToString(),
        name,
        "lightgbm",
        names=() if plain else names,
        categories=categories,
        classes=classes,
    )


def in_single_precision(booster: Any) -> Any:
    """Return a booster whose thresholds are numbers of single precision, each rounded down.

    It sends each row of float32 the way of the booster: a value of float32 is at most a threshold if, and only if, it
    is at most the next number of float32 below. Rounding to the nearest, as converters do, sends values between the
    two the other way.
    """
    from lightgbm import Booster

    text = re.sub(
        r"(?m)^threshold=(.*)$", lambda line: f"threshold={_rounded(line.group(1))}", booster.model_to_string()
    )
    text = re.sub(r"(?m)^tree_sizes=.*\n", "", text)  # lengths in bytes, which change; without them it reads on
    return Booster(model_str=text)


def _rounded(thresholds: str) -> str:
    """Return numbers, separated by spaces, each as the largest float32 that is not above it."""
    values = np.array(thresholds.split(), np.float64)
    nearest = values.astype(np.float32)
    down = np.where(nearest > values, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    return " ".join(repr(float(value)) for value in down)


def _categories(booster: Any, names: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the texts of categorical columns of pandas, by column, in the order of their codes."""
    known = getattr(booster, "pandas_categorical", None) or []
    if not known:
        return {}
    match = re.search(r"\[categorical_feature: ([\d,]*)\]", booster.model_to_string(num_iteration=1))
    places = [int(place) for place in match.group(1).split(",") if place] if match else []
    if len(places) != len(known):
        raise Refused(f"LightGBM model: {len(known)} categorical columns of pandas, {len(places)} of the model")
    return {
        names[place]: tuple(json.loads(json.dumps(value)) if isinstance(value, str) else str(value) for value in values)
        for place, values in zip(places, known, strict=True)
    }
