"""Time-dependent shortest paths in a graph of (column, row, time), evaluated by stage with dynamic programming.

A leg leaves a row at a whole time step and reaches a row of the next column at a whole time step, so that the choice of
its duration is the choice of its speed, and no time is rounded. The graph is acyclic; one pass over its stages gives
the exact optimum for every objective at once, from the same responses of the service.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from routing.coast import LandMask
from routing.engine import Engine
from routing.fields import Ocean
from routing.geodesy import Floats
from routing.oracle import Power, PowerOracle
from routing.sea import Corridor
from routing.ship import Rows, Ship

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Edges:
    """Transitions of one stage. States are numbered `row * bins + time bin`."""

    tail: Ints
    """State in the starting column, int [E]."""
    head: Ints
    """State in the next column, int [E]."""
    hours: Floats
    """Duration of each edge, hours [E]."""
    rows: Rows
    """Inputs of the power model, float32 [E * S, 10]: S positions along each leg, at the time when they are passed."""


Objective = Callable[[Power, Floats], Floats]
"""Function from predictions [E, S] and durations [E] of edges to costs [E]; infinite if an edge is not allowed."""


@dataclass(frozen=True)
class LeastMean:
    """Mean energy (MWh) alone, as minimised by an optimiser without uncertainties."""

    engine: Engine

    def __call__(self, power: Power, hours: Floats) -> Floats:
        mean = power.mean.mean(axis=1)
        return np.where(self.engine.forbids(mean), np.inf, mean * hours / 1000.0)


@dataclass(frozen=True)
class RiskAverse:
    """Mean plus k standard deviations (MWh); deferred water is used only if there is no other way.

    The sum of the legs' deviations bounds the deviation of the voyage from above, and equals it if errors are fully
    correlated, as errors of knowledge are.
    """

    engine: Engine
    deviations: float = 1.0
    barred_limit: float = 0.2
    """Largest probability of a barred power on a leg."""
    overload_limit: float = 0.01
    deferral_mwh_per_h: float = 10_000.0
    """Price of an hour in deferred water, higher than that of any detour."""

    def __call__(self, power: Power, hours: Floats) -> Floats:
        mean, sd = power.mean.mean(axis=1), power.sd.mean(axis=1)
        cost = (mean + self.deviations * sd) * hours / 1000.0
        cost = cost + power.deferred.mean(axis=1) * self.deferral_mwh_per_h * hours
        barred = self.engine.barred_probability(power.mean, power.sd).mean(axis=1)
        overload = self.engine.overload_probability(power.mean, power.sd).max(axis=1)
        forbidden = self.engine.forbids(mean) | (barred > self.barred_limit) | (overload > self.overload_limit)
        return np.where(forbidden, np.inf, cost)


@dataclass(frozen=True)
class Lattice:
    """All voyages within a corridor and a timetable."""

    corridor: Corridor
    ocean: Ocean
    ship: Ship
    land: LandMask
    earliest_h: float
    latest_h: float
    """End of the arrival window, hours after departure; ``earliest_h`` is its start."""
    step_h: float = 0.5
    ahead_h: float = 6.0
    """Most hours by which a voyage may be ahead of or behind an even pace."""
    samples: int = 6
    """Number of positions on each leg at which the power model is evaluated."""

    @property
    def bins(self) -> int:
        return round(self.latest_h / self.step_h) + 1

    @property
    def start(self) -> int:
        """State of departure."""
        return self.corridor.axis_row * self.bins

    def _allowed(self, column: int) -> Ints:
        """Return the time bins in which a column may be reached."""
        share = column / (self.corridor.columns - 1)
        first, last = self.earliest_h * share - self.ahead_h, self.latest_h * share + self.ahead_h
        if column == 0:
            first = last = 0.0
        elif share == 1.0:
            first, last = self.earliest_h, self.latest_h
        step = self.step_h
        return np.arange(max(int(np.ceil(first / step)), 0), min(int(np.floor(last / step)), self.bins - 1) + 1)

    def stages(self) -> Iterator[Edges]:
        """Yield the edges from each column to the next, from states that can be reached."""
        reached = np.zeros((self.corridor.rows, self.bins), bool)
        reached[self.corridor.axis_row, 0] = True
        for column in range(self.corridor.columns - 1):
            edges = self._stage(column, reached)
            if not len(edges.hours):
                raise NoRoute(
                    f"no voyage of {self.ship.slowest_kn:g} to {self.ship.fastest_kn:g} kn arrives between "
                    f"{self.earliest_h:g} and {self.latest_h:g} h: none gets beyond column {column}"
                )
            reached = np.zeros_like(reached)
            reached.ravel()[edges.head] = True
            yield edges

    def _stage(self, column: int, reached: NDArray[np.bool_]) -> Edges:
        legs = self.corridor.legs(column, self.land)
        ship, step = self.ship, self.step_h
        # Speeds over ground that a current of at most 2.5 kn, as in these waters, makes possible.
        slowest, fastest = ship.slowest_kn - 2.5, ship.fastest_kn + 2.5
        shortest = int(legs.nm.min(initial=1e6) / fastest / step)
        longest = int(legs.nm.max(initial=0.0) / slowest / step)
        durations = np.arange(max(shortest, 1), longest + 1)
        leg, bins, spans = (
            axis.ravel()
            for axis in np.meshgrid(np.arange(len(legs.nm)), self._allowed(column), durations, indexing="ij")
        )
        speed = legs.nm[leg] / (spans * step)
        possible = (
            reached[legs.tail[leg], bins]
            & np.isin(bins + spans, self._allowed(column + 1))
            & (speed >= slowest)
            & (speed <= fastest)
        )
        leg, bins, spans, speed = leg[possible], bins[possible], spans[possible], speed[possible]
        share = (np.arange(self.samples) + 0.5) / self.samples
        hours = (bins[:, None] + spans[:, None] * share) * step
        lat, lon, course = (part[leg] for part in legs.along(share))
        weather = self.ocean.sample(lat, lon, hours)
        over_ground = np.broadcast_to(speed[:, None], hours.shape)
        stw = ship.stw(over_ground, course, weather).mean(axis=1)
        can = (stw >= ship.slowest_kn) & (stw <= ship.fastest_kn)
        rows = ship.features(over_ground, course, weather, hours)[can]
        leg, bins, spans = leg[can], bins[can], spans[can]
        return Edges(
            legs.tail[leg] * self.bins + bins,
            legs.head[leg] * self.bins + bins + spans,
            spans * step,
            rows.reshape(-1, rows.shape[-1]),
        )


@dataclass(frozen=True)
class Plan:
    """Best path for one objective: a state in every column."""

    states: tuple[int, ...]
    cost: float

    def waypoints(self, bins: int) -> list[tuple[int, int]]:
        """Return row and time bin in each column."""
        return [divmod(state, bins) for state in self.states]


@dataclass(frozen=True)
class Progress:
    """Progress after one stage of the search."""

    stage: int
    rows: int
    deferred: int


class NoRoute(Exception):
    """No path satisfies an objective; the message names the objective and the stage."""


def shortest_paths(
    stages: Iterable[Edges],
    start: int,
    oracle: PowerOracle,
    objectives: Mapping[str, Objective],
    report: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Plan]:
    """Return the cheapest path through all stages for each objective; the goal is the cheapest state of the last stage.

    The stages go to the oracle as one stream, so that the next stage is built during the evaluation of the last one.
    """
    waiting: deque[Edges] = deque()

    def batches() -> Iterator[Rows]:
        for edges in stages:
            waiting.append(edges)
            yield edges.rows

    labels: dict[str, tuple[Ints, Floats]] = {name: (np.array([start]), np.zeros(1)) for name in objectives}
    history: dict[str, list[tuple[Ints, Ints]]] = {name: [] for name in objectives}
    for stage, answer in enumerate(oracle.stream(batches())):
        edges = waiting.popleft()
        power = Power.of(answer).reshape(len(edges.hours), -1)
        for name, objective in objectives.items():
            states, costs, parents = relax(edges, objective(power, edges.hours), *labels[name])
            if not len(states):
                raise NoRoute(
                    f"no route for {name!r}: no leg is allowed from column {stage}; "
                    "widen the arrival window or loosen the limits"
                )
            labels[name] = states, costs
            history[name].append((states, parents))
        report(Progress(stage, len(edges.rows), int(power.deferred.sum())))
    return {name: _trace(history[name], *labels[name]) for name in objectives}


def relax(edges: Edges, cost: Floats, states: Ints, costs: Floats) -> tuple[Ints, Floats, Ints]:
    """Return the result of one step of the recursion: states reached, their least costs, and their predecessors.

    `states` [S] must be sorted and match `costs` [S]; the result is sorted likewise.
    """
    place = np.minimum(np.searchsorted(states, edges.tail), len(states) - 1)
    total = np.where(states[place] == edges.tail, costs[place] + cost, np.inf)
    usable = np.flatnonzero(np.isfinite(total))
    order = usable[np.lexsort((total[usable], edges.head[usable]))]
    head = edges.head[order]
    first = np.ones(len(order), bool)
    first[1:] = head[1:] != head[:-1]
    best = order[first]
    return edges.head[best], total[best], edges.tail[best]


def _trace(history: list[tuple[Ints, Ints]], states: Ints, costs: Floats) -> Plan:
    at = int(np.argmin(costs))
    path, cost = [int(states[at])], float(costs[at])
    for reached, parents in reversed(history):
        path.append(int(parents[np.searchsorted(reached, path[-1])]))
    return Plan(tuple(reversed(path)), cost)
