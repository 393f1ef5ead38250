"""Prediction files of the weather task: temperatures as normal distributions, precipitation as class probabilities."""

from __future__ import annotations

from pathlib import Path

from models.assessment.figures import Rules
from models.evaluation import classification, regression
from models.evaluation.files import read_npz
from models.evaluation.judged import Asked, BadFile, Judged
from models.tasks.weather.spec import CLASSES, TEMPERATURE

OPTIONS = regression.OPTIONS
"""What of ``Asked`` is of use here besides error, limit, groups and convention."""


def read(path: Path, asked: Asked) -> Judged:
    """NPZ with ``members`` [M, N, 2] (mean °C, variance °C²) or [M, N, 9] (class probabilities), and ``target`` [N].

    Raises:
        BadFile: neither of the two, or as the readers of regression and classification.
    """
    arrays = read_npz(path)
    members = arrays.get("members")
    if members is not None and members.ndim == 3 and members.shape[2] == CLASSES:
        if asked.bins is not None:
            raise BadFile(f"{path} holds classes, which have no calibration bins: leave --bins out")
        return classification.read_as(path, asked, "weather", arrays)
    if members is not None and members.ndim == 3 and members.shape[2] != 2:
        raise BadFile(
            f"{path}: members has the shape {list(members.shape)}; [M, N, 2] (mean °C, variance °C²) or "
            f"[M, N, {CLASSES}] (probabilities of the precipitation classes) is needed"
        )
    temperature = regression.Quantity(
        "weather",
        TEMPERATURE.unit,
        TEMPERATURE.acceptable,
        Rules(asked.convention),
        lower=TEMPERATURE.lower,
        upper=TEMPERATURE.upper,
        drops_large_variances=True,
    )
    return regression.read_as(path, asked, temperature, arrays)
