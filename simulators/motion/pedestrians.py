"""Pedestrians on pavements and crossings; they wait for lights and cars before they cross."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion import curves
from simulators.motion.curves import Floats, Points
from simulators.motion.lanes import NONE, Crossing

_SPREAD = 0.8
"""Half the width over which pedestrians spread, m."""
_CROSSING = 0.45
"""Share of people on their way across a road."""
_WAITING = 1.1
"""Distance from the start of a crossing's line to the waiting place, m: half a metre before the kerb."""
_NEAR = 6.0
"""Largest distance of a pavement from the end of a crossing that leads to it, m."""
_END = 8
"""Number of points at the end of a pavement to which pedestrians do not walk."""


@dataclass(slots=True)
class Walkers:
    """State of M pedestrians, [M] each; each walks along a line of their own."""

    lines: Floats
    """Lines, [M, P, 2], points 1 m apart."""
    along: Floats
    """Distance along the line, m."""
    speed: Floats
    """Selection speed, m/s."""
    crossing: NDArray[np.intp]
    """Number of the crossing that the pedestrian uses; -1 if none."""
    kerbs: Floats
    """Distances along the line to the kerbs at which the road begins and ends, [M, 2], m."""
    length: Floats
    """Length of the line, m."""

    def __len__(self) -> int:
        return len(self.along)

    def places(self) -> Points:
        """Return the positions, [M, 2]."""
        low = np.clip(self.along.astype(np.intp), 0, self.lines.shape[1] - 2)
        rows, share = np.arange(len(self)), (self.along - low)[:, None]
        return np.asarray(self.lines[rows, low] * (1 - share) + self.lines[rows, low + 1] * share)

    def on_road(self) -> NDArray[np.bool_]:
        """Return the mask of pedestrians between kerbs."""
        return np.asarray((self.crossing != NONE) & (self.along > self.kerbs[:, 0]) & (self.along < self.kerbs[:, 1]))

    def waiting(self) -> NDArray[np.bool_]:
        """Return the mask of pedestrians who stand at a kerb, about to cross."""
        before = self.kerbs[:, 0] - self.along
        return np.asarray((self.crossing != NONE) & (before >= 0) & (before < 0.6))

    def step(self, may_cross: NDArray[np.bool_], dt: float) -> None:
        """Move all pedestrians by a time step; those who may not cross stop at the kerb."""
        target = self.along + self.speed * dt
        held = (self.crossing != NONE) & (self.along <= self.kerbs[:, 0]) & ~may_cross
        after = np.where(held, np.minimum(target, np.maximum(self.kerbs[:, 0], self.along)), target)
        self.along = np.minimum(after, self.length)


def draw(
    rng: np.random.Generator,
    crossings: tuple[Crossing, ...],
    pavements: tuple[Points, ...],
    count: int,
    seconds: float,
    radius: float,
    jaywalking: float,
) -> Walkers:
    """Draw pedestrians within ``radius`` metres of the middle, some of them on their way across a road.

    Args:
        jaywalking: share of these who cross outside painted crossings.
    """
    near: dict[bool, list[int]] = {True: [], False: []}
    for index, candidate in enumerate(crossings):
        if np.hypot(*candidate.line.mean(axis=0)) < radius:
            near[len(candidate.outline) == 0].append(index)
    lines, crossing, kerbs, length = [], [], [], []
    room = 2.0 * seconds
    size = int(2.2 * room)
    for _ in range(count):
        here = near[bool(rng.random() < jaywalking)]
        chosen, kerb = NONE, (np.inf, np.inf)
        if here and rng.random() < _CROSSING:
            chosen = here[int(rng.integers(len(here)))]
            line, kerb = _across(rng, crossings[chosen], pavements, rng.uniform(1, 1.3 * seconds), room)
        else:
            line = _along(rng, pavements, room, radius)
        crossing.append(chosen)
        kerbs.append(kerb)
        length.append(min(float(curves.lengths(line)[-1]), size - 2.0))
        lines.append(curves.at(line, np.arange(size, dtype=np.float64)))
    return Walkers(
        np.array(lines).reshape(count, size, 2),
        np.zeros(count),
        np.clip(rng.normal(1.35, 0.25, count), 0.7, 2.2),
        np.array(crossing, np.intp),
        np.array(kerbs).reshape(count, 2),
        np.array(length),
    )


def _along(rng: np.random.Generator, pavements: tuple[Points, ...], distance: float, radius: float) -> Points:
    """Draw a piece of pavement in either direction."""
    for _ in range(20):
        line = pavements[int(rng.integers(len(pavements)))]
        total = float(curves.lengths(line)[-1])
        start = rng.uniform(0, max(total - 5, 1))
        piece = curves.part(line, start, min(start + distance, total))
        if np.hypot(*piece[0]) < radius:
            break
    piece = piece if rng.random() < 0.5 else piece[::-1]
    return curves.parallel(piece, rng.uniform(-_SPREAD, _SPREAD)) if len(piece) > 2 else piece


def _across(
    rng: np.random.Generator, crossing: Crossing, pavements: tuple[Points, ...], before: float, after: float
) -> tuple[Points, tuple[float, float]]:
    """Draw a line along the pavement to a crossing, over it and on; return it with the distances of the kerbs."""
    ends = crossing.line if rng.random() < 0.5 else crossing.line[::-1]
    ahead = (ends[1] - ends[0]) / np.hypot(*(ends[1] - ends[0]))
    ends = ends + np.array([-ahead[1], ahead[0]]) * rng.uniform(-1.2, 1.2)
    come = _from(rng, ends[0], pavements, before)[::-1]
    leave = _from(rng, ends[1], pavements, after)
    line = np.concatenate([come, ends, leave])
    known = curves.lengths(line)
    return line, (float(known[len(come)]) + _WAITING, float(known[len(come) + 1]) - _WAITING)


def _from(rng: np.random.Generator, place: Points, pavements: tuple[Points, ...], distance: float) -> Points:
    """Return the pavement away from a nearby place, nearest points first; empty if there is none."""
    away = [np.hypot(*(line - place).T) for line in pavements]
    line, apart = min(zip(pavements, away, strict=True), key=lambda pair: float(pair[1].min()))
    nearest = int(np.argmin(apart))
    if apart[nearest] > _NEAR:
        return np.empty((0, 2))
    back, ahead = line[:nearest][::-1], line[nearest + 1 :]
    ways = [way for way in (back, ahead) if len(way) >= _END] or [max(back, ahead, key=len)]
    return ways[int(rng.integers(len(ways)))][: max(1, round(distance))]
