"""Wealth of bets against "nothing has changed": the statistic of ``martingale`` and ``risk``.

A *strategy* multiplies its capital by factors whose expectation is at most 1 while nothing has changed, so P(wealth
ever reaches 1/alpha) <= alpha (Ville 1939), for any number of looks. Bets that fit a change multiply their capital.

Capital that was bet during a million unchanged units is lost before a change. So a little of it enters at the start of
every block of units, r = 1, 2, …, spread evenly over the strategies: w_r = G(r) - G(r + 1), G(r) = 1/(1 + ln r), which
sums to 1. The rest is kept in cash. The whole is a mixture of restarts, hence *one* wealth process: the guarantee is
P(ever) <= alpha, not a mean time between false alarms as with Shiryaev-Roberts procedures. A change in block r costs
ln(1/w_r) of log wealth, about ln r + 2 ln(1 + ln r): 14.4 at r = 16 000 (a million units).

Streams of several replicas or strata: see ``average``, ``product`` and ``either``. They combine *current* wealth; peaks
must not be combined, since the average of two peaks is not the value of a wealth process.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NOTHING = -1e300  # log of zero capital: finite, so that it can be written as JSON


class Capital(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Capital of S strategies after a number of whole blocks; all in logs."""

    blocks: int
    grown: tuple[float, ...]
    """Log of the growth of one unit of capital from the first block, for each strategy [S]."""
    entered: tuple[float, ...]
    """Log of the capital entered at all blocks, in units of the first block's capital, for each strategy [S]."""

    @property
    def log_cash(self) -> float:
        """Log of the capital that has not entered yet."""
        return -math.log1p(math.log(self.blocks + 1))


def start(strategies: int) -> Capital:
    """Return the capital before the first block, all in cash."""
    return Capital(0, (0.0,) * strategies, (_NOTHING,) * strategies)


def grow(capital: Capital, gains: Array) -> tuple[Capital, Array, Array]:
    """Apply the gains of whole blocks, in order; bit-identical in one call or many.

    Args:
        capital: capital before the blocks.
        gains: log of the factor of each strategy over each block [blocks, S].

    Returns:
        The capital after the blocks; the log capital in each strategy after each of them [blocks, S] (each as if all
        capital had entered into it); the log of the cash that is left [blocks].
    """
    if not len(gains):
        return capital, np.empty_like(gains), np.empty(0)
    grown = np.add.accumulate(np.vstack([np.array(capital.grown), gains]))
    restart = capital.blocks + 1 + np.arange(len(gains), dtype=np.float64)
    entries = np.vstack([np.array(capital.entered), _log_entry(restart)[:, None] - grown[:-1]])
    entered = np.logaddexp.accumulate(entries)
    after = Capital(capital.blocks + len(gains), tuple(grown[-1].tolist()), tuple(entered[-1].tolist()))
    return after, grown[1:] + entered[1:], -np.log1p(np.log(restart + 1))


def mixed(invested: Array, cash: Array) -> Array:
    """Return the log wealth of an even mixture of strategies [..., K] and the cash [...]."""
    top = invested.max(axis=-1)
    spread = top + np.log(np.exp(invested - top[..., None]).mean(axis=-1))
    return np.asarray(np.logaddexp(spread, cash))


def alarmed(log_wealth: float, alpha: float = 0.05) -> bool:
    """Return whether wealth has reached 1/alpha.

    Raises:
        ValueError: alpha lies outside (0, 1).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a probability between 0 and 1, both excluded, not {alpha:g}")
    return log_wealth >= -math.log(alpha)


def average(log_wealth: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Return the log of the weighted average of current wealths, valid under any dependence between streams.

    With k replicas, a change in one costs ln k of log wealth. Weights must be fixed beforehand; they are equal by
    default.

    Raises:
        ValueError: no wealth, or weights that are negative, all zero or of another length.
    """
    values = np.asarray(log_wealth, np.float64)
    share = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    if not len(values) or share.shape != values.shape or not (share >= 0).all() or not 0 < share.sum() < math.inf:
        raise ValueError(
            f"{len(values)} wealths need as many weights, at least 0 and not all zero, got {share.tolist()}"
        )
    return float(np.logaddexp.reduce(values[share > 0] + np.log(share[share > 0] / share.sum())))


def product(log_wealth: Sequence[float]) -> float:
    """Return the log of the product of current wealths, for streams that are independent while nothing has changed.

    It accumulates evidence of a change in all streams. Streams without the change reduce it, each to its cash at worst.

    Raises:
        ValueError: no wealth.
    """
    if not len(log_wealth):
        raise ValueError("a product of wealths needs at least one")
    return float(np.sum(log_wealth))


def either(log_wealth: Sequence[float]) -> float:
    """Return the log wealth of half the capital on ``average``, half on ``product``; needs independent streams."""
    return average([average(log_wealth), product(log_wealth)])


def _log_entry(restart: Array) -> Array:
    """Return the log of w_r = G(r) - G(r + 1), without cancellation."""
    here = np.log(restart)
    return np.log(np.log1p(1 / restart)) - np.log1p(here) - np.log1p(np.log(restart + 1))
