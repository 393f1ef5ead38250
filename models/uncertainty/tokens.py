"""Uncertainty of one decoding step: nine token-level values from the members' distributions over the vocabulary.

Malinin and Gales, "Uncertainty estimation in autoregressive structured prediction"; Shifts 1.0 uses their code. Members
are averaged in two ways: PE, the product of expectations, weighs them equally at every token; EP, the expectation of
products, weighs them by their likelihood of the tokens so far. Everything is float64 and in nats.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Result = NDArray[np.float64]

_LOG_ONE = 1e-3  # amount above zero by which log-softmax in float16 may end


@dataclass(frozen=True)
class TokenUncertainty:
    """Values of one step of N hypotheses, [N] each, or of L steps of each, [N, L].

    ``mi`` is mutual information, ``mkl`` the reverse one, ``epkl`` their sum; the prefix ``ep_`` marks values under EP.
    ``ep_mi`` and ``ep_epkl`` may be below zero: the expected distribution is weighted, the expected entropy is not.
    """

    eoe: Result
    """Entropy of the expected distribution."""
    exe: Result
    """Expected entropy."""
    mi: Result
    epkl: Result
    mkl: Result
    ep_eoe: Result
    ep_mi: Result
    ep_epkl: Result
    ep_mkl: Result

    def __len__(self) -> int:
        return len(self.eoe)

    def take(self, rows: NDArray[np.integer[Any]]) -> TokenUncertainty:
        """Return the hypotheses at these indices, in this order; an index may occur several times or not at all."""
        return TokenUncertainty(*(values[rows] for values in self.arrays()))

    def arrays(self) -> tuple[Result, ...]:
        """Return the nine arrays in the order of the fields."""
        return tuple(getattr(self, name) for name in TOKEN_VALUES)


TOKEN_VALUES = tuple(field.name for field in fields(TokenUncertainty))


def token_uncertainty(log_probabilities: Floats, prefix: Floats | None = None) -> TokenUncertainty:
    """Return the values of one step.

    Args:
        log_probabilities: natural logarithms of each member's distribution over V tokens, [M, N, V]; -inf is a
            probability of zero.
        prefix: each member's log-likelihood of the tokens before this step, [M, N]; None before the first token, for
            which EP equals PE.

    ``mi``, ``epkl``, ``mkl`` and ``ep_mkl`` are divergences and never negative by rounding. ``epkl`` and ``mkl`` are
    infinite if a member excludes a token that another expects.

    Raises:
        ValueError: shapes that do not fit, logarithms above zero or NaN, or a prefix that is not finite.
    """
    logs = np.asarray(log_probabilities, np.float64)
    if logs.ndim != 3 or not len(logs) or not logs.shape[2]:
        raise ValueError(f"log_probabilities must be [members, hypotheses, vocabulary], got the shape {logs.shape}")
    if not (logs <= _LOG_ONE).all():
        raise ValueError(
            f"log_probabilities must be 0 or less, got {logs.max():g}; take the log-softmax of logits before"
        )
    probabilities, mean_log = np.exp(logs), logs.mean(axis=0)
    exe = -_expected(probabilities, logs).mean(axis=0)
    eoe, cross = _against(probabilities.mean(axis=0), mean_log)
    ep_eoe, ep_cross = eoe, cross
    if prefix is not None:
        weights = _weights(np.asarray(prefix, np.float64), logs.shape[:2])
        ep_eoe, ep_cross = _against(np.einsum("mn,mnv->nv", weights, probabilities), mean_log)
    return TokenUncertainty(
        eoe=eoe,
        exe=exe,
        mi=np.maximum(eoe - exe, 0),
        epkl=np.maximum(cross - exe, 0),
        mkl=np.maximum(cross - eoe, 0),
        ep_eoe=ep_eoe,
        ep_mi=ep_eoe - exe,
        ep_epkl=ep_cross - exe,
        ep_mkl=np.maximum(ep_cross - ep_eoe, 0),
    )


def _against(expected: Result, mean_log: Result) -> tuple[Result, Result]:
    """Return the entropy of an expected distribution [N, V], and its cross-entropy with the members' mean log, [N]
    each."""
    with np.errstate(divide="ignore"):
        logs = np.log(expected)
    return -_expected(expected, logs), -_expected(expected, mean_log)


def _expected(probabilities: Result, values: Result) -> Result:
    """Return the expectation over the vocabulary; tokens without probability contribute 0."""
    with np.errstate(invalid="ignore"):  # 0 * -inf
        total = np.einsum("...v,...v->...", probabilities, values)
    if np.isnan(total).any():
        total = np.einsum("...v,...v->...", probabilities, np.where(probabilities == 0, 0, values))
    return np.asarray(total)


def _weights(prefix: Result, shape: tuple[int, ...]) -> Result:
    """Return the members' share in the expectation of products, [M, N]; columns sum to one."""
    if prefix.shape != shape or not np.isfinite(prefix).all():
        raise ValueError(
            f"prefix must hold a finite log-likelihood for every member and hypothesis, {shape}, got the shape "
            f"{prefix.shape} with {int((~np.isfinite(prefix)).sum())} that are not finite"
        )
    weights = np.exp(prefix - prefix.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))
