"""Labelled data in the official format: the canonical partition and the generalisation set.

Shifts 2.0, Appendix D.1: noise on labels and features (Table 15), partition by wind and time (Tables 12,
13), uniform sampling (Table 16). The data sheet `docs/datasheets/vessel-simulator.md` lists every choice
that the paper leaves open.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.vessel.data.table import NAMES, Table, read_csv
from simulators.vessel.operation import Voyages, slowed, voyages
from simulators.vessel.units import MINUTES_PER_MONTH, Floats
from simulators.vessel.vessel import Vessel
from simulators.vessel.weather import HOUR, Weather, weather

__all__ = ["Noise", "Table", "generalisation", "low_speed", "read_csv", "simulate"]

Progress = Callable[[float], None]
Minutes = NDArray[np.int64]

DRY_DOCK_OFFSET = 10_776
"""Offset of timeSinceDryDock from time_id, minutes."""
WIND_EDGES = (0.0, 9.0, 14.0, 19.0, 26.0, 40.0)
"""Edges of wind groups 1, 2 and 3 (Table 12), then of group 4, cut at the ends of dev_out and of eval_out, kn."""
COUNTS: dict[str, tuple[int, ...]] = {
    "train": (231_626, 118_698, 172_866),
    "dev_in": (8_017, 4_108, 5_983),
    "dev_out": (18_108,),
    "eval_in": (20_355, 10_448, 15_218),
    "eval_out": (46_021,),
}
"""Rows per wind group at scale 1 (Table 13); the shifted splits lie in group 4."""
TRAIN_END = round(39.4 * MINUTES_PER_MONTH)
DEV_OUT_END = 1_884_985
"""End of dev_out: one past the last time_id in the public summary of train and dev."""
DEV_OUT_START = DEV_OUT_END - round(6.6 * MINUTES_PER_MONTH)
HORIZON = round(48 * MINUTES_PER_MONTH)
"""Length of the simulation, minutes: four years."""
EVAL_OUT_START = HORIZON - round(18 * MINUTES_PER_MONTH)
LOW_SPEED_ROWS = 20_000
"""Number of rows of the low-speed set at scale 1."""
_CHUNK = 100_000
_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviations of the noise that the paper adds."""

    power: float = 0.025
    """Label noise relative to the label (a in the paper)."""
    wind: float = 25.0
    """Label noise relative to the true wind speed (b in the paper), kW/kn."""
    draft: float = 0.15
    """Noise on both drafts, m."""
    stw: float = 0.25
    """Noise on the speed through water, kn."""
    acceleration: float = 0.25
    """Noise on the acceleration, kn/3min."""
    wind_speed: float = 0.5
    """Noise on the apparent wind speed, kn; the wind direction stays."""
    current: float = 0.05
    """Noise on each component of the current, kn."""
    wave: float = 0.1
    """Noise on the wave height, m."""

    def label(self, rng: np.random.Generator, clean: Floats, true_wind: Floats, floor: float) -> Floats:
        """Return noisy labels [N] in kW: two independent Gaussians are added, and the sum is at least `floor` kW."""
        first = rng.standard_normal(len(clean)) * self.power * clean
        second = rng.standard_normal(len(clean)) * self.wind * true_wind
        return np.maximum(clean + first + second, floor)

    def observe(self, rng: np.random.Generator, features: Floats) -> Floats:
        """Return features [N, 10] with sensor noise (Table 15); the dry-dock time has none.

        The noise of the apparent wind is one draw on the speed that scales both components, so the cross component
        keeps its sign; speed and wave height are taken as magnitudes.
        """
        noisy = features.copy()
        count = len(features)
        for column, spread in (
            (0, self.draft),
            (1, self.draft),
            (2, self.stw),
            (3, self.acceleration),
            (6, self.current),
            (7, self.current),
            (8, self.wave),
        ):
            noisy[:, column] += rng.standard_normal(count) * spread
        speed = np.hypot(features[:, 4], features[:, 5])
        shown = np.abs(speed + rng.standard_normal(count) * self.wind_speed)
        noisy[:, 4:6] *= (shown / np.maximum(speed, 1e-9))[:, None]
        noisy[:, 2], noisy[:, 8] = np.abs(noisy[:, 2]), np.abs(noisy[:, 8])
        return noisy


