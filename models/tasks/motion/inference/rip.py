"""Ranking of the members' plans into the result of each request (Shifts 1.0, E.4, steps 3 to 6)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.predictive import Trajectories
from models.tasks.motion.artefact.recipe import Recipe
from models.uncertainty.trajectories import rank, spreads

Float32 = NDArray[np.float32]


def predictive(plans: Float32, scores: Float32, recipe: Recipe) -> Trajectories:
    """Return the statistics of N requests, float32.

    A request with a plan or score that is not finite has a confidence of NaN, and so is deferred, and plans of NaN.

    Args:
        plans: positions in the agent's frame, m, [N, G, T, 2]; the plans of a member are consecutive, in members'
            order.
        scores: log-likelihood of each plan under each of K members, nats, [N, K, G].

    Raises:
        DeviationUndefined: see ``uncertainty.trajectories.rank``.
        ValueError: the shapes do not match.
    """
    known = np.asarray(np.isfinite(scores).all(axis=(1, 2)) & np.isfinite(plans).all(axis=(1, 2, 3)))
    safe_scores = np.where(known[:, None, None], scores, np.float32(0))
    safe_plans = np.where(known[:, None, None, None], plans, np.float32(0))
    ranked = rank(
        safe_scores.transpose(1, 2, 0),
        recipe.plan_operator,
        request=recipe.request_operator,
        count=recipe.modes,
        ddof=recipe.ddof,
    )
    best = np.take_along_axis(safe_plans, ranked.index[:, :, None, None], axis=1)
    total, data, knowledge = spreads(safe_plans, scores.shape[1])

    def or_nan(values: NDArray[np.floating[Any]]) -> Float32:
        mask = known.reshape((-1,) + (1,) * (values.ndim - 1))
        return np.where(mask, values, np.nan).astype(np.float32)

    return Trajectories(
        plans=or_nan(best),
        weights=or_nan(ranked.weight),
        confidence=or_nan(ranked.confidence),
        scores=or_nan(ranked.score),
        total=or_nan(total),
        data=None if data is None else or_nan(data),
        knowledge=None if knowledge is None else or_nan(knowledge),
    )
