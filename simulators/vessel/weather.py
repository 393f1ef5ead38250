"""Wind, waves and current along the ship's track: stationary random fields, one value an hour.

All numbers are own assumptions (the measured weather is not public). Wind is an isotropic Gaussian vector, so its
speed is close to Rayleigh (Weibull shape 2), with a slow change of region and season. Waves are a lagged response
to the wind plus swell, so that rough seas and strong wind coincide. Current has heavier tails than a Gaussian.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal

from simulators.vessel.units import KNOT, Floats

HOUR = 60
"""Minutes between two values."""
_HOURS_PER_YEAR = 8766.0


@dataclass(frozen=True, slots=True)
class Climate:
    """Strengths and memories of the fields; memories are e-folding times in hours."""

    wind_scale: float = 9.4
    """Standard deviation of each wind component, kn."""
    wind_memory: float = 18.0
    region_spread: float = 0.22
    """Standard deviation of the logarithm of the regional wind strength."""
    region_memory: float = 200.0
    season: float = 0.10
    """Relative swing of wind strength over the year."""
    wave_growth: float = 0.0220
    """Wind-sea height over squared wind speed, m/(m/s)^2."""
    wave_memory: float = 8.0
    sea_limit: float = 6.0
    """Largest height of the wind sea, limited by fetch and duration, m."""
    swell_median: float = 0.95
    """Median swell height, m."""
    swell_spread: float = 0.55
    """Standard deviation of the logarithm of the swell height."""
    swell_memory: float = 50.0
    current_along: float = 0.47
    """Standard deviation of the current along the ship, kn."""
    current_across: float = 0.34
    """Standard deviation of the current across the ship, kn."""
    current_spread: float = 0.70
    """Standard deviation of the logarithm of the current strength."""
    current_memory: float = 10.0
    current_limit: float = 2.0
    """Largest current, kn; stronger currents are cut."""


@dataclass(frozen=True, slots=True)
class Weather:
    """Hourly fields [H]; the first value belongs to minute 0."""

    wind_east: Floats
    """True wind in kn, positive towards east."""
    wind_north: Floats
    """True wind in kn, positive towards north."""
    wave_height: Floats
    """Significant height of wind sea and swell, m."""
    current_along: Floats
    """Current along the ship, kn, following positive."""
    current_across: Floats
    """Current across the ship, kn."""

    def at(self, field: Floats, minute: Floats) -> Floats:
        """Return an hourly `field` at the given minutes [N], linear between the hours."""
        return np.interp(minute / HOUR, np.arange(len(field), dtype=np.float64), field)


def memory(rng: np.random.Generator, steps: int, correlation: float) -> Floats:
    """Return a stationary Gaussian process [steps] of unit variance with an e-folding time of `correlation` steps."""
    keep = np.exp(-1.0 / correlation)
    shocks = rng.standard_normal(steps) * np.sqrt(1.0 - keep**2)
    start = np.array([keep * rng.standard_normal()])
    return np.asarray(signal.lfilter([1.0], [1.0, -keep], shocks, zi=start)[0])


def weather(rng: np.random.Generator, hours: int, climate: Climate | None = None) -> Weather:
    """Draw the fields of `hours` hours."""
    c = climate or Climate()
    season = 1.0 + c.season * np.cos(2.0 * np.pi * (np.arange(hours) / _HOURS_PER_YEAR - rng.random()))
    region = np.exp(c.region_spread * memory(rng, hours, c.region_memory))
    east, north = memory(rng, hours, c.wind_memory), memory(rng, hours, c.wind_memory)
    strength = c.wind_scale * season * region
    east, north = strength * east, strength * north
    keep = np.exp(-1.0 / c.wave_memory)
    energy = (east**2 + north**2) * KNOT**2
    mixed = signal.lfilter([1.0 - keep], [1.0, -keep], energy, zi=[keep * energy[0]])[0]
    sea = c.sea_limit * np.tanh(c.wave_growth * mixed / c.sea_limit)
    swell = c.swell_median * np.exp(c.swell_spread * memory(rng, hours, c.swell_memory))

    def current(scale: float) -> Floats:
        strength = np.exp(c.current_spread * memory(rng, hours, 3.0 * c.current_memory) - c.current_spread**2)
        speed = scale * strength * memory(rng, hours, c.current_memory)
        return np.clip(speed, -c.current_limit, c.current_limit)

    return Weather(east, north, np.hypot(sea, swell), current(c.current_along), current(c.current_across))
