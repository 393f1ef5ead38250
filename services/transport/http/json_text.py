"""JSON texts of arrays and unit ids, for answers of many rows.

Each text is what msgspec writes for the same values as lists. Values of few kinds are written once and repeated by
index, and ids by blocks of a thousand, without a Python object for each.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.ledger.unit_ids import UnitIds

_BLOCK = 1000
_PLACE = b"#"
_DIGITS = b",".join(b'"%s%03d"' % (_PLACE, number) for number in range(_BLOCK))
"""Ids of a block, with ``_PLACE`` for what they have in common."""
_CONTROLS = 32
"""Number of control characters, which stand for no more values than that: no JSON text contains one."""
_STEP = len(b'"#000",')


def numbers(values: NDArray[Any]) -> msgspec.Raw:
    """Return an array of numbers; NaN and infinity are null."""
    return msgspec.Raw(msgspec.json.encode(values.tolist()))


class Choices:
    """Values that lists repeat."""

    def __init__(self, values: Iterable[Any]) -> None:
        texts = [msgspec.json.encode(value) for value in values]
        self._texts: NDArray[Any] = np.empty(len(texts), object)
        self._texts[:] = texts

    def listed(self, indices: NDArray[Any]) -> msgspec.Raw:
        """Return the list of the values at indices [n]."""
        if len(self._texts) > _CONTROLS:
            return msgspec.Raw(b"[%s]" % b",".join(self._texts[indices].tolist()))
        content = indices.astype(np.uint8).tobytes()
        for index in set(content):
            content = content.replace(bytes((index,)), self._texts[index] + b",")
        return msgspec.Raw(b"[%s]" % content[:-1])


def unit_ids(ids: UnitIds) -> msgspec.Raw:
    """Return the list of the texts of ids."""
    return msgspec.Raw(b"[%s]" % b",".join(_blocks(ids)))


def _blocks(ids: UnitIds) -> Iterator[bytes]:
    if not ids.count:
        return
    first, end = ids.first, ids.first + ids.count
    common = ids.prefix
    if first < _BLOCK:  # without leading zeros
        listed = f'","{common}'.join(map(str, range(first, min(end, _BLOCK))))
        yield f'"{common}{listed}"'.encode()
        first = _BLOCK
    while first < end:
        block, start = divmod(first, _BLOCK)
        stop = min(_BLOCK, start + end - first)
        yield _DIGITS[start * _STEP : stop * _STEP - 1].replace(_PLACE, f"{common}{block}".encode())
        first += stop - start
