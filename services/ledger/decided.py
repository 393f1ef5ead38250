"""Decided units on their way into the ledger, and their encoding as frames of the journal."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.ledger.segments import Runs, join
from services.policy.decision import Decision

_HEAD = struct.Struct("<HQdIBd")
_ANSWERED, _CONSTANT, _ITEMISED = 1, 2, 4
"""Flags of a frame: all units are answered; one propensity for all; units have items."""
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


class _Items(msgspec.Struct, array_like=True, omit_defaults=False):
    """Itemised units [k] in a frame."""

    places: bytes
    """uint32 [k]."""
    requested: bytes | None
    """bool [k]; None: a label of each is requested."""
    census: bool
    raw: bytes | None
    """float32 [k]."""
    evidence: list[bytes | None]
    payload: list[bytes | None]
    payload_type: str


_encode_items = msgspec.msgpack.Encoder().encode
_decode_items = msgspec.msgpack.Decoder(_Items).decode


def frame(decided: Decided) -> bytes:
    """Encode units as the content of a journal's frame; contents of items must be bytes, not references."""
    key = _encoded(decided.key)
    decisions, itemised = decided.decisions, len(decided.itemised) > 0
    answered = not itemised and not (decisions != Decision.ANSWER.value).any()
    constant = isinstance(decided.propensity, float)
    head = _HEAD.pack(
        len(key),
        decided.first,
        decided.time,
        len(decided.uncertainty),
        answered * _ANSWERED | constant * _CONSTANT | itemised * _ITEMISED,
        decided.propensity if constant else 0.0,
    )
    return b"".join(
        (
            head,
            key,
            decided.uncertainty.tobytes(),
            b"" if answered else decisions.tobytes(),
            b"" if constant else decided.propensity.tobytes(),  # type: ignore[union-attr]
            _packed_items(decided) if itemised else b"",
        )
    )


def _packed_items(decided: Decided) -> bytes:
    places = decided.itemised
    return _encode_items(
        _Items(
            places.astype(np.uint32).tobytes(),
            None if decided.requested is None else decided.requested.tobytes(),
            decided.census,
            None if decided.raw is None else decided.raw[places].tobytes(),
            list(decided.evidence),
            list(decided.payload),
            decided.payload_type,
        )
    )


def unframe(frames: Iterable[bytes]) -> tuple[dict[Key, Runs], list[Decided]]:
    """Decode frames: all units as runs by key, in the frames' order, and the portions that have items."""
    gathered: dict[tuple[bytes, float | None], _Gathered] = {}
    itemised = []
    for content in frames:
        length, first, time, count, flags, constant = _HEAD.unpack_from(content)
        place = _HEAD.size + length
        group = content[_HEAD.size : place], constant if flags & _CONSTANT else None
        columns = gathered.get(group)
        if columns is None:
            columns = gathered[group] = _Gathered()
        columns.first.append(first)
        columns.time.append(time)
        columns.count.append(count)
        columns.uncertainty.append(uncertainty := content[place : place + 4 * count])
        place += 4 * count
        decisions = b"\x01" * count
        if not flags & _ANSWERED:
            decisions = content[place : place + count]
            place += count
        columns.decisions.append(decisions)
        rates = b""
        if not flags & _CONSTANT:
            rates = content[place : place + 4 * count]
            place += 4 * count
        columns.propensity.append(rates)
        if flags & _ITEMISED:
            propensity = constant if flags & _CONSTANT else np.frombuffer(rates, np.float32)
            part = Decided(
                _decoded(group[0]),
                first,
                np.frombuffer(uncertainty, np.float32),
                np.frombuffer(decisions, np.uint8),
                propensity,
                time,
            )
            itemised.append(_with_items(part, _decode_items(content[place:])))
    by_key: dict[Key, list[Runs]] = {}
    for (key, constant_or_none), columns in gathered.items():
        by_key.setdefault(_decoded(key), []).append(columns.runs(constant_or_none))
    return {key: join(parts) for key, parts in by_key.items()}, itemised


def _with_items(decided: Decided, items: _Items) -> Decided:
    decided.itemised = np.frombuffer(items.places, np.uint32).astype(np.intp)
    decided.requested = None if items.requested is None else np.frombuffer(items.requested, np.bool_)
    decided.census = items.census
    decided.evidence, decided.payload, decided.payload_type = items.evidence, items.payload, items.payload_type
    if items.raw is not None:
        decided.raw = np.full(len(decided.uncertainty), np.nan, np.float32)
        decided.raw[decided.itemised] = np.frombuffer(items.raw, np.float32)
    return decided


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
