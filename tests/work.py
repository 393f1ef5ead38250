"""Amount of Python work of a block, counted rather than timed, so that it is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Work:
    """Lines of Python that a block ran in its own thread; what NumPy does with a whole array is one line."""

    lines = 0

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.lines += event == "line"
        return self._trace


@contextmanager
def counted() -> Iterator[Work]:
    """Count the lines that the block runs: few for arrays, at least one an element for a loop over elements."""
    work, before = Work(), sys.gettrace()
    sys.settrace(work._trace)
    try:
        yield work
    finally:
        sys.settrace(before)