def _silent(_: float) -> None:
    return None


def simulate(
    scale: float,
    seed: int,
    *,
    noise: Noise | None = None,
    vessel: Vessel | None = None,
    progress: Progress | None = None,
) -> dict[str, Table]:
    """Return the five canonical splits, sorted by time, at `scale` (1.0 = the row counts of Table 13).

    The same seed gives the same voyages at every scale; a smaller scale keeps fewer of their minutes.
    `progress` is called with the finished share. Raises ValueError unless 0 < scale <= 1.
    """
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], not {scale}")
    noise, vessel, report = noise or Noise(), vessel or Vessel(), progress or _silent
    root = np.random.SeedSequence(seed)
    run, pick, *streams = root.spawn(2 + len(COUNTS))
    sky, ship, speed = _run(run, vessel)
    report(0.1)
    chosen = _choose(np.random.default_rng(pick), ship, speed, scale)
    total = sum(len(rows) for rows in chosen.values())
    done = 0
    tables: dict[str, Table] = {}
    for (name, rows), stream in zip(chosen.items(), streams, strict=True):
        rng = np.random.default_rng(stream)
        parts: list[Table] = []
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK]
            clean, wind = _features(sky, ship, part)
            parts.append(_label(rng, vessel, noise, part, clean, noise.observe(rng, clean), wind))
            done += len(part)
            report(0.1 + 0.9 * done / total)
        tables[name] = _join(parts)
    return tables


def generalisation(
    rows: int,
    seed: int,
    *,
    noise: Noise | None = None,
    feature_noise: bool = False,
    vessel: Vessel | None = None,
    progress: Progress | None = None,
) -> Table:
    """Return the generalisation set: `rows` independent draws from the box of Table 16 (canonical: 2.5 million).

    The table does not name acceleration and dry-dock time: they are a Gaussian of 0.17 kn/3min cut at 1, and
    a whole minute of the four years. Labels carry the label noise, features none unless `feature_noise`.
    `Noise` with zeros for `power` and `wind` gives clean labels. Raises ValueError if rows is negative.
    """
    return _boxed(_CANONICAL_BOX, rows, np.random.SeedSequence(seed), noise, feature_noise, vessel, progress)


def low_speed(rows: int, seed: int, *, noise: Noise | None = None, vessel: Vessel | None = None) -> Table:
    """Draw ``rows`` rows of a ship at rest, manoeuvring or in slow steaming, with noise on features and labels.

    The canonical splits hold only voyages at sea, above 4 kn. A model trained only on them extrapolates to negative
    power at lower speed. Drafts, wind and waves are drawn from the box of the voyages of the training split.
    Raises ValueError if rows is negative.
    """
    stream = np.random.SeedSequence(seed, spawn_key=(_LOW_SPEED_STREAM,))
    return _boxed(_LOW_SPEED_BOX, rows, stream, noise, True, vessel, None)


@dataclass(frozen=True, slots=True)
class _Box:
    """Ranges from which rows are drawn independently and uniformly."""

    speed: tuple[float, float]
    """Speed over ground, kn."""
    draft: tuple[float, float]
    """Draft aft and fore, m."""
    wind: float
    """Largest true wind speed, kn."""
    wave: float
    """Largest wave height, m."""


_CANONICAL_BOX = _Box(speed=(5.0, 23.0), draft=(8.0, 15.0), wind=40.0, wave=6.0)
"""Box of Table 16 of the paper."""
_LOW_SPEED_BOX = _Box(speed=(0.0, 8.0), draft=(7.0, 15.5), wind=26.0, wave=4.0)
_LOW_SPEED_STREAM = 1_000


