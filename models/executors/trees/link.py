"""Inverse links: raw sums of trees to outputs of members."""

import numpy as np
from numpy.typing import NDArray

from models.executors.trees.model import TreeModel

_LIMITS = np.finfo(np.float32)


def linked(model: TreeModel, raw: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the outputs of a model's members, float32 [M, n, K], from their raw sums [M, n, D]."""
    if not len(model.classes):
        return gaussian(raw)
    return categorical(raw, model.classes, model.head.classes or 0)


def gaussian(raw: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return mean and variance exp(2 x raw) of RMSEWithUncertainty, [M, n, 2].

    Released models reach variances of 1e-16 and 1e37. Values beyond float32 become its largest value or, for variances,
    its smallest normal one (1.2e-38), so that every variance is finite and positive.
    """
    answer = np.empty(raw.shape, np.float32)
    answer[..., 0] = np.clip(raw[..., 0], _LIMITS.min, _LIMITS.max)
    lowest, highest = np.log(float(_LIMITS.tiny)), np.log(float(_LIMITS.max))
    variance = np.exp(np.clip(2.0 * raw[..., 1], lowest, highest))
    answer[..., 1] = np.clip(variance, _LIMITS.tiny, _LIMITS.max)
    return answer


def categorical(raw: NDArray[np.float64], classes: NDArray[np.intp], count: int) -> NDArray[np.float32]:
    """Return probabilities [M, n, count] from the logits of the classes that a model has seen; 0 for all others."""
    answer = np.zeros((*raw.shape[:-1], count), np.float32)
    odds = np.exp(raw - raw.max(axis=-1, keepdims=True))
    answer[..., classes] = odds / odds.sum(axis=-1, keepdims=True)
    return answer
