"""Uncertainty of hypotheses: the 19 scores of the released translation code, and their means over a request.

Sequence values are divided by the length with the end of sentence; token values are means over tokens. PE and EP as in
``uncertainty.tokens``. A request's measure is the mean over its n-best list (Shifts 1.0, section 4). Everything is
float64 and in nats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.predictive import Array, Sequences
from models.uncertainty.refusals import need
from models.uncertainty.tokens import TOKEN_VALUES, TokenUncertainty

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
Result = NDArray[np.float64]

SCORES = (
    *("eoe", "exe", "mi", "epkl", "scr_pe", "scr_ep", "sdu", "smkl_ep", "smkl_pe", "log_prob"),
    *("ep_eoe", "ep_mi", "ep_epkl", "ep_mkl", "mkl", "var", "varcombo", "logvar", "logcombo"),
)
"""Names in the released order: EOE, EXE, MI, EPKL, SCR-PE, SCR-EP, sDU, sMKL-EP, sMKL-PE, log-prob, EP-EOE, EP-MI,
EP-EPKL, EP-MKL, MKL, var, varcombo, logvar, logcombo."""
_RATIO_EPSILON = 1e-20  # as in the two combinations of the released code


@dataclass(frozen=True)
class RunningScores:
    """Sums over the tokens of N unfinished hypotheses, from which the 19 scores are computed.

    Immutable: each step makes a new object, so that a search can keep the old one.
    """

    lengths: Result
    """Number of tokens so far, [N]."""
    loglik: Result
    """Each member's log-likelihood of the tokens so far, [M, N]: the ``prefix`` of the next step."""
    log_prob: Result
    """Log-probability under PE: the sum over tokens of the log of the members' mean probability, [N]."""
    token_sums: Result
    """Sums over tokens of the token values, [9, N]."""

    @classmethod
    def start(cls, members: int, hypotheses: int) -> RunningScores:
        """Return the sums before the first token.

        Raises:
            ValueError: no member.
        """
        if members < 1 or hypotheses < 0:
            raise ValueError(f"need at least 1 member and 0 hypotheses, got {members} and {hypotheses}")
        sums = np.zeros((len(TOKEN_VALUES), hypotheses))
        return cls(np.zeros(hypotheses), np.zeros((members, hypotheses)), np.zeros(hypotheses), sums)

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, tokens: TokenUncertainty, chosen: Floats) -> RunningScores:
        """Return the sums after one more token.

        Args:
            tokens: values of this step, [N] each.
            chosen: each member's log-probability of the token that was taken, [M, N].

        Raises:
            ValueError: another number of members or hypotheses, or a log-probability that is not finite.
        """
        logs = np.asarray(chosen, np.float64)
        if logs.shape != self.loglik.shape or tokens.eoe.shape != self.lengths.shape:
            raise ValueError(
                f"chosen must be {self.loglik.shape} (members, hypotheses) with token values {self.lengths.shape}, got "
                f"{logs.shape} and {tokens.eoe.shape}"
            )
        _check_finite("chosen", logs)
        return RunningScores(
            self.lengths + 1,
            self.loglik + logs,
            self.log_prob + _log_mean(logs),
            self.token_sums + np.stack(tokens.arrays()),
        )

    def take(self, rows: Integers) -> RunningScores:
        """Return the hypotheses at these indices, in this order; an index may occur several times or not at all."""
        return replace(
            self,
            lengths=self.lengths[rows],
            loglik=self.loglik[:, rows],
            log_prob=self.log_prob[rows],
            token_sums=self.token_sums[:, rows],
        )

    @property
    def score(self) -> Result:
        """Log-probability under PE divided by the length, [N], by which a search ranks; NaN before the first token."""
        with np.errstate(invalid="ignore"):
            return self.log_prob / self.lengths

    def scores(self) -> dict[str, Result]:
        """Return the 19 scores by the names of ``SCORES``, in their order, [N] each.

        Raises:
            ValueError: a hypothesis without a token.
        """
        if (self.lengths < 1).any():
            raise ValueError("a hypothesis has at least one token, its end of sentence; add its steps first")
        means = dict(zip(TOKEN_VALUES, self.token_sums / self.lengths, strict=True))
        values = {**means, **_sequence_values(self.loglik, self.log_prob, self.lengths)}
        return {name: values[name] for name in SCORES}


def hypothesis_scores(
    tokens: TokenUncertainty, cumulative: Floats, lengths: Integers | None = None
) -> dict[str, Result]:
    """Return the 19 scores of N finished hypotheses by the names of ``SCORES``, in their order, [N] each.

    Args:
        tokens: values of every step, [N, L] each.
        cumulative: each member's log-likelihood up to and with every token, [M, N, L].
        lengths: tokens of each hypothesis with its end of sentence, 1 to L; None if all have L. Values behind the
            end are not read.

    Raises:
        ValueError: shapes that do not fit, lengths outside 1..L, or a log-likelihood that is not finite.
    """
    loglik, log_prob, counts, inside = _finished(cumulative, lengths)
    if tokens.eoe.shape != inside.shape:
        raise ValueError(f"token values must be {inside.shape} (hypotheses, steps), got {tokens.eoe.shape}")
    means = {
        name: np.where(inside, values, 0).sum(axis=1) / counts
        for name, values in zip(TOKEN_VALUES, tokens.arrays(), strict=True)
    }
    values = {**means, **_sequence_values(loglik, log_prob, counts)}
    return {name: values[name] for name in SCORES}


