"""Calibration of a motion ensemble on labelled requests: the head's calibration, and figures of the model card."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import building
from models.assessment import retention
from models.calibration import Calibration
from models.predictive import Trajectories
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.errors import request_errors
from models.tasks.motion.inference import rip
from models.tasks.motion.inference.members import Planners
from models.tasks.motion.spec import TRAJECTORIES
from models.uncertainty import score

BATCH = 16
"""Number of requests in one pass."""
MEASURES = ("ma", "lq", "uq", "wcm", "bcm", "total_spread", "knowledge_spread")
"""Measures that a policy may defer by, besides the head's own; the last exists only for several members."""
FIGURES: Mapping[str, str] = {
    "min_ade_m": "minade",
    "weighted_ade_m": "weightedade",
    "min_fde_m": "minfde",
    "weighted_fde_m": "weightedfde",
    "cnll_nats": "cnll",
}
"""Error (``errors.UNITS``) of each figure of the model card, which is its mean."""


@dataclass(frozen=True)
class LabelledPredictions:
    """Labelled requests with their predictions and errors."""

    predictive: Trajectories
    errors: Mapping[str, NDArray[np.floating[Any]]]
    """Errors by the names of ``errors.UNITS``, [N] each."""

    def __len__(self) -> int:
        return len(self.predictive)


def judge(
    examples: Examples, planners: Planners, recipe: Recipe, progress: Callable[[int], None] = lambda done: None
) -> LabelledPredictions:
    """Predict requests as in serving and compare them with their true futures.

    Args:
        progress: called with the number of further requests that are done.
    """
    parts = []
    for start in range(0, len(examples), BATCH):
        rows = np.arange(start, min(start + BATCH, len(examples)))
        parts.append(rip.predictive(*planners(examples.drawn(rows)), recipe))
        progress(len(rows))
    predictive = joined(parts)
    return LabelledPredictions(predictive, request_errors(examples.futures, predictive.plans, predictive.weights))


def joined(parts: Sequence[Trajectories]) -> Trajectories:
    """Join the units of several predictives."""

    def column(name: str) -> NDArray[np.floating[Any]] | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    return Trajectories(**{field.name: column(field.name) for field in fields(Trajectories)})  # type: ignore[arg-type]


def calibration(judged: LabelledPredictions) -> Calibration:
    """Return the head's calibration: retention and expected error (cNLL, nats) by all measures, and references."""
    several = judged.predictive.knowledge is not None
    own = TRAJECTORIES.own_measure(several)
    others = MEASURES if several else MEASURES[:-1]
    return building.calibrate_errors(
        TRAJECTORIES,
        judged.predictive,
        np.asarray(judged.errors["cnll"], np.float64),
        ensemble=several,
        reference=(own, *others),
        others=others,
    )


def quality(judged: LabelledPredictions) -> dict[str, float]:
    """Return mean errors and the area under the cNLL retention curve by the head's measure, with four digits."""
    figures = {name: np.mean(judged.errors[error]) for name, error in FIGURES.items()}
    own = TRAJECTORIES.own_measure(judged.predictive.knowledge is not None)
    curve = retention.error_curve(judged.errors["cnll"], score(judged.predictive, own))
    figures["r_auc_cnll_nats"] = np.float64(retention.r_auc(curve))
    return {name: building.significant(value, 4) for name, value in figures.items()}
