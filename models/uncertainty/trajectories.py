"""Robust imitative planning: members score each other's plans, an operator reduces several scores to one.

Scores are log-likelihoods in nats. The operators over models (Shifts 1.0, E.4): worst case (WCM), best case (BCM),
model average (MA), and the "lower" and "upper quartile" (LQ, UQ), which are the mean minus and plus one standard
deviation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from models.predictive import Array, Trajectories
from models.uncertainty.refusals import MeasureAbsent, need

Floats = NDArray[np.floating[Any]]
Result = NDArray[np.float64]
Operator = Literal["MA", "LQ", "UQ", "WCM", "BCM"]

TOP = 5
"""Number of plans that a request keeps."""


class DeviationUndefined(ValueError):
    """The standard deviation with ddof 1 of a single score is undefined."""


@dataclass(frozen=True)
class RankedPlans:
    """Best D plans of N requests, best first; float64."""

    index: NDArray[np.intp]
    """Number of each plan, [N, D]; among equal scores the lower number comes first."""
    score: Result
    """Result of the operator over models, nats, [N, D]."""
    weight: Result
    """Softmax of the scores, [N, D]."""
    confidence: Result
    """Result of the request's operator over the D scores, nats, [N]."""

    @property
    def uncertainty(self) -> Result:
        """Negated confidence, [N]: larger is less certain."""
        return -self.confidence


def aggregate(scores: Floats, operator: Operator, ddof: int = 0) -> Result:
    """Return the operator over axis 0, float64 of the rest of the shape.

    Args:
        scores: log-likelihoods, nats: of K models along axis 0, or of the plans of a request.
        ddof: divisor K - ddof of the variance in LQ and UQ. 0 (the released post-hoc evaluation) makes both the mean if
            K is 1; 1 is the released model code, which gives NaN there.

    Raises:
        DeviationUndefined: LQ or UQ with ddof 1 of one score.
        ValueError: no score, one that is not finite, or an unknown operator or ddof.
    """
    scores = np.asarray(scores, np.float64)
    if operator not in get_args(Operator):
        raise ValueError(f"operator must be one of {get_args(Operator)}, got {operator!r}")
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 (post-hoc evaluation) or 1 (model code), got {ddof}")
    if scores.ndim < 1 or not len(scores):
        raise ValueError(f"{operator} needs at least one score along axis 0, got the shape {scores.shape}")
    if wrong := int((~np.isfinite(scores)).sum()):
        raise ValueError(f"scores must be finite log-likelihoods in nats, {wrong} of {scores.size} are not")
    match operator:
        case "MA":
            return np.asarray(scores.mean(axis=0))
        case "WCM":
            return np.asarray(scores.min(axis=0))
        case "BCM":
            return np.asarray(scores.max(axis=0))
    if len(scores) <= ddof:
        raise DeviationUndefined(f"{operator} with ddof 1 needs at least 2 scores, got K = {len(scores)}; use ddof 0")
    spread = (scores - scores[0]).std(axis=0, ddof=ddof)  # equal scores have exactly none
    return np.asarray(scores.mean(axis=0) + (spread if operator == "UQ" else -spread))


def rank(
    scores: Floats, operator: Operator, *, request: Operator | None = None, count: int = TOP, ddof: int = 0
) -> RankedPlans:
    """Return the best plans of each request, their weights and the request's confidence.

    Args:
        scores: log-likelihood of each of G plans under each of K models for N requests, nats, [K, G, N].
        operator: operator over models, for the score of a plan.
        request: operator over the scores of the best plans, for the confidence of the request; None for the same.
        count: number D of plans to keep.
        ddof: as in ``aggregate``, for both.

    Raises:
        DeviationUndefined: LQ or UQ with ddof 1 of one model, or of one plan.
        ValueError: another shape, fewer than D plans, or as ``aggregate``.
    """
    if scores.ndim != 3:
        raise ValueError(f"scores must be [models, plans, requests], got the shape {scores.shape}")
    if not 1 <= count <= scores.shape[1]:
        raise ValueError(f"count must be 1 to the number of plans, {scores.shape[1]}, got {count}")
    plans = aggregate(scores, operator, ddof).T
    index = np.argsort(-plans, axis=1, kind="stable")[:, :count]
    best = np.take_along_axis(plans, index, axis=1)
    return RankedPlans(index, best, plan_weights(best), aggregate(best.T, request or operator, ddof))


def plan_weights(score: Floats) -> Result:
    """Return the softmax over the plans of each request, [N, D]; rows sum to one."""
    score = np.asarray(score, np.float64)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def spreads(plans: Floats, members: int) -> tuple[Result, Result | None, Result | None]:
    """Return total, data and knowledge spread of sampled positions, m², [N, T] each, both axes together.

    By the law of total variance, total = data + knowledge. The last two are None for a single member.

    Args:
        plans: positions [N, G, T, 2], m; G / members samples of the first member come first, then those of the second.

    Raises:
        ValueError: another shape, or samples that cannot be divided evenly among members.
    """
    if plans.ndim != 4 or plans.shape[3] != 2 or members < 1 or not plans.shape[1] or plans.shape[1] % members:
        raise ValueError(f"plans of {members} members must be [N, G, T, 2], G a multiple, got {plans.shape}")
    n, count, steps, _ = plans.shape
    own = np.asarray(plans, np.float64).reshape(n, members, count // members, steps, 2)
    centres = own.mean(axis=2)
    data = ((own - centres[:, :, None]) ** 2).sum(axis=4).mean(axis=(1, 2))
    if members == 1:
        return data, None, None
    knowledge = ((centres - centres.mean(axis=1, keepdims=True)) ** 2).sum(axis=3).mean(axis=1)
    return data + knowledge, data, knowledge


def _plan_scores(predictive: Trajectories, operator: Operator) -> Array:
    if predictive.scores is None:
        raise MeasureAbsent(f"{operator.lower()} needs the plans' scores, and only their softmax is known")
    return predictive.scores


def _request(operator: Operator) -> Callable[[Trajectories], Array]:
    def measure(predictive: Trajectories) -> Array:
        scores = _plan_scores(predictive, operator)
        known = np.asarray(np.isfinite(scores).all(axis=1))
        confidence = aggregate(np.where(known[:, None], scores, 0.0).T, operator)
        return np.asarray(np.where(known, -confidence, np.nan), scores.dtype)

    return measure


def _mean_spread(name: Literal["total", "data", "knowledge"]) -> Callable[[Trajectories], Array]:
    return lambda t: np.asarray(need(getattr(t, name), f"{name}_spread").mean(axis=1))


MEASURES: Mapping[str, Callable[[Trajectories], Array]] = {
    "request_uncertainty": lambda t: -t.confidence,
    "ma": _request("MA"),
    "lq": _request("LQ"),
    "uq": _request("UQ"),
    "wcm": _request("WCM"),
    "bcm": _request("BCM"),
    "total_spread": _mean_spread("total"),
    "data_spread": _mean_spread("data"),
    "knowledge_spread": _mean_spread("knowledge"),
}
"""``request_uncertainty`` uses the operator of the artefact; ``ma`` to ``bcm`` by that operator (ddof 0), negated,
nats; spreads are means over steps, m²."""
