"""Replayed scores as text, without loss: small if both profiles agree."""

import base64
import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.qualification.replayed import Replayed, replayed


class Packed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packed float32 values of n units under both profiles, without loss: zlib of little-endian bits, in base64.

    For the new profile the differences of bits (as int32) are stored, which are small if scores agree.
    """

    units: int
    batches: int
    reference: str
    scores: str


def pack(values: Replayed) -> Packed:
    """Return both arrays as text; NaN keep their bits."""
    first = np.ascontiguousarray(values.reference, "<f4")
    rest = np.ascontiguousarray(values.scores, "<f4").view("<i4")
    difference = rest - first.view("<i4")  # wraps around, and back again
    return Packed(len(values), len(values.scores), _text(first), _text(difference))


def unpack(packed: Packed, in_domain: float = 1.0) -> Replayed:
    """Return the arrays of ``pack``.

    Args:
        in_domain: least share of the units that are in-domain.

    Raises:
        ValueError: other sizes than declared, or damaged text.
    """
    first = np.frombuffer(_bytes(packed.reference, 4 * packed.units), "<f4")
    size = 4 * packed.units * packed.batches
    rest = np.frombuffer(_bytes(packed.scores, size), "<i4").reshape(packed.batches, packed.units)
    return replayed(first.astype(np.float32), (rest + first.view("<i4")).view("<f4").astype(np.float32), in_domain)


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode()


def _bytes(text: str, size: int) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(base64.b64decode(text, validate=True), max(size, 1))
    except zlib.error as error:
        raise ValueError(f"packed scores: {error}") from error
    if len(content) != size or unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError(f"packed scores: {len(content)} bytes, or more; must be {size}")
    return content
