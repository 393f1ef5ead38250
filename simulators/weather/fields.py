"""Random fields of the globe and time: sums of travelling waves, evaluated at single places and times.

Each field is Gaussian with unit variance, up to the finite number of its waves, and smooth: a wavelength and a period
are its scales.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.weather.quantities import Floats

_EARTH_RADIUS = 6371.0
"""Radius of the Earth, km."""
WAVES = 12
"""Number of waves per field."""

SCALES: dict[str, tuple[float, float]] = {
    "warmth": (4500.0, 130.0),
    "season": (9000.0, 900.0),
    "pressure": (4200.0, 140.0),
    "lift": (2600.0, 70.0),
    "moisture": (2600.0, 100.0),
    "west": (3600.0, 110.0),
    "south": (3200.0, 100.0),
    "low_cloud": (1200.0, 40.0),
    "middle_cloud": (1600.0, 40.0),
    "high_cloud": (2200.0, 50.0),
    "convection": (700.0, 24.0),
    "stability": (3000.0, 110.0),
    "stratosphere": (8000.0, 500.0),
    "soil": (3500.0, 1100.0),
}
"""Typical wavelength (km) and period (h) of each field."""
FIELDS = tuple(SCALES)
PLACE = {name: index for index, name in enumerate(FIELDS)}


@dataclass(frozen=True, slots=True)
class Fields:
    """Waves of all fields."""

    vectors: Floats
    """Wave vectors times the Earth's radius, for points on the unit sphere [3, W]."""
    speeds: Floats
    """Angular frequencies [W], 1/h."""
    phases: Floats
    """Phases [W]."""

    def at(self, latitude: Floats, longitude: Floats, hours: NDArray[np.float64]) -> Floats:
        """Return all fields [len(FIELDS), N] at places in degrees and times in hours since the simulation began."""
        phi, theta = np.radians(latitude), np.radians(longitude)
        points = np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
        angle = self.vectors.T @ points
        angle += self.speeds[:, None] * hours.astype(np.float32)
        angle += self.phases[:, None]
        np.cos(angle, out=angle)
        waves = angle.reshape(len(FIELDS), WAVES, -1)
        return np.asarray(waves.sum(axis=1) * np.float32(np.sqrt(2.0 / WAVES)))


def draw(rng: np.random.Generator) -> Fields:
    """Draw waves with random directions, phases and scales around those of ``SCALES``; most travel eastwards."""
    lengths, periods = np.repeat(np.array(list(SCALES.values())), WAVES, axis=0).T
    count = len(lengths)
    direction = rng.standard_normal((3, count))
    direction /= np.linalg.norm(direction, axis=0)
    direction[:, ::2] *= np.where(direction[1, ::2] > 0, -1.0, 1.0)
    vectors = direction * (2.0 * np.pi * _EARTH_RADIUS / (lengths * np.exp(0.3 * rng.standard_normal(count))))
    speeds = 2.0 * np.pi / (periods * np.exp(0.3 * rng.standard_normal(count)))
    phases = rng.uniform(0.0, 2.0 * np.pi, count)
    f = np.float32
    return Fields(vectors.astype(f), speeds.astype(f), phases.astype(f))
