"""Log-linear (multinomial logistic) regression of classes on a few inputs, the simple baseline for class heads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class LogLinear:
    """Weights [P + 1, K] of the classes that occurred; the first row is the intercept."""

    weights: Floats
    present: Integers
    """Class of each column among the C classes [K]."""
    classes: int

    def predict(self, inputs: Floats) -> Floats:
        """Return probabilities of all C classes for inputs [N, P]; zero for classes that never occurred in training."""
        probabilities = np.zeros((len(inputs), self.classes))
        probabilities[:, self.present] = np.exp(log_softmax(_design(inputs) @ self.weights, axis=1))
        return probabilities


def fit(inputs: Floats, labels: Integers, classes: int, penalty: float = 1e-3) -> LogLinear:
    """Fit by maximum likelihood with a ridge penalty on the slopes.

    Args:
        inputs: standardised, [N, P].
        labels: classes 0 to ``classes`` - 1, [N].
        penalty: weight of the squared slopes, relative to the mean log score.
    """
    design = _design(inputs)
    present, place = np.unique(labels, return_inverse=True)
    targets = np.eye(len(present))[place]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(design.shape[1], -1)
        logarithm = log_softmax(design @ weights, axis=1)
        slopes = np.concatenate([np.zeros_like(weights[:1]), weights[1:]])
        gradient = design.T @ (np.exp(logarithm) - targets) / len(labels) + 2 * penalty * slopes
        return float(-np.sum(targets * logarithm) / len(labels) + penalty * np.sum(slopes**2)), gradient.ravel()

    solution = minimize(loss, np.zeros(design.shape[1] * len(present)), jac=True, method="L-BFGS-B")
    return LogLinear(solution.x.reshape(design.shape[1], -1), present.astype(np.int64), classes)


def _design(inputs: Floats) -> Floats:
    return np.column_stack([np.ones(len(inputs)), inputs])
