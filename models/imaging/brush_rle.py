"""Run-length code of brush masks, as Label Studio keeps them: an RGBA picture in which opaque pixels are marked.

The code is a stream of bits, the most significant first: the number of values (32 bits); the width of a value less one
(5); four widths of lengths less one (4 each). Runs follow: whether one value is repeated (1), which of the four widths
its length has (2), the length less one, then the value once, or as many values as the length says. Values are the bytes
of the pixels, row by row, each red, green, blue and alpha (the code of ``@thi.ng/rle-pack``).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CHANNELS = 4
OPAQUE = 128
"""Smallest alpha of a marked pixel: edges of brush strokes may be smoothed."""
_COUNT_BITS, _WIDTH_BITS, _LENGTH_BITS = 32, 5, 4
_VALUE_BITS = 8
_LENGTHS = (3, 4, 8, 16)
"""Widths of lengths that are written, bits; the widths that are read stand in the code."""


class BadCode(ValueError):
    """The numbers are not a run-length code of a picture of this size."""


def encode(mask: NDArray[np.bool_]) -> list[int]:
    """Return the code of a mask [rows, columns], in bytes."""
    values = np.repeat(np.asarray(mask, np.uint8).ravel() * 255, CHANNELS)
    starts = np.flatnonzero(np.diff(values, prepend=~values[:1]))
    lengths = np.diff(starts, append=len(values))
    bits = [f"{len(values):032b}", f"{_VALUE_BITS - 1:05b}", *(f"{width - 1:04b}" for width in _LENGTHS)]
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        bits += _runs(length, int(values[start]))
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


def _runs(length: int, value: int) -> list[str]:
    """Return the bits of a value that is repeated."""
    longest = 1 << _LENGTHS[-1]
    runs = []
    while length:
        part = min(length, longest)
        place = next(place for place, width in enumerate(_LENGTHS) if part <= 1 << width)
        runs.append(f"1{place:02b}{part - 1:0{_LENGTHS[place]}b}{value:0{_VALUE_BITS}b}")
        length -= part
    return runs


def decode(code: Sequence[int], rows: int, columns: int) -> NDArray[np.bool_]:
    """Return the mask [rows, columns] of a code.

    Raises:
        BadCode: it is cut off, of a picture of another size, or not of bytes.
    """
    try:
        reader = _Bits(bytes(code))
    except (TypeError, ValueError) as error:
        raise BadCode(f"a run-length code is a list of numbers from 0 to 255: {error}") from error
    expected = rows * columns * CHANNELS
    count = reader.take(_COUNT_BITS)
    if count != expected:  # before memory is taken for it
        raise BadCode(f"the code has {count} values; needed: {expected}, {columns} x {rows} pixels of {CHANNELS}")
    width = reader.take(_WIDTH_BITS) + 1
    if width != _VALUE_BITS:
        raise BadCode(f"the code has values of {width} bits; needed: {_VALUE_BITS}")
    lengths = [reader.take(_LENGTH_BITS) + 1 for _ in range(4)]
    values = np.zeros(count, np.uint8)
    place = 0
    while place < count:
        repeated = reader.take(1)
        end = place + 1 + reader.take(lengths[reader.take(2)])
        if end > count:
            raise BadCode(f"a run ends at value {end}; the picture has {count}")
        if repeated:
            values[place:end] = reader.take(width)
        else:
            values[place:end] = [reader.take(width) for _ in range(end - place)]
        place = end
    alpha: NDArray[np.bool_] = values.reshape(rows, columns, CHANNELS)[..., -1] >= OPAQUE
    return alpha


class _Bits:
    """Reader of numbers of any width from bytes."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def take(self, width: int) -> int:
        """Return the number of the next bits.

        Raises:
            BadCode: there are fewer.
        """
        end = self._place + width
        if end > 8 * len(self._content):
            raise BadCode(f"the code ends after {len(self._content)} bytes, within a run")
        piece = int.from_bytes(self._content[self._place // 8 : -(-end // 8)], "big")
        self._place = end
        return piece >> (-end % 8) & ((1 << width) - 1)
