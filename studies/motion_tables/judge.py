"""Figures of each row in each split: errors of Table 20, retention and detection of Table 21, by the released code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment import retention
from models.assessment.figures import Errors, Rules, figures
from models.predictive import Trajectories
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.errors import ACCEPTABLE, request_errors
from models.tasks.motion.inference import rip
from models.uncertainty.trajectories import Operator
from studies.motion_tables.members import Imagined
from studies.motion_tables.plan import Members, Row, subsets

SETS = ("in", "shifted", "full")
MEASURES = ("request_uncertainty", "wcm", "bcm", "total_spread", "data_spread", "knowledge_spread")
CURVE = 101
"""Number of points of a kept retention curve."""


@dataclass(frozen=True)
class Score:
    """Means over the requests of a set: errors in m, cNLL and its area in nats, shares from 0 to 1."""

    minade: float
    weightedade: float
    minfde: float
    weightedfde: float
    cnll: float
    r_auc: float
    """R-AUC of cNLL."""
    r_auc_weightedade: float
    f1_auc: float
    f1_at_95: float
    roc_auc: float
    """ROC-AUC of detecting shifted requests; NaN except for the full set."""


NAMES = tuple(field.name for field in fields(Score))


@dataclass(frozen=True)
class ScoredEnsemble:
    """Results of one ensemble on one split."""

    errors: Mapping[str, NDArray[np.float64]]
    """Errors, [N] each, by ``models.tasks.motion.errors.UNITS``."""
    predictive: Trajectories


def judged(imagined: Imagined, members: Members, operator: Operator) -> ScoredEnsemble:
    """Return the errors of plans ranked by an operator."""
    plans, scores = imagined.part(members)
    predictive = rip.predictive(plans, scores, Recipe(plan_operator=operator, request_operator=operator))
    weights = np.asarray(predictive.weights, np.float64)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return ScoredEnsemble(request_errors(imagined.truth, predictive.plans, weights), predictive)


def score(
    ensemble: ScoredEnsemble, shifted: NDArray[np.bool_], name: str, measure: str = "request_uncertainty"
) -> Score:
    """Return the figures of a set.

    Args:
        name: one of ``SETS``.
    """
    chosen = {"in": ~shifted, "shifted": shifted, "full": np.ones(len(shifted), bool)}[name]
    ranks = uncertainty.score(ensemble.predictive, measure)[chosen]
    cnll = Errors(ensemble.errors["cnll"][chosen], ACCEPTABLE["cnll"], Rules())
    retained = figures(cnll, ranks, shifted if name == "full" else None)
    ade = figures(Errors(ensemble.errors["weightedade"][chosen], None, Rules()), ranks)
    means = {error: float(ensemble.errors[error][chosen].mean()) for error in NAMES[:5]}
    return Score(
        **means,
        r_auc=retained.r_auc,
        r_auc_weightedade=ade.r_auc,
        f1_auc=retained.f1_auc,
        f1_at_95=retained.f1_at_95,
        roc_auc=retained.roc_auc,
    )


def row(imagined: Imagined, spec: Row, measure: str = "request_uncertainty") -> dict[str, Score]:
    """Return the figures of a row by set: means over its ensembles."""
    members = imagined.scores.shape[1]
    every = [judged(imagined, subset, spec.operator) for subset in subsets(spec.size, members)]
    return {name: mean([score(each, imagined.shifted, name, measure) for each in every]) for name in SETS}


def mean(scores: Sequence[Score]) -> Score:
    """Return the mean of each figure."""
    return Score(**{name: float(np.mean([getattr(item, name) for item in scores])) for name in NAMES})


def curves(ensemble: ScoredEnsemble) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return error-retention and F1-retention of cNLL at ``CURVE`` retained shares from 0 to 1."""
    errors, ranks = ensemble.errors["cnll"], uncertainty.score(ensemble.predictive, "request_uncertainty")
    pair = (retention.error_curve(errors, ranks), retention.f_curve(errors, ranks, ACCEPTABLE["cnll"]))
    shares = np.linspace(0, 1, CURVE)
    error, f1 = (np.interp(shares, np.linspace(0, 1, len(curve)), curve) for curve in pair)
    return error, f1
