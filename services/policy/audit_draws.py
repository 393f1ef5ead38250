"""Audit draws: random choice of answered units for label requests, reproducible with the writer's secret only.

A draw is a keyed hash of the identity of units, so that replicas need no coordination, callers cannot predict it, and
an auditor can repeat it: SHAKE-128 of the writer's secret, its epoch, the first sequence and the kind of draw.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.calibration import REFERENCE_LEVELS, Calibration
from services.policy.decision import Policy

_UNIT = 2.0**-53
_STRATA = 20


@dataclass(frozen=True)
class Draws:
    """Random draws of one writer."""

    secret: bytes
    """Key of the hash, 32 bytes."""
    epoch: int

    def uniforms(self, first: int, count: int, word: bytes = b"audit") -> NDArray[np.float64]:
        """Return a number in [0, 1) for each of consecutive units, float64 [count].

        The same (first, count, word) gives the same numbers; another ``first`` gives others, even if units overlap.
        """
        raw = np.frombuffer(self._digest(first, 8 * count, word), "<u8")
        numbers: NDArray[np.float64] = (raw >> np.uint64(11)).astype(np.float64) * _UNIT
        return numbers

    def uniform(self, first: int, word: bytes = b"audit") -> float:
        """Return ``uniforms(first, 1, word)[0]``, faster."""
        return (int.from_bytes(self._digest(first, 8, word), "little") >> 11) * _UNIT

    def _digest(self, first: int, length: int, word: bytes) -> bytes:
        place = self.epoch.to_bytes(8, "little") + first.to_bytes(8, "little")
        return hashlib.shake_128(self.secret + place + word).digest(length)


def propensity(policy: Policy, uncertainty: NDArray[np.float32]) -> float | NDArray[np.float32]:
    """Return the audit probability of units [n] within the policy's threshold: one number, or a number per unit."""
    if not policy.audit_strata:
        return policy.audit_rate
    uppers, rates = _table(policy.audit_strata, policy.audit_rate)
    per_unit: NDArray[np.float32] = rates[np.searchsorted(uppers, uncertainty)]
    return per_unit


def strata(
    calibration: Calibration, threshold: float, rate: float, least: float, measure: str
) -> tuple[tuple[float, float], ...]:
    """Return rates by uncertainty whose in-domain mean over the answered units is ``rate``.

    Neyman allocation for the area under the error-retention curve: a unit of rank share q counts with weight 1 - q, and
    its error varies about as much as its expected error, so the best rate is proportional to (1 - q) E[error | u]. It
    is mixed with a uniform rate, never below ``least``, to find errors that the measure does not predict.

    Args:
        threshold: threshold of the policy; strata are equal shares of in-domain units below it.
        least: smallest rate, at most ``rate``.

    Returns:
        (upper uncertainty, rate) with ascending uppers; empty (uniform) where the artefact has no in-domain
        quantiles or expected errors of the measure.
    """
    values = calibration.reference.get(measure)
    expected = calibration.expected_error
    if values is None or expected is None or expected.measure != measure:
        return ()
    share = float(np.interp(threshold, values, REFERENCE_LEVELS))
    if share <= 0:
        return ()
    middles = (np.arange(_STRATA) + 0.5) / _STRATA * share
    uppers = np.interp((np.arange(_STRATA) + 1) / _STRATA * share, REFERENCE_LEVELS, values)
    weight = (1 - middles) * expected(np.interp(middles, REFERENCE_LEVELS, values))
    if not np.isfinite(weight).all() or weight.sum() <= 0:
        return ()
    rates = least + (rate - least) * weight / weight.mean()
    for _ in range(_STRATA):  # the excess above 1 goes to the others
        above = rates >= 1
        spare = (rates[above] - 1).sum()
        rates[above] = 1.0
        if spare <= 0 or above.all():
            break
        rates[~above] *= 1 + spare / rates[~above].sum()
    rates = np.minimum(rates, 1.0)
    return tuple(zip(uppers.tolist(), rates.tolist(), strict=True))


def _table(strata: tuple[tuple[float, float], ...], beyond: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    uppers, rates = np.array(strata, np.float32).T
    return uppers, np.append(rates, np.float32(beyond))
