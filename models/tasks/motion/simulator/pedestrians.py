"""People on pavements and crossings: they wait for lights and for cars, and cross."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.simulator import curves
from models.tasks.motion.simulator.curves import Floats, Points
from models.tasks.motion.simulator.lanes import NONE, Crossing

_SPREAD = 0.8
"""Half the width in which people walk beside each other, m."""


@dataclass(slots=True)
class Walkers:
    """M people, [M] each; each walks along a line of his own."""

    lines: Floats
    """[M, P, 2], 1 m apart."""
    along: Floats
    """m."""
    speed: Floats
    """Wanted, m/s."""
    crossing: NDArray[np.intp]
    """Which one they cross; -1 none."""
    kerbs: Floats
    """Where along the line they step onto the road and off it, [M, 2], m."""
    length: Floats
    """Of the line, m."""

    def __len__(self) -> int:
        return len(self.along)

    def places(self) -> Points:
        """[M, 2]."""
        low = np.clip(self.along.astype(np.intp), 0, self.lines.shape[1] - 2)
        rows, share = np.arange(len(self)), (self.along - low)[:, None]
        return np.asarray(self.lines[rows, low] * (1 - share) + self.lines[rows, low + 1] * share)

    def on_road(self) -> NDArray[np.bool_]:
        """Who is between kerbs."""
        return np.asarray((self.crossing != NONE) & (self.along > self.kerbs[:, 0]) & (self.along < self.kerbs[:, 1]))

    def waiting(self) -> NDArray[np.bool_]:
        """Who stands at a kerb, about to cross."""
        before = self.kerbs[:, 0] - self.along
        return np.asarray((self.crossing != NONE) & (before >= 0) & (before < 0.6))

    def step(self, may_cross: NDArray[np.bool_], dt: float) -> None:
        """Moves all by a time step. Who may not cross stops at the kerb."""
        wanted = self.along + self.speed * dt
        held = (self.crossing != NONE) & (self.along <= self.kerbs[:, 0]) & ~may_cross
        after = np.where(held, np.minimum(wanted, np.maximum(self.kerbs[:, 0], self.along)), wanted)
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
    """People within ``radius`` metres of the middle, two of five on their way across a road.

    Args:
        jaywalking: share of these who do so where nothing is painted.
    """
    near: dict[bool, list[int]] = {True: [], False: []}
    for index, one in enumerate(crossings):
        if np.hypot(*one.line.mean(axis=0)) < radius:
            near[len(one.outline) == 0].append(index)
    size = int(2.2 * seconds) + 45
    lines, crossing, kerbs, length = [], [], [], []
    for _ in range(count):
        speed_room = 2.0 * seconds
        here = near[bool(rng.random() < jaywalking)]
        if here and rng.random() < 0.4:
            index = here[int(rng.integers(len(here)))]
            line, kerb = _across(rng, crossings[index], rng.uniform(0, 1.3 * seconds), speed_room)
            crossing.append(index)
            kerbs.append(kerb)
        else:
            line = _along(rng, pavements, speed_room, radius)
            crossing.append(NONE)
            kerbs.append((np.inf, np.inf))
        total = float(curves.lengths(line)[-1])
        length.append(min(total, size - 2.0))
        lines.append(curves.at(line, np.arange(size, dtype=np.float64)))
    speed = np.clip(rng.normal(1.35, 0.25, count), 0.7, 2.2)
    return Walkers(
        np.array(lines).reshape(count, size, 2),
        np.zeros(count),
        speed,
        np.array(crossing, np.intp),
        np.array(kerbs).reshape(count, 2),
        np.array(length),
    )


def _along(rng: np.random.Generator, pavements: tuple[Points, ...], distance: float, radius: float) -> Points:
    """A piece of pavement, in either direction."""
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
    rng: np.random.Generator, crossing: Crossing, before: float, after: float
) -> tuple[Points, tuple[float, float]]:
    """To a crossing along the road, over it and on; and where the kerbs are along that line."""
    line = crossing.line if rng.random() < 0.5 else crossing.line[::-1]
    ahead = line[1] - line[0]
    width = float(np.hypot(*ahead))
    ahead = ahead / width
    beside = np.array([-ahead[1], ahead[0]]) * rng.choice([-1.0, 1.0])
    beyond = np.array([-ahead[1], ahead[0]]) * rng.choice([-1.0, 1.0])
    shift = np.array([-ahead[1], ahead[0]]) * rng.uniform(-1.2, 1.2)
    corners = np.stack([line[0] - before * beside, line[0], line[1], line[1] + after * beyond]) + shift
    kerb = 1.1  # people wait half a metre from the kerb, beyond which the line of the crossing begins
    return corners, (before + kerb, before + width - kerb)
