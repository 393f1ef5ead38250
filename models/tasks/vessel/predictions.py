"""Prediction files of the vessel task: shaft powers as normal distributions."""

from __future__ import annotations

from pathlib import Path

from models.evaluation import regression
from models.evaluation.judged import Asked, Judged
from models.tasks.vessel.spec import POWER, rules

OPTIONS = regression.OPTIONS
"""What of ``Asked`` is of use here besides error, limit, groups and convention."""


def read(path: Path, asked: Asked) -> Judged:
    """NPZ with ``members`` [M, N, 2] (mean kW, variance kW²) and ``target`` [N] (kW).

    Raises:
        BadFile: as the reader of regression.
    """
    power = regression.Quantity("vessel", POWER.unit, POWER.acceptable, rules(asked.convention), lower=POWER.lower)
    return regression.read_as(path, asked, power)
