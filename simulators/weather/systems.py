"""Three weather models: their schedules, their errors, and their view of the atmosphere.

A model sees the true fields through errors that grow with the horizon; three quarters of their variance are shared by
all three models, which use the same observations. Each model has its own relief and physics, so its outputs are
consistent with each other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.weather.atmosphere import Air, Physics, air, year_phase
from simulators.weather.fields import FIELDS, Fields
from simulators.weather.quantities import HOUR, Floats
from simulators.weather.stations import Places
from simulators.weather.sun import Sun, sun

STEP = 3
"""Hours between adjacent horizons, of all models."""

_ERROR = {
    "warmth": 0.15,
    "season": 0.05,
    "pressure": 0.10,
    "lift": 0.33,
    "moisture": 0.33,
    "west": 0.28,
    "south": 0.28,
    "low_cloud": 0.62,
    "middle_cloud": 0.62,
    "high_cloud": 0.62,
    "convection": 0.85,
    "stability": 0.45,
    "stratosphere": 0.08,
    "soil": 0.50,
}
"""Standard deviation of the error of each field at a horizon of 24 h, relative to that of the field."""
_ERRORS = np.array([_ERROR[name] for name in FIELDS], np.float32)[:, None]


@dataclass(frozen=True, slots=True)
class System:
    """Parameters of a weather model."""

    name: str
    order: int
    """Row of ``Places.relief_error``."""
    runs_every: int
    """Interval between runs, h."""
    delay: int
    """Hours from the start of a run until it is delivered."""
    error: float
    """Size of the errors relative to ``_ERROR``."""
    physics: Physics
    outage: float
    """Share of times without any data."""


GFS = System(
    name="gfs",
    order=0,
    runs_every=6,
    delay=4,
    error=0.95,
    physics=Physics(
        warmth=0.20,
        inversion=0.65,
        diurnal=0.90,
        evaporation=0.0,
        melt=0.0,
        cumulus=-0.6,
        snow=-0.3,
        cloud=-0.10,
        drizzle=0.10,
        hours_late=0.4,
    ),
    outage=0.006,
)
CMC = System(
    name="cmc",
    order=1,
    runs_every=12,
    delay=6,
    error=1.10,
    physics=Physics(
        warmth=-0.20,
        inversion=0.75,
        diurnal=0.95,
        evaporation=1.9,
        melt=1.9,
        cumulus=3.2,
        snow=0.3,
        cloud=0.15,
        drizzle=0.0,
        hours_late=0.0,
    ),
    outage=0.012,
)
WRF = System(
    name="wrf",
    order=2,
    runs_every=6,
    delay=6,
    error=1.05,
    physics=Physics(
        warmth=0.10,
        inversion=0.70,
        diurnal=1.06,
        evaporation=1.1,
        melt=1.1,
        cumulus=0.9,
        snow=-0.5,
        cloud=-0.20,
        drizzle=0.05,
        hours_late=0.2,
    ),
    outage=0.03,
)
SYSTEMS = (GFS, CMC, WRF)


@dataclass(frozen=True, slots=True)
class Situation:
    """True state of N rows: places, times, and fields at the horizons on both sides of each time."""

    places: Places
    time: NDArray[np.float64]
    """Unix seconds [N]."""
    begin: NDArray[np.float64]
    """Valid time of the horizon at or before the time, Unix seconds [N]; the next is ``STEP`` hours later."""
    fields: tuple[Floats, Floats]
    """True fields at both horizons [len(FIELDS), N]."""
    suns: tuple[Sun, Sun]
    phases: tuple[Floats, Floats]

    @property
    def share(self) -> Floats:
        """Position of the time between both horizons [N], 0 to 1."""
        return ((self.time - self.begin) / (STEP * HOUR)).astype(np.float32)

    @property
    def between(self) -> Floats:
        """True fields at the time itself [len(FIELDS), N]."""
        return self.fields[0] + (self.fields[1] - self.fields[0]) * self.share


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a model for N rows, whether it is available or not."""

    system: System
    now: Air
    next: Air
    fields: Floats
    """Fields in the model at the horizon before the time [len(FIELDS), N]."""
    horizon: Floats
    """Hours since the start of the run [N]."""
    available: NDArray[np.bool_]
    """Mask of the available forecasts [N]."""


def situation(places: Places, fields: Fields, time: NDArray[np.float64], epoch: float) -> Situation:
    """Return the weather around Unix times [N] at N places; the simulation's fields begin at ``epoch``."""
    begin = np.floor(time / (STEP * HOUR)) * (STEP * HOUR)
    ends = (begin, begin + STEP * HOUR)
    return Situation(
        places,
        time,
        begin,
        tuple(fields.at(places.latitude, places.longitude, (end - epoch) / HOUR) for end in ends),  # type: ignore[arg-type]
        tuple(sun(end, places.latitude, places.longitude) for end in ends),  # type: ignore[arg-type]
        tuple(year_phase(end) for end in ends),  # type: ignore[arg-type]
    )


def forecasts(rng: np.random.Generator, seen: Situation) -> tuple[Forecast, ...]:
    """Draw the forecasts of the three models."""
    count = len(seen.time)
    lead = rng.integers(1, 25, count)
    shared = rng.standard_normal((len(FIELDS), count), np.float32)
    return tuple(_forecast(rng, system, seen, lead, shared) for system in SYSTEMS)


def _forecast(
    rng: np.random.Generator, system: System, seen: Situation, lead: NDArray[np.int64], shared: Floats
) -> Forecast:
    known = seen.begin / HOUR - lead - system.delay
    horizon = (seen.begin / HOUR - np.floor(known / system.runs_every) * system.runs_every).astype(np.float32)
    growth = system.error * (0.55 + horizon * np.float32(0.45 / 24.0))
    width = _ERRORS * growth
    own = rng.standard_normal(shared.shape, np.float32)
    later = rng.standard_normal(shared.shape, np.float32)
    error = np.float32(0.88) * shared + np.float32(0.475) * own
    shrunk = 1.0 / np.sqrt(1.0 + width * width)
    now = (seen.fields[0] + width * error) * shrunk
    following = (seen.fields[1] + width * (np.float32(0.97) * error + np.float32(0.24) * later)) * shrunk
    ground = seen.places.elevation + seen.places.relief_error[system.order]
    airs = [
        air(seen.places, fields, seen.suns[end], seen.phases[end], ground, system.physics)
        for end, fields in enumerate((now, following))
    ]
    available = rng.random(len(ground), np.float32) >= system.outage
    return Forecast(system, airs[0], airs[1], now, horizon, available)
