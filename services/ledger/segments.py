"""Compact encoding of many units: scores, decisions and propensities of runs as the body of a segment's row.

Runs are consecutive units that were decided at one time. A body is little-endian: a head (format, flags, runs, units,
the one propensity), then per run the first sequence (8 bytes), time (8) and count (4), then per unit the score (4) and,
where there are such units, one bit each for deferred and for deferred by the caller's wish, and the propensity (4)
where it is not one number.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.policy.decision import Decision

_HEAD = struct.Struct("<BBxxIId")
_FORMAT = 1
_DEFERRED, _CALLER, _PROPENSITIES = 1, 2, 4


@dataclass(frozen=True)
class Runs:
    """Units [n] of one head in k runs."""

    first: NDArray[np.uint64]
    """Sequence of the first unit of each run [k]."""
    count: NDArray[np.uint32]
    """Units of each run [k]; their sum is n."""
    time: NDArray[np.float64]
    """Time of decision of each run [k], seconds since 1970."""
    uncertainty: NDArray[np.float32]
    decisions: NDArray[np.uint8]
    """Values of ``Decision`` [n]."""
    propensity: float | NDArray[np.float32]
    """Probability of a label request for units within the policy's threshold: one number, or of each unit [n]
    (1 for those that the policy deferred)."""

    def __len__(self) -> int:
        return len(self.uncertainty)

    @property
    def sequence(self) -> NDArray[np.uint64]:
        """Sequence of each unit [n]."""
        starts = np.cumsum(self.count, dtype=np.int64) - self.count
        steps = np.arange(len(self), dtype=np.int64) - np.repeat(starts, self.count)
        return np.repeat(self.first, self.count) + steps.astype(np.uint64)

    @property
    def times(self) -> NDArray[np.float64]:
        """Time of decision of each unit [n]."""
        return np.repeat(self.time, self.count)

    @property
    def propensities(self) -> NDArray[np.float64]:
        """Probability of a label request of each unit [n]; 1 where the policy deferred."""
        answered = np.asarray(self.propensity, np.float64)
        return np.where(self.decisions == Decision.DEFER.value, 1.0, answered)


def join(parts: Sequence[Runs]) -> Runs:
    """Concatenate runs in their order."""
    if len(parts) == 1:
        return parts[0]
    constants = {part.propensity for part in parts if isinstance(part.propensity, float)}
    if len(constants) == 1 and all(isinstance(part.propensity, float) for part in parts):
        propensity: float | NDArray[np.float32] = constants.pop()
    else:
        propensity = np.concatenate([np.broadcast_to(np.float32(part.propensity), len(part)) for part in parts])
    return Runs(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.uncertainty for part in parts]),
        np.concatenate([part.decisions for part in parts]),
        propensity,
    )


def pack(runs: Runs) -> bytes:
    """Encode runs as a body."""
    deferred, caller = runs.decisions == Decision.DEFER.value, runs.decisions == Decision.CALLER_DEFERRED.value
    flags, tail, constant = 0, b"", float("nan")
    for flag, bits in ((_DEFERRED, deferred), (_CALLER, caller)):
        if bits.any():
            flags |= flag
            tail += np.packbits(bits).tobytes()
    if isinstance(runs.propensity, float):
        constant = runs.propensity
    else:
        flags |= _PROPENSITIES
        tail += runs.propensity.astype("<f4", copy=False).tobytes()
    return b"".join(
        (
            _HEAD.pack(_FORMAT, flags, len(runs.first), len(runs), constant),
            runs.first.astype("<u8", copy=False).tobytes(),
            runs.time.astype("<f8", copy=False).tobytes(),
            runs.count.astype("<u4", copy=False).tobytes(),
            runs.uncertainty.astype("<f4", copy=False).tobytes(),
            tail,
        )
    )


def unpack(body: bytes) -> Runs:
    """Decode the runs of a body.

    Raises:
        ValueError: it is damaged, or of an unknown format.
    """
    if len(body) < _HEAD.size or body[0] != _FORMAT:
        raise ValueError(f"a segment's body of {len(body)} bytes is not of format {_FORMAT}")
    _, flags, k, n, constant = _HEAD.unpack_from(body)
    bits = (n + 7) // 8
    needed = _HEAD.size + 20 * k + 4 * n + bits * ((flags & _DEFERRED > 0) + (flags & _CALLER > 0))
    needed += 4 * n * (flags & _PROPENSITIES > 0)
    if len(body) != needed:
        raise ValueError(f"a segment's body of {k} runs and {n} units has {len(body)} bytes, not {needed}")
    place = _HEAD.size

    def take(kind: str, count: int) -> NDArray[np.generic]:
        nonlocal place
        column: NDArray[np.generic] = np.frombuffer(body, kind, count, place)
        place += column.nbytes
        return column

    first, time, count = take("<u8", k), take("<f8", k), take("<u4", k)
    if count.sum(dtype=np.uint64) != n:
        raise ValueError(f"a segment's body has runs of {count.sum(dtype=np.uint64)} units, and scores of {n}")
    uncertainty = take("<f4", n)
    decisions = np.full(n, Decision.ANSWER, np.uint8)
    for flag, decision in ((_DEFERRED, Decision.DEFER), (_CALLER, Decision.CALLER_DEFERRED)):
        if flags & flag:
            decisions[np.unpackbits(take("u1", bits).view(np.uint8), count=n).view(np.bool_)] = decision
    propensity = take("<f4", n) if flags & _PROPENSITIES else constant
    return Runs(first, count, time, uncertainty, decisions, propensity)  # type: ignore[arg-type]


def histogram(edges: Sequence[float], uncertainty: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Count scores by bin [len(edges) + 2]: up to the first edge, up to each next, above the last, and NaN."""
    bins = np.searchsorted(np.asarray(edges, np.float32), uncertainty)  # NaN sorts behind the last edge
    counts = np.bincount(bins, minlength=len(edges) + 1).astype(np.uint32)
    missing = np.uint32(np.count_nonzero(np.isnan(uncertainty)))
    counts[-1] -= missing
    return np.append(counts, missing)


def pack_histogram(counts: NDArray[np.uint32]) -> bytes:
    """Encode counts as the body of a segment of explored units; edges are the head's reference quantiles."""
    return counts.astype("<u4", copy=False).tobytes()


def unpack_histogram(body: bytes) -> NDArray[np.uint32]:
    """Decode counts by bin; see ``histogram``."""
    return np.frombuffer(body, "<u4")
