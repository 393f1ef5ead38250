"""Decided units on their way into the ledger, and their encoding as frames of the journal."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.ledger.segments import Runs, join
from services.policy.decision import Decision

_HEAD = struct.Struct("<HQdIBd")
_NONE = np.zeros(0, np.intp)


class Key(NamedTuple):
    """Key of a segment: what all of its units have in common."""

    head: str
    model: str
    policy: str
    purpose: str


@dataclass(slots=True)
class Decided:
    """Consecutive units [n] of one head, decided at one time."""

    key: Key
    first: int
    uncertainty: NDArray[np.float32]
    decisions: NDArray[np.uint8]
    propensity: float | NDArray[np.float32]
    """Probability of an audit for units within the policy's threshold: one number, or one per unit [n]."""
    time: float = 0.0
    """Seconds since 1970."""
    itemised: NDArray[np.intp] = field(default_factory=lambda: _NONE)
    """Units that are kept as items, ascending [k]: deferred, drawn for an audit, or all under a census."""
    requested: NDArray[np.bool_] | None = None
    """True for itemised units with a label request [k]; None: all. Under a census some labels come without one."""
    census: bool = False
    """True where a census of the head is declared: every unit will get a label, so that all are itemised."""
    evidence: Sequence[bytes | None] = ()
    """Evidence of each itemised unit [k]; None where errors of the head are unknown."""
    payload: Sequence[bytes | None] = ()
    """Input of each itemised unit [k], None without a label request; empty where inputs are not kept."""
    payload_type: str = ""
    raw: NDArray[np.float32] | None = None
    """Measure as computed [n], where ``uncertainty`` is infinite for impossible predictions; else None."""

    @property
    def audited(self) -> int:
        """Number of units drawn for an audit."""
        drawn = self.decisions[self.itemised] != Decision.DEFER.value
        return int(np.count_nonzero(drawn if self.requested is None else drawn & self.requested))

    @property
    def runs(self) -> Runs:
        """The units as a run of a segment."""
        n = len(self.uncertainty)
        return Runs(
            np.array([self.first], np.uint64),
            np.array([n], np.uint32),
            np.array([self.time]),
            self.uncertainty,
            self.decisions,
            self.propensity,
        )


def frame(decided: Decided) -> bytes:
    """Encode units without items as the content of a journal's frame."""
    key = _encoded(decided.key)
    answered = not (decided.decisions != Decision.ANSWER.value).any()
    constant = isinstance(decided.propensity, float)
    head = _HEAD.pack(
        len(key),
        decided.first,
        decided.time,
        len(decided.uncertainty),
        answered + 2 * constant,
        decided.propensity if constant else 0.0,
    )
    return b"".join(
        (
            head,
            key,
            decided.uncertainty.tobytes(),
            b"" if answered else decided.decisions.tobytes(),
            b"" if constant else decided.propensity.tobytes(),  # type: ignore[union-attr]
        )
    )


def unframe(frames: Iterable[bytes]) -> dict[Key, Runs]:
    """Decode frames to runs by key, in the frames' order."""
    gathered: dict[tuple[bytes, float | None], _Gathered] = {}
    for content in frames:
        length, first, time, count, flags, constant = _HEAD.unpack_from(content)
        place = _HEAD.size + length
        group = content[_HEAD.size : place], constant if flags & 2 else None
        columns = gathered.get(group)
        if columns is None:
            columns = gathered[group] = _Gathered()
        columns.first.append(first)
        columns.time.append(time)
        columns.count.append(count)
        columns.uncertainty.append(content[place : place + 4 * count])
        place += 4 * count
        if flags & 1:
            columns.decisions.append(b"\x01" * count)
        else:
            columns.decisions.append(content[place : place + count])
            place += count
        columns.propensity.append(content[place:])
    by_key: dict[Key, list[Runs]] = {}
    for (key, constant_or_none), columns in gathered.items():
        by_key.setdefault(_decoded(key), []).append(columns.runs(constant_or_none))
    return {key: join(parts) for key, parts in by_key.items()}


@dataclass(slots=True)
class _Gathered:
    """Columns of many frames that share a key and a constant propensity (or have none)."""

    first: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    uncertainty: list[bytes] = field(default_factory=list)
    decisions: list[bytes] = field(default_factory=list)
    propensity: list[bytes] = field(default_factory=list)

    def runs(self, constant: float | None) -> Runs:
        propensity = np.frombuffer(b"".join(self.propensity), np.float32) if constant is None else constant
        return Runs(
            np.array(self.first, np.uint64),
            np.array(self.count, np.uint32),
            np.array(self.time),
            np.frombuffer(b"".join(self.uncertainty), np.float32),
            np.frombuffer(b"".join(self.decisions), np.uint8),
            propensity,
        )


@lru_cache(maxsize=256)
def _encoded(key: Key) -> bytes:
    return "\0".join(key).encode()


def _decoded(key: bytes) -> Key:
    return Key(*key.decode().split("\0"))
