"""Test by betting of whether the risk has risen above its baseline, valid at any time.

Losses lie in [0, bound]: the unacceptable indicator (bound 1), or an error clipped at the bound, as a heavy tail cannot
be tested; risk then means the mean of the clipped error, before and after. Against "risk <= m" each label multiplies a
bet's capital by ``1 + c w (loss / m - 1)`` with 0 < c < 1 and w in (0, 1] (Waudby-Smith & Ramdas 2024), whose
expectation is at most 1. ``wealth`` mixes some c and restarts.

*Labels are sampled.* A label of propensity pi has w = pi_min / pi, so ``E[w (loss - m)]`` over labelled units is a
positive multiple of risk - m over all units: valid for any mixture of deferrals (pi = 1) and audits. If pi is constant
(answered units under uniform audits, deferred units) w is 1 and no label is thinned: strata tested separately, each
against its own baseline, and combined (``wealth.either``) test "no stratum's risk has risen". The weighted form over
all units tests their mean, which also rises if more units are deferred and no stratum is worse.

*The baseline is an estimate.* If it is b, labels bet against b (1 + tolerance), and calibration losses against "the
baseline is at least b". The product of both is wealth if b is true; its minimum over b is therefore wealth in any case.
No part of alpha is set aside, and few calibration units cost power, never false alarms. Between levels of b the minimum
is bounded from below, since the first factor falls with b and the second rises.

Guarantee: P(wealth ever reaches 1/alpha) <= alpha, as long as at each label, given those before, the risk of the units
that labels are sampled from is at most the baseline (1 + tolerance). Neither identical distributions nor independence
are needed. The order of labels must not depend on their losses: if uncertain units are labelled later, use separate
strata of uncertainty, or the labels of mature units in the order of units. A change of policy or artefact changes the
strata, and requires a new start.
"""

import math

import msgspec
import numpy as np

from models.drift.bins import Floats
from models.drift.wealth import Array, Capital, grow, mixed, start

BLOCK = 8
"""Labels per block: restarts and looks happen between blocks."""

_BETS = np.array([0.015, 0.03, 0.06, 0.12, 0.22, 0.4, 0.7])
"""Shares c of capital at stake; the best is about (risk / m - 1) over the squared variation of loss / m."""

_CREDIT_BETS = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
_STEPS = np.arange(-1.0, 8.1, 0.5)  # standard errors about the baseline within which the minimum is searched
_RISES = 1.12 ** np.arange(1, 20)  # levels above that, for the lower bound: up to 8.6 times the baseline
_FALLS = np.array([0.25, 0.5, 0.75])
_LEAST = 1e-9  # share of the bound: no bets against risks below it, as the gain of a block would overflow
_EXCLUDED = 1e9  # log of evidence against an excluded baseline: finite, so that it can be written as JSON
_CELLS = 1 << 20  # factors multiplied per step, so that temporaries stay small


class Labelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """State of the test after some labels of a stream."""

    pending: tuple[tuple[float, float], ...]
    """Loss and weight of the labels behind the last whole block, fewer than ``BLOCK``."""
    capital: Capital
    log_wealth: float = 0.0
    """Log wealth after the last whole block."""
    log_peak: float = 0.0
    """Largest log wealth after any block, which decides on the alarm."""

    @property
    def labels(self) -> int:
        """Number of labels seen."""
        return self.capital.blocks * BLOCK + len(self.pending)


class RiskTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Test of one stream of labels; made by ``against_calibration`` or ``against_limit``."""

    bound: float
    """Largest loss, in its unit; larger losses are clipped to it."""
    levels: tuple[float, ...]
    """Risks against which bets are placed [levels], increasing, in the loss's unit."""
    credit: tuple[float, ...]
    """Log of the calibration's evidence against baselines (1 + tolerance) in (level j - 1, level j], at least
    [levels + 1]; the last is of those above all levels."""
    least_propensity: float = 1.0
    """Smallest propensity that a label can have."""

    def start(self) -> Labelled:
        """Return the state before the first label."""
        return Labelled((), start(len(self.levels) * len(_BETS)))

    def update(self, labelled: Labelled, losses: Floats, propensities: Floats | None = None) -> Labelled:
        """Return the state after more labels [n], in order; bit-identical in one call or many.

        Args:
            labelled: state before these labels.
            losses: loss of each label [n], at least 0, in the loss's unit.
            propensities: propensity of each label [n]; None only if all labels of the stream have the same.

        Raises:
            ValueError: a loss that is negative or not a number, a propensity outside [``least_propensity``, 1] or
                missing where they differ, or lengths that differ.
        """
        return self.path(labelled, losses, propensities)[0]

    def path(self, labelled: Labelled, losses: Floats, propensities: Floats | None = None) -> tuple[Labelled, Array]:
        """Return the state as ``update``, and the log wealth after each block that became whole [blocks].

        Raises:
            ValueError: as ``update``.
        """
        if len(labelled.capital.grown) != len(self.levels) * len(_BETS):
            raise ValueError("the state is of a test with other levels: start anew")
        if propensities is None and self.least_propensity < 1:
            raise ValueError(f"labels of propensities from {self.least_propensity:g} on need theirs: give propensities")
        new = np.stack([clipped(losses, self.bound), weights(losses, propensities, self.least_propensity)], axis=1)
        rows = np.concatenate([np.array(labelled.pending, np.float64).reshape(-1, 2), new])
        whole = len(rows) - len(rows) % BLOCK
        capital, paths = labelled.capital, [np.empty(0)]
        step = max(1, _CELLS // (BLOCK * len(capital.grown))) * BLOCK
        for first in range(0, whole, step):
            capital, invested, cash = grow(capital, self._gains(rows[first : min(first + step, whole)]))
            paths.append(self._wealth(invested, cash))
        path = np.concatenate(paths)
        after = Labelled(
            pending=tuple((float(loss), float(weight)) for loss, weight in rows[whole:]),
            capital=capital,
            log_wealth=float(path[-1]) if len(path) else labelled.log_wealth,
            log_peak=max(labelled.log_peak, float(path.max(initial=0.0))),
        )
        return after, path

    def lower_bound(self, labelled: Labelled, alpha: float = 0.05) -> float:
        """Return a lower bound of the largest risk so far: with 1 - alpha for all times at once, in the loss's unit.

        For a constant risk it is the lower end of a confidence sequence. It is one of ``levels``, or 0 if no level is
        proven.

        Raises:
            ValueError: alpha lies outside (0, 1).
        """
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is a probability between 0 and 1, both excluded, not {alpha:g}")
        capital = labelled.capital
        if not capital.blocks:
            return 0.0
        invested = np.add(capital.grown, capital.entered).reshape(-1, len(_BETS))
        proven = mixed(invested, np.full(len(invested), capital.log_cash)) >= -math.log(alpha)
        return max((level for level, held in zip(self.levels, proven, strict=True) if held), default=0.0)

    def _gains(self, rows: Array) -> Array:
        """Return the log growth over each block [blocks, levels * bets] of losses and weights [blocks * BLOCK, 2]."""
        excess = rows[:, :1] / np.asarray(self.levels) - 1
        excess *= rows[:, 1:]
        factors = 1 + excess[:, :, None] * _BETS
        gains: Array = np.log(factors.reshape(-1, BLOCK, len(self.levels) * len(_BETS)).prod(axis=1))
        return gains

    def _wealth(self, invested: Array, cash: Array) -> Array:
        """Return the log wealth against every baseline [blocks]: the least over cells of baselines."""
        against = mixed(invested.reshape(len(cash), -1, len(_BETS)), cash[:, None])
        credit = np.asarray(self.credit)
        least: Array = np.minimum((against + credit[:-1]).min(axis=1), cash + credit[-1])
        return least


def against_calibration(
    losses: Floats,
    bound: float,
    *,
    tolerance: float = 0.0,
    propensities: Floats | None = None,
    least_propensity: float = 1.0,
) -> RiskTest:
    """Make the test of "the risk is at most the baseline (1 + tolerance)", including the baseline's uncertainty.

    Args:
        losses: losses of independent labelled units of the same stratum [n], in-domain or of a time known to be good.
        bound: the loss is clipped here; 1 for indicators. It must be fixed before these losses are seen.
        tolerance: relative increase of the risk that does not raise an alarm.
        propensities: propensities of the labels in calibration [n]; None if all are the same.
        least_propensity: smallest propensity that a label, here or live, can have.

    Raises:
        ValueError: no losses, or one, a propensity, the bound or the tolerance that is out of range.
    """
    if not math.isfinite(tolerance) or tolerance < 0:
        raise ValueError(f"tolerance is a relative rise of at least 0, not {tolerance:g}")
    loss, weight = clipped(losses, bound), weights(losses, propensities, least_propensity)
    if not len(loss):
        raise ValueError("a baseline needs at least one labelled unit")
    mean = float(np.average(loss, weights=weight))
    error = math.sqrt(float(np.sum(np.square(weight * (loss - mean))))) / float(weight.sum())
    error = max(error, bound / len(loss))  # for losses that are all equal, e.g. none unacceptable
    grid = mean + error * _STEPS
    grid = np.unique(np.concatenate([mean * _FALLS, grid, max(grid[-1], mean) * _RISES]))
    grid = grid[(grid > _LEAST * bound) & (grid < bound)]
    credit = [_credit(loss, weight, bound, baseline) for baseline in (0.0, *grid.tolist())]
    levels = tuple((grid * (1 + tolerance)).tolist())
    return RiskTest(bound, levels, tuple(credit), least_propensity)


def against_limit(limit: float, bound: float, *, least_propensity: float = 1.0) -> RiskTest:
    """Make the test of "the risk is at most the limit", such as a certificate's; both in the loss's unit.

    Raises:
        ValueError: the limit lies outside (0, bound), or the bound or the propensity is out of range.
    """
    clipped(np.zeros(1), bound)
    weights(np.zeros(1), None, least_propensity)
    if not _LEAST * bound < limit < bound:
        raise ValueError(f"a limit of the risk lies between {_LEAST * bound:g} and the bound {bound:g}, not {limit:g}")
    levels = (limit, *(level for level in (limit * _RISES).tolist() if level < bound))
    return RiskTest(bound, levels, (0.0, *(_EXCLUDED,) * len(levels)), least_propensity)


def clipped(losses: Floats, bound: float) -> Array:
    """Return losses [n] as float64, clipped at the bound.

    Raises:
        ValueError: losses do not have one axis, one is negative or NaN, or the bound is not finite and positive.
    """
    if not 0 < bound < math.inf:
        raise ValueError(f"the bound of a loss is finite and positive, not {bound:g}")
    if losses.ndim != 1:
        raise ValueError(f"losses need the shape [n], got {list(losses.shape)}")
    wrong = np.flatnonzero(~(losses >= 0))
    if len(wrong):
        raise ValueError(f"loss {wrong[0]} is {losses[wrong[0]]:g}: losses are at least 0; leave out what has no label")
    return np.minimum(losses, bound, dtype=np.float64)


def weights(losses: Floats, propensities: Floats | None, least: float) -> Array:
    """Return weights in (0, 1] [n]: the least propensity over the label's.

    Raises:
        ValueError: lengths differ, or a propensity lies outside [least, 1].
    """
    if not 0 < least <= 1:
        raise ValueError(f"the least propensity is a probability in (0, 1], not {least:g}")
    if propensities is None:
        return np.ones(len(losses))
    if propensities.shape != losses.shape:
        raise ValueError(f"{len(losses)} losses need as many propensities, got {list(propensities.shape)}")
    wrong = np.flatnonzero(~((propensities >= least) & (propensities <= 1)))
    if len(wrong):
        first = wrong[0]
        raise ValueError(
            f"propensity {first} is {propensities[first]:g}: it lies in [{least:g}, 1], fixed at the start"
        )
    return least / np.asarray(propensities, np.float64)


def _credit(loss: Array, weight: Array, bound: float, baseline: float) -> float:
    """Return the log evidence of calibration losses [n] against "the baseline is at least this"; at least ln 1/2.

    Half of the capital is kept as cash, half is bet on smaller losses: 1 + c w (baseline - loss) / (bound - baseline).
    """
    shortfall = weight * (baseline - loss) / (bound - baseline)
    grown = np.log1p(shortfall[:, None] * _CREDIT_BETS).sum(axis=0)
    return float(mixed(grown, np.zeros(())) - math.log(2))
