"""Replay of an artefact's stored inputs under a numeric profile, in pieces, so that it can be limited and observed."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.replay import Replayer, batches

PIECE_UNITS = 64
"""Units per piece; the clock is read between pieces, and a first verdict uses the first piece alone."""

Replayed = Mapping[str, Mapping[str, NDArray[np.float32]]]
"""Head name to measure to scores [batches, units]."""


class Measurement:
    """Replay of all stored units at every batch size; ``run`` continues where it stopped."""

    def __init__(
        self,
        replayer: Replayer,
        *,
        batch_sizes: Sequence[int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare a replay.

        Args:
            batch_sizes: most units of one pass; None for those of ``models.replay`` that differ on the device.
            clock: monotonic, in seconds.
        """
        self.batches = batches(replayer) if batch_sizes is None else tuple(batch_sizes)
        self.units = replayer.units
        self.done = 0
        """Number of units replayed at every batch size."""
        self.seconds = 0.0
        """Time spent so far, in seconds."""
        self._replayer = replayer
        self._clock = clock
        self._parts: dict[str, dict[str, list[NDArray[np.float32]]]] = {}

    @property
    def complete(self) -> bool:
        return self.done >= self.units

    def run(
        self,
        seconds: float = float("inf"),
        *,
        pieces: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[float], None] = lambda share: None,
    ) -> bool:
        """Replay until all units are done, the time is spent, or ``stopped`` returns true.

        Args:
            seconds: time after which no further piece begins.
            pieces: maximum number of pieces of ``PIECE_UNITS`` units; None for no limit.
            stopped: called between pieces.
            progress: called with the share done, 0 to 1, after each piece.

        Returns:
            True if all units are done.
        """
        begin = self._clock()
        count = 0
        while not self.complete and not stopped() and (pieces is None or count < pieces):
            if self._clock() - begin >= seconds:
                break
            start = self._clock()
            self._piece()
            self.seconds += self._clock() - start
            count += 1
            progress(self.done / self.units)
        return self.complete

    def scores(self) -> Replayed:
        """Return the scores of the units that are done, [batches, done] by head and measure."""
        return {
            head: {measure: np.concatenate(parts, axis=1) for measure, parts in by_measure.items()}
            for head, by_measure in self._parts.items()
        }

    def _piece(self) -> None:
        count = min(PIECE_UNITS, self.units - self.done)
        scores_by_batch = [self._replayer(self.done, count, batch) for batch in self.batches]
        for head, by_measure in scores_by_batch[0].items():
            kept = self._parts.setdefault(head, {})
            for measure in by_measure:
                kept.setdefault(measure, []).append(np.stack([scores[head][measure] for scores in scores_by_batch]))
        self.done += count
