"""The way of a request: images to rows of pixels, passes over the ensemble, one unit an image."""

import numpy as np
from numpy.typing import NDArray

from digits.spec import HEADS, INK, SCHEMA, SIDE
from models.executors.reduced import Reduced
from services.ledger.contract import Portion
from services.request import validate
from services.request.contract import Done, RowBatch, Units, Work

Images = NDArray[np.float32]
"""Pixels, [n, 64]."""


class DigitsTask:
    """Functions that the pipeline calls for a request."""

    name, heads = "digits", HEADS
    payload_type, payload_kept = "image/x-portable-graymap", True

    def __init__(self, members: Reduced, max_images: int) -> None:
        self._members, self._max_images = members, max_images

    def expand(self, request: Images) -> Units[Images]:
        """Check the pixels; raise ``InvalidInput`` or ``TooLarge``."""
        content = np.ascontiguousarray(request, "<f4").tobytes()
        rows = validate.packed(SCHEMA, len(request), content, "", self._max_images)
        return Units(rows, len(rows), self._members.seconds(len(rows)), 16 * rows.nbytes)

    def run(self, units: Units[Images]) -> Work:
        """Yield passes over the ensemble, and what is finished after each."""
        step = self._members.quantum_rows
        for start in range(0, units.count, step):
            rows = units.payload[start : start + step]
            arrays = yield RowBatch(self._members, rows)
            yield Done(start, len(rows), self._members.read(arrays)[0])

    def collapse(self, units: Units[Images], portion: Portion) -> Portion:
        """Return the portion, which the table of the answer reads."""
        return portion

    def payload(self, units: Units[Images], items: NDArray[np.intp]) -> list[bytes]:
        """Return images as files for people who label them."""
        header = f"P5 {SIDE} {SIDE} {INK}\n".encode()
        return [header + row.astype(np.uint8).tobytes() for row in units.payload[items]]
