"""Progress of work with several parts."""

from collections.abc import Callable

from models.workbench import Progress


def ignore(share: float, line: str) -> None:
    """Discard a report."""


def span(progress: Progress, start: float, end: float, prefix: str = "") -> Progress:
    """Return the progress of a part of the work, which takes the shares ``start`` to ``end`` of the whole."""
    return lambda share, line: progress(start + (end - start) * share, f"{prefix}{line}")


class Counter:
    """Progress of a known number of units that are completed in steps."""

    def __init__(self, units: int, progress: Progress) -> None:
        self._units, self._progress, self._done = max(units, 1), progress, 0

    def add(self, line: str, units: int = 1) -> None:
        """Report that ``units`` more are done."""
        self._done += units
        self._progress(min(self._done / self._units, 1.0), line)

    def named(self, line: str) -> Callable[[int], None]:
        """Return a function that takes a number of completed units, and reports with a fixed line."""
        return lambda units: self.add(line, units)