def _boxed(
    box: _Box,
    rows: int,
    seed: np.random.SeedSequence,
    noise: Noise | None,
    feature_noise: bool,
    vessel: Vessel | None,
    progress: Progress | None,
) -> Table:
    if rows < 0:
        raise ValueError(f"rows must not be negative: {rows}")
    noise, vessel, report = noise or Noise(), vessel or Vessel(), progress or _silent
    streams = seed.spawn(max(1, -(-rows // _CHUNK)))
    parts: list[Table] = []
    for number, stream in enumerate(streams):
        rng = np.random.default_rng(stream)
        count = min(_CHUNK, rows - number * _CHUNK)
        minute, clean, wind = _uniform(rng, count, box)
        shown = noise.observe(rng, clean) if feature_noise else clean
        parts.append(_label(rng, vessel, noise, minute, clean, shown, wind))
        report((number + 1) / len(streams))
    return _join(parts)


def _run(seed: np.random.SeedSequence, vessel: Vessel) -> tuple[Weather, Voyages, Floats]:
    """Draw weather, voyages and true wind speed [HORIZON] in kn, until every cell has enough rows."""
    for attempt in seed.spawn(_ATTEMPTS):
        rng = np.random.default_rng(attempt)
        sky = weather(rng, HORIZON // HOUR + 2)
        ship = _within_engine(sky, voyages(rng, HORIZON, sky), vessel)
        minute = np.arange(HORIZON, dtype=np.float64)
        speed = np.hypot(sky.at(sky.wind_east, minute), sky.at(sky.wind_north, minute))
        cells = _cells(ship, speed)
        need = {"in": np.sum([COUNTS[name] for name in ("train", "dev_in", "eval_in")], axis=0)}
        need |= {name: np.array(COUNTS[name]) for name in ("dev_out", "eval_out")}
        if all(len(rows) >= n for key, counts in need.items() for rows, n in zip(cells[key], counts, strict=True)):
            return sky, ship, speed
    raise RuntimeError(f"no run of {_ATTEMPTS} holds the canonical numbers of rows: check climate and habits")


def _within_engine(sky: Weather, ship: Voyages, vessel: Vessel) -> Voyages:
    """Return the voyages, slowed where the power would exceed the engine's, checked every ten minutes."""
    rows = np.arange(0, len(ship.stw), 10, dtype=np.int64)
    clean, _ = _features(sky, ship, rows)
    clean[:, 3] = 0.0
    excess = np.maximum(vessel.shaft_power(clean) / vessel.engine_power, 1.0)
    minute = np.arange(len(ship.stw), dtype=np.float64)
    return slowed(ship, np.interp(minute, rows.astype(np.float64), excess ** (-1.0 / 3.5)))


def _cells(ship: Voyages, speed: Floats) -> dict[str, list[Minutes]]:
    """Return the usable minutes of each cell: three wind groups in domain, and one cell for each shifted split."""
    minute = np.arange(len(speed), dtype=np.int64)
    group = np.where(ship.sailing, np.searchsorted(WIND_EDGES, speed, side="right"), 0)
    train = minute < TRAIN_END
    recent = (minute >= DEV_OUT_START) & (minute < DEV_OUT_END)
    last = minute >= EVAL_OUT_START
    dev_out = (group == 4) & recent
    eval_out = ((group == 4) | (group == 5)) & last & ~dev_out
    return {
        "in": [np.flatnonzero((group == number) & train) for number in (1, 2, 3)],
        "dev_out": [np.flatnonzero(dev_out)],
        "eval_out": [np.flatnonzero(eval_out)],
    }


def _choose(rng: np.random.Generator, ship: Voyages, speed: Floats, scale: float) -> dict[str, Minutes]:
    """Draw rising minutes for every split, without using a minute twice."""
    counts = {name: [max(1, round(n * scale)) for n in groups] for name, groups in COUNTS.items()}
    cells = _cells(ship, speed)
    picked: dict[str, list[Minutes]] = {name: [] for name in COUNTS}
    inside = ("train", "dev_in", "eval_in")
    for number, rows in enumerate(cells["in"]):
        shuffled, start = rng.permutation(rows), 0
        for name in inside:
            stop = start + counts[name][number]
            picked[name].append(shuffled[start:stop])
            start = stop
    for name in ("dev_out", "eval_out"):
        picked[name].append(rng.permutation(cells[name][0])[: counts[name][0]])
    return {name: np.sort(np.concatenate(parts)) for name, parts in picked.items()}


def _features(sky: Weather, ship: Voyages, rows: Minutes) -> tuple[Floats, Floats]:
    """Return features [N, 10] without noise and true wind speed [N] in kn at the minutes `rows`."""
    minute = rows.astype(np.float64)
    heading = ship.heading[rows]
    east, north = sky.at(sky.wind_east, minute), sky.at(sky.wind_north, minute)
    head = -(east * np.cos(heading) + north * np.sin(heading))
    cross = np.abs(north * np.cos(heading) - east * np.sin(heading))
    along, across = sky.at(sky.current_along, minute), sky.at(sky.current_across, minute)
    stw = ship.stw[rows]
    columns = (
        ship.draft_aft[rows],
        ship.draft_fore[rows],
        stw,
        ship.acceleration[rows],
        head + stw + along,
        cross,
        along,
        across,
        sky.at(sky.wave_height, minute),
        minute + DRY_DOCK_OFFSET,
    )
    return np.stack(columns, axis=1), np.hypot(east, north)


def _uniform(rng: np.random.Generator, count: int, box: _Box) -> tuple[Minutes, Floats, Floats]:
    """Draw dry-dock minute [N], features [N, 10] and true wind speed [N] from a box; speed through water is >= 0."""
    minute = rng.integers(0, HORIZON, count)
    ground = rng.uniform(*box.speed, count)
    wind, wind_angle = rng.uniform(0.0, box.wind, count), rng.uniform(0.0, 2.0 * np.pi, count)
    current, current_angle = rng.uniform(0.0, 2.0, count), rng.uniform(0.0, 2.0 * np.pi, count)
    along = current * np.cos(current_angle)
    columns = (
        rng.uniform(*box.draft, count),
        rng.uniform(*box.draft, count),
        np.maximum(ground - along, 0.0),
        np.clip(rng.normal(0.0, 0.17, count), -1.0, 1.0),
        ground + wind * np.cos(wind_angle),
        np.abs(wind * np.sin(wind_angle)),
        along,
        current * np.sin(current_angle),
        rng.uniform(0.0, box.wave, count),
        minute.astype(np.float64) + DRY_DOCK_OFFSET,
    )
    return minute, np.stack(columns, axis=1), wind


def _label(
    rng: np.random.Generator,
    vessel: Vessel,
    noise: Noise,
    time: Minutes,
    clean: Floats,
    shown: Floats,
    wind: Floats,
) -> Table:
    power = vessel.shaft_power(clean)
    noisy = noise.label(rng, power, wind, vessel.idle_power)
    return Table(time, shown.astype(np.float32), noisy, power, wind)


def _join(parts: list[Table]) -> Table:
    empty = np.empty(0)
    return Table(
        time_id=np.concatenate([part.time_id for part in parts]).astype(np.int64),
        features=np.concatenate([part.features for part in parts]).reshape(-1, len(NAMES)),
        power=np.concatenate([part.power for part in parts]),
        clean_power=np.concatenate([empty if part.clean_power is None else part.clean_power for part in parts]),
        true_wind=np.concatenate([empty if part.true_wind is None else part.true_wind for part in parts]),
    )