def sequence_scores(cumulative: Floats, lengths: Integers | None = None) -> dict[str, Result]:
    """Return those of the 19 scores that need no token values, [N] each; arguments and errors as
    ``hypothesis_scores``."""
    loglik, log_prob, counts, _ = _finished(cumulative, lengths)
    return _sequence_values(loglik, log_prob, counts)


def confidences(score: Floats) -> Result:
    """Return the weights of each request's hypotheses: exp(score) over its sum, [N, H]; rows sum to one.

    Raises:
        ValueError: no hypothesis, or a score that is NaN or infinite.
    """
    logs = np.asarray(score, np.float64)
    if logs.ndim != 2 or not logs.shape[1]:
        raise ValueError(f"score must be [requests, hypotheses] with at least one hypothesis, got {logs.shape}")
    _check_finite("score", logs)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _sequence_values(loglik: Result, log_prob: Result, lengths: Result) -> dict[str, Result]:
    per_token = loglik / lengths
    scr_pe, scr_ep = -log_prob / lengths, -_log_mean(loglik) / lengths
    sdu = -per_token.mean(axis=0)
    var, logvar = _variance(np.exp(per_token)), _variance(per_token)
    return {
        "scr_pe": scr_pe,
        "scr_ep": scr_ep,
        "sdu": sdu,
        "smkl_ep": np.maximum(sdu - scr_ep, 0),
        "smkl_pe": np.maximum(sdu - scr_pe, 0),
        "log_prob": log_prob,
        "var": var,
        "varcombo": var / (np.exp(-scr_ep) + _RATIO_EPSILON) - 1,
        "logvar": logvar,
        "logcombo": -logvar / (sdu + _RATIO_EPSILON) - 1,
    }


def _finished(cumulative: Floats, lengths: Integers | None) -> tuple[Result, Result, Result, NDArray[np.bool_]]:
    """Check whole hypotheses and return their sums.

    They are the members' log-likelihood [M, N], the log-probability under PE [N], lengths [N], and existing steps [N,
    L].
    """
    logs = np.asarray(cumulative, np.float64)
    if logs.ndim != 3 or not len(logs) or not logs.shape[2]:
        raise ValueError(f"cumulative must be [members, hypotheses, steps], none of them empty, got {logs.shape}")
    _, hypotheses, steps = logs.shape
    counts = np.full(hypotheses, steps) if lengths is None else np.asarray(lengths)
    if counts.shape != (hypotheses,) or not np.issubdtype(counts.dtype, np.integer):
        raise ValueError(f"lengths must be {hypotheses} whole numbers of tokens, got {counts.dtype} {counts.shape}")
    if ((counts < 1) | (counts > steps)).any():
        raise ValueError(f"lengths must be 1 to {steps} tokens with the end of sentence, got {counts.tolist()}")
    inside = np.arange(steps) < counts[:, None]
    _check_finite("cumulative", logs[:, inside])
    tokens = np.diff(np.where(inside, logs, 0), axis=2, prepend=0.0)
    log_prob = np.where(inside, _log_mean(tokens), 0).sum(axis=1)
    loglik = np.take_along_axis(logs, (counts - 1)[None, :, None], axis=2)[..., 0]
    return np.asarray(loglik), np.asarray(log_prob), counts.astype(np.float64), np.asarray(inside)


def _log_mean(logs: Result) -> Result:
    """Return the logarithm of the members' mean, over axis 0."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def _variance(values: Result) -> Result:
    """Return the variance (ddof 0) over members; deviations from the first make it exactly 0 for equal members."""
    return np.asarray((values - values[0]).var(axis=0))


def _check_finite(name: str, values: Result) -> None:
    if wrong := int((~np.isfinite(values)).sum()):
        raise ValueError(f"{name} must be finite log-probabilities, {wrong} of {values.size} are not")


def _mean_over_hypotheses(sequences: Sequences, name: str) -> Array:
    return np.asarray(need(sequences.hypothesis_scores, name)[name].mean(axis=1))


MEASURES: Mapping[str, Callable[[Sequences], Array]] = {
    **{name: partial(_mean_over_hypotheses, name=name) for name in SCORES},
    # A log-probability is a confidence: the table has it negated, as every measure grows with uncertainty. The
    # combinations are as released; logcombo falls as the variance of log-likelihoods grows.
    "log_prob": lambda s: -_mean_over_hypotheses(s, "log_prob"),
    "nll": lambda s: np.asarray(-s.score.mean(axis=1)),
}
