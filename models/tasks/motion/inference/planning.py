"""Planning of requests: feature maps to statistics, in passes that a scheduler may join and split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.pace import Pace
from models.predictive import Trajectories
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference import rip
from models.tasks.motion.inference.members import Planners

Float32 = NDArray[np.float32]
Arrays = tuple[Float32, ...]

QUANTUM_SECONDS = 0.05
"""Longest wait for interactive work, s; a single request may take longer."""
MOST_REQUESTS = 64
"""Largest number of requests in one pass."""
_ALWAYS = ("plans", "weights", "confidence", "scores", "total")
_ENSEMBLE = ("data", "knowledge")


class Planning:
    """Planner from maps as rows [n, 17 y x] to arrays with requests as the last axis; ``read`` names them.

    The result of a request does not depend on others in its pass, to the last bit: if ``measure`` finds that it does on
    this machine, passes have one request.
    """

    def __init__(self, planners: Planners, recipe: Recipe) -> None:
        self._planners = planners
        self._recipe = recipe
        self._pace = Pace()
        self._names = (*_ALWAYS, *(_ENSEMBLE if planners.count > 1 else ()))
        self.quantum_rows = 1
        """Number of requests in one pass, set by ``measure``."""

    @property
    def row_values(self) -> int:
        """Number of values of a map."""
        return int(np.prod(self._recipe.grid.shape))

    def __call__(self, rows: Float32) -> Arrays:
        plans, scores = self._planners(rows.reshape(-1, *self._recipe.grid.shape))
        trajectories = rip.predictive(plans, scores, self._recipe)
        return tuple(np.moveaxis(getattr(trajectories, name), 0, -1) for name in self._names)

    def read(self, arrays: Arrays) -> Trajectories:
        """Return the statistics in the arrays of a pass."""
        return Trajectories(
            **{name: np.moveaxis(array, -1, 0) for name, array in zip(self._names, arrays, strict=True)}
        )

    def seconds(self, rows: int) -> float:
        """Return the expected duration of a pass, s."""
        return self._pace.seconds(rows)

    def measure(self, rows: Float32) -> None:
        """Warm up with maps as rows [n, 17 y x], n > 1, fit the model of the duration, and set the size of passes."""
        self._pace.measure(self, rows, len(rows), repeats=3)
        self.quantum_rows = self._pace.rows_within(QUANTUM_SECONDS, MOST_REQUESTS)
        if not self._independent(rows):
            self.quantum_rows = 1

    def _independent(self, rows: Float32) -> bool:
        """Return whether passes of several requests, up to the quantum, have the results of passes of one request."""
        alone = [self(row[None]) for row in rows]
        sizes = {size for size in (3, *(1 << power for power in range(1, 8))) if size <= self.quantum_rows}
        return all(_same(self(np.resize(rows, (size, rows.shape[1]))), alone) for size in sizes)


def _same(joined: Arrays, alone: list[Arrays]) -> bool:
    """Return whether the requests of a pass, repetitions of those run alone, have the same results to the last bit."""

    def own(place: int) -> Any:
        return zip(joined, alone[place % len(alone)], strict=True)

    count = joined[0].shape[-1]
    return all(
        np.array_equal(array[..., place], single[..., 0], equal_nan=True)
        for place in range(count)
        for array, single in own(place)
    )
