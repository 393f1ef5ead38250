"""Rows of the simulated world: any station at any time, and the canonical partition of a year of reports."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.data import dummies, partition
from models.tasks.weather.data.table import CLIMATES, Table, concatenate
from simulators.weather import fields, observation, stations
from simulators.weather.atmosphere import air, year_phase
from simulators.weather.columns import columns
from simulators.weather.quantities import HOUR
from simulators.weather.scatter import scattered
from simulators.weather.sun import sun
from simulators.weather.systems import STEP, forecasts, situation

__all__ = ["CHUNK", "World", "simulate", "splits", "world"]

CHUNK = 16_384
"""Number of rows made at once, so that intermediate arrays stay in the cache."""
ON_THE_HOUR = 0.7
"""Share of reports at the main hours 0, 3, 6 … UTC; the others come one or two hours later."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class World:
    """Stations and the weather over them."""

    stations: stations.Places
    fields: fields.Fields

    def rows(self, rng: np.random.Generator, station: NDArray[np.intp], time: NDArray[np.float64]) -> Table:
        """Return reports of stations (by index, [N]) at Unix times [N], with the forecasts of the models."""
        places = self.stations.take(station)
        seen = situation(places, self.fields, time, partition.BEGIN)
        predicted = forecasts(rng, seen)
        above = sun(time, places.latitude, places.longitude)
        truth = air(places, seen.between, above, year_phase(time), places.elevation)
        features = columns(rng, seen, predicted, above.elevation)
        return Table(
            time,
            places.latitude,
            places.longitude,
            places.climate,
            features,
            observation.temperature(rng, places, truth, np.clip(above.sine, 0.0, 1.0)),
            observation.precipitation(rng, places, truth),
        )


def world(seed: int) -> World:
    """Draw stations and weather; equal seeds give equal worlds."""
    places, weather = np.random.SeedSequence([seed, 0]).spawn(2)
    return World(stations.draw(np.random.default_rng(places)), fields.draw(np.random.default_rng(weather)))


def splits(scale: float, seed: int, *, extended: bool = False) -> dict[str, Iterator[Table]]:
    """Return the splits of the canonical partition, each as pieces of at most ``CHUNK`` rows in random order.

    ``train`` ends with its two dummy rows. No station reports twice in the same three hours, across all splits. The
    same seed gives the same world at every scale; a smaller scale keeps fewer of its reports.

    Raises:
        ValueError: a scale outside (0, 1].
    """
    there = world(seed)
    chosen = _choose(seed, there, scale, extended)
    return {
        name: _pieces(there, np.random.default_rng([seed, 2, number]), *rows, average=name == "train")
        for number, (name, rows) in enumerate(chosen.items())
    }


def simulate(scale: float, seed: int, *, extended: bool = False, progress: Progress | None = None) -> dict[str, Table]:
    """Return the splits in memory; ``progress`` is called with the finished share. Raises as in ``splits``."""
    total = sum(int(rows.sum()) for rows in partition.counts(scale, extended=extended).values())
    done = 0
    tables = {}
    for name, pieces in splits(scale, seed, extended=extended).items():
        kept = []
        for piece in pieces:
            kept.append(piece)
            done += len(piece)
            if progress is not None:
                progress(min(done / total, 1.0))
        tables[name] = concatenate(kept)
    return tables


def _pieces(
    there: World, rng: np.random.Generator, station: NDArray[np.intp], slot: NDArray[np.int64], *, average: bool
) -> Iterator[Table]:
    known: dummies.Sums | None = None
    for start in range(0, len(station), CHUNK):
        part = slice(start, start + CHUNK)
        count = len(station[part])
        late = np.where(rng.random(count) < ON_THE_HOUR, 0, rng.integers(1, STEP, count))
        time = partition.BEGIN + HOUR * (STEP * slot[part] + late).astype(np.float64)
        piece = there.rows(rng, station[part], time)
        if average:
            known = dummies.sums(piece) if known is None else known + dummies.sums(piece)
        yield piece
    if known is not None:
        yield dummies.dummies(known)


def _choose(
    seed: int, there: World, scale: float, extended: bool
) -> dict[str, tuple[NDArray[np.intp], NDArray[np.int64]]]:
    """Draw station and three-hour slot of every row of every split, without repetition."""
    counts = partition.counts(scale, extended=extended)
    begin, inside, gap, middle, end = partition.Rules().edges(partition.BEGIN, partition.END)
    blocks = {"early": (begin, inside), "middle": (gap, middle), "last": (middle, end), "late": (gap, end)}
    groups = (
        ("early", ("train", "dev_in", "eval_in")),
        ("last", ("dev_out",)),
        ("middle", ("eval_out",)),
        ("early", ("train_xclim", "dev_xclim")),
        ("late", ("train_xtime", "dev_xtime")),
    )
    slots: dict[str, list[NDArray[np.int64]]] = {name: [] for name in counts}
    for number, (block, names) in enumerate(groups):
        rng = np.random.default_rng([seed, 1, number])  # a generator per group: other groups do not change its rows
        first, stop = (int((edge - partition.BEGIN) // (STEP * HOUR)) for edge in blocks[block])
        first += block != "early"  # a slot across an edge belongs to the block before it
        for climate in range(len(CLIMATES)):
            numbers = [int(counts[name][climate]) if name in counts else 0 for name in names]
            if not sum(numbers):
                continue
            ours = np.flatnonzero(there.stations.climate == climate)
            drawn = scattered(rng, len(ours) * (stop - first), sum(numbers))
            bounds = np.cumsum([0, *numbers])
            for name, start, until in zip(names, bounds[:-1], bounds[1:], strict=True):
                if until > start:
                    part = drawn[start:until]
                    slots[name].append(np.stack([ours[part // (stop - first)], first + part % (stop - first)]))
    chosen = {}
    for number, (name, parts) in enumerate(slots.items()):
        rows = np.concatenate(parts, axis=1)
        rows = rows[:, np.random.default_rng([seed, 3, number]).permutation(rows.shape[1])]
        chosen[name] = rows[0].astype(np.intp), rows[1]
    return chosen
