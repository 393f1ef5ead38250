"""Figures of a head on labelled rows, for the manifest and the card."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment import classification
from models.assessment import errors as distances
from models.assessment.figures import Errors, Rules, figures
from models.building import errors_of, significant
from models.predictive import Categorical, Gaussian, Predictive
from models.tasks.rows.artefact.members import HeadPlan


def quality(
    heads: Sequence[HeadPlan], predictives: Mapping[str, Predictive], labels: Mapping[str, NDArray[Any]]
) -> dict[str, float]:
    """Return the figures of one data set with six significant digits; names begin with the head's."""
    values: dict[str, float] = {}
    for plan in heads:
        name, predictive = plan.head.name, predictives[plan.head.name]
        assert isinstance(predictive, Gaussian | Categorical)
        truth = np.asarray(labels[name])
        if isinstance(predictive, Gaussian):
            own = {"rmse": distances.rmse(truth, predictive.mean), "mae": distances.mae(truth, predictive.mean)}
        else:
            places = truth.astype(np.intp)
            own = {
                "accuracy": classification.accuracy(places, predictive.probabilities),
                "macro_f1": classification.macro_f1(places, predictive.probabilities),
            }
        errors = Errors(errors_of(predictive, truth), plan.head.acceptable, Rules())
        judged = figures(errors, uncertainty.score(predictive, plan.choice.chosen.measure))
        own |= {
            "r_auc": judged.r_auc,
            "r_auc_random": judged.r_auc_random,
            "r_auc_optimal": judged.r_auc_optimal,
        }
        values |= {f"{name}_{figure}": significant(value) for figure, value in own.items()}
    return values
