"""Exchangeability martingale: a test for change in a stream of scores, with neither labels nor reference.

Each unit gets the smoothed conformal p-value of its bin among all units so far (Vovk, Gammerman & Shafer 2005, ch. 7):
``p = (#{u_j > u_i} + theta #{u_j = u_i}) / i`` over j <= i, theta uniform. Bins are ties, which theta breaks, so while
the stream is exchangeable (e.g. independent and of one law) p-values are *exactly* independent and uniform, for any
bins, discrete and constant scores included. There is no fixed reference sample, whose sampling error would be detected
after some millions of units. Bets on the p-values are Beta densities, as each has expectation 1 under uniformity; their
wealth depends on the sums of ln p and ln(1 - p) alone. See ``wealth`` for its sensitivity after a million unchanged
units.

Guarantee: P(wealth ever reaches 1/alpha) <= alpha while the stream is exchangeable, with looks after every block. After
an alarm, start a new test; each start has its own guarantee.

Limits:

- Traffic that differs from the in-domain data from the first unit on is exchangeable with itself. ``psi`` detects that.
- Any change of the scores' law counts, including harmless and small ones: after a million unchanged units an increase
  of all scores by a twentieth is found within some ten thousand. ``psi`` measures how large it is, ``risk`` whether it
  is harmful.
- Order counts: night after day, and rows of one request (a route, a scene, a document), are not exchangeable. Feed one
  unit of each request, and give daily cycles a state for each part of the day, or expect alarms that are true.
"""

import itertools

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from models.drift.bins import Bins, Floats
from models.drift.wealth import Array, Capital, grow, mixed, start

BLOCK = 64
"""Units per block: restarts and looks happen between blocks."""

_SHAPES = (0.5, 0.75, 0.9, 1.0, 1.1, 1.35, 2.0)
_BETS = np.array([shape for shape in itertools.product(_SHAPES, _SHAPES) if shape != (1.0, 1.0)])
"""Parameters a, b of Beta densities [bets, 2]; a < 1 < b bets that scores increase, a = b < 1 that they spread."""

_ROWS = 255  # units counted per step: running counts fit into a byte


class Watched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """State of the test after some units of a stream."""

    counts: tuple[int, ...]
    """Units of all whole blocks in each bin [bins]."""
    pending: tuple[int, ...]
    """Bins of the units behind the last whole block, fewer than ``BLOCK``."""
    capital: Capital
    log_wealth: float = 0.0
    """Log wealth after the last whole block."""
    log_peak: float = 0.0
    """Largest log wealth after any block, which decides on the alarm."""

    @property
    def units(self) -> int:
        """Number of units seen."""
        return self.capital.blocks * BLOCK + len(self.pending)


class Exchangeability(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Test of one stream: its bins, and the key of the random numbers that break ties."""

    bins: Bins
    key: int
    """Seed of theta, at least 0; the theta of a unit depends on the key and on its place in the stream only."""

    def __post_init__(self) -> None:
        if self.key < 0:
            raise ValueError(f"the key of a stream is a whole number of at least 0, not {self.key}")

    def start(self) -> Watched:
        """Return the state before the first unit."""
        return Watched((0,) * len(self.bins), (), start(len(_BETS)))

    def update(self, watched: Watched, scores: Floats) -> Watched:
        """Return the state after more scores [n], in the order of the stream; bit-identical in one call or many.

        Raises:
            ValueError: scores do not have one axis, or the state has other bins.
        """
        return self.path(watched, scores)[0]

    def path(self, watched: Watched, scores: Floats) -> tuple[Watched, Array]:
        """Return the state as ``update``, and the log wealth after each block that became whole [blocks].

        Raises:
            ValueError: as ``update``.
        """
        if len(watched.counts) != len(self.bins):
            raise ValueError(f"the state is of {len(watched.counts)} bins, the test of {len(self.bins)}: start anew")
        bins = np.concatenate([np.array(watched.pending, np.uint8), self.bins.index(scores)])
        whole = len(bins) - len(bins) % BLOCK
        pending = tuple(bins[whole:].tolist())
        if not whole:
            return msgspec.structs.replace(watched, pending=pending), np.empty(0)
        counts = np.array(watched.counts, np.int64)
        above, below = _ranked(counts, bins[:whole], self._theta(watched.capital.blocks * BLOCK, whole))
        sums = np.log(np.stack([above, below])).reshape(2, -1, BLOCK).sum(axis=2)
        capital, invested, cash = grow(watched.capital, _gains(sums))
        path = mixed(invested, cash)
        counts += np.bincount(bins[:whole], minlength=len(counts))
        peak = max(watched.log_peak, float(path.max()))
        return Watched(tuple(counts.tolist()), pending, capital, float(path[-1]), peak), path

    def _theta(self, first: int, units: int) -> Array:
        """Return uniform numbers on the open interval (0, 1), for units from ``first`` on."""
        source = np.random.PCG64(self.key)
        source.advance(first)
        return np.random.Generator(source).random(units) + 2.0**-54


def _gains(sums: Array) -> Array:
    """Return the log growth of each bet [blocks, bets] from the sums of ln p and ln(1 - p) over blocks [2, blocks]."""
    a, b = _BETS.T
    # term by term, not as a matrix product, whose rounding depends on the number of blocks
    gains: Array = sums[0][:, None] * (a - 1) + sums[1][:, None] * (b - 1) - BLOCK * betaln(a, b)
    return gains


def _ranked(before: NDArray[np.int64], bins: NDArray[np.uint8], theta: Array) -> tuple[Array, Array]:
    """Return p-values and 1 - p [n] of units in these bins, after ``before`` units in each bin [bins]."""
    columns = np.arange(len(before) + 1, dtype=np.uint8)
    at_least = np.append(np.cumsum(before[::-1])[::-1], 0)  # units so far in bin b or higher, [bins + 1]
    higher, same = np.empty(len(bins)), np.empty(len(bins))
    for first in range(0, len(bins), _ROWS):
        part = bins[first : first + _ROWS].astype(np.intp)
        reached = (bins[first : first + _ROWS, None] >= columns).view(np.uint8)
        within = np.add.accumulate(reached, dtype=np.uint8)  # of this part, the unit itself included
        rows = np.arange(len(part))
        above = at_least[part + 1] + within[rows, part + 1]
        higher[first : first + len(part)] = above
        same[first : first + len(part)] = at_least[part] + within[rows, part] - above
        at_least += within[-1]
    units = int(before.sum()) + 1.0 + np.arange(len(bins))
    above_or_tied = (higher + theta * same) / units
    below_or_tied = (units - higher - same + (1 - theta) * same) / units
    return above_or_tied, below_or_tied
