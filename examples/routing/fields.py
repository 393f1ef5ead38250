"""Simulated wind, waves and currents of the North Atlantic in an autumn week, as functions of place and time.

No value is measured or forecast. The fields contain typical features: a belt of westerlies with meanders, the Azores
high, lows that run along the polar front, a high that blocks the westerlies south of Greenland and under it a slow,
deep low with its easterly gales on the great circle, swell that lags behind its storm, the Gulf Stream and the cold
current along Labrador. Positions and strengths depend on the seed only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from routing.geodesy import Floats, offset_nm

KNOT = 0.514444  # m/s


@dataclass(frozen=True)
class Weather:
    """Weather at N points. Vectors point in the direction of flow."""

    wind_east_kn: Floats
    wind_north_kn: Floats
    wave_m: Floats
    """Significant height of wind sea and swell together."""
    current_east_kn: Floats
    current_north_kn: Floats

    @property
    def wind_kn(self) -> Floats:
        return np.hypot(self.wind_east_kn, self.wind_north_kn)

    @property
    def current_kn(self) -> Floats:
        return np.hypot(self.current_east_kn, self.current_north_kn)


@dataclass(frozen=True)
class Vortex:
    """Low (anticlockwise) or high (negative peak, clockwise) that moves at constant speed, with a limited lifetime."""

    lat: float
    """Latitude of the centre at hour 0; ``lon`` likewise."""
    lon: float
    east_kn: float
    north_kn: float
    peak_kn: float
    """Largest tangential wind, at `radius_nm` from the centre, at full strength."""
    radius_nm: float
    mature_hour: float
    """Hour of its greatest strength."""
    life_hours: float
    """Standard deviation of its strength over time."""

    def centre(self, hours: ArrayLike) -> tuple[Floats, Floats]:
        hours = np.asarray(hours, np.float64)
        lat = self.lat + self.north_kn * hours / 60.0
        lon = self.lon + self.east_kn * hours / 60.0 / np.cos(np.radians(self.lat))
        return lat, lon

    def strength(self, hours: ArrayLike) -> Floats:
        """Return the strength as a share of the peak, in (0, 1]."""
        return np.exp(-0.5 * ((np.asarray(hours, np.float64) - self.mature_hour) / self.life_hours) ** 2)

    def wind(self, lat: Floats, lon: Floats, hours: Floats) -> tuple[Floats, Floats]:
        """Return east and north wind: V r/R exp((1 - (r/R)^2) / 2) around the centre, turned 18° inwards."""
        east, north = offset_nm(lat, lon, *self.centre(hours))
        distance = np.hypot(east, north)
        scaled = distance / self.radius_nm
        # A long tail outside the radius of strongest wind, as lows have: slower than Gaussian.
        speed = (
            self.peak_kn
            * self.strength(hours)
            * np.where(scaled < 1.0, scaled * np.exp(0.5 * (1 - scaled**2)), np.exp(-0.75 * (scaled - 1.0)))
        )
        unit_east, unit_north = east / np.maximum(distance, 1.0), north / np.maximum(distance, 1.0)
        inwards = np.radians(18.0)
        around, towards = speed * np.cos(inwards), speed * np.sin(inwards)
        return (-unit_north * around - unit_east * towards), (unit_east * around - unit_north * towards)


# Axis of the Gulf Stream and the North Atlantic Current: longitude, latitude, speed on the axis (kn).
STREAM = np.array(
    [
        (-79.7, 27.0, 2.0), (-79.0, 31.0, 2.0), (-75.2, 35.0, 1.9), (-72.0, 36.8, 1.9), (-68.0, 38.0, 1.8),
        (-63.0, 38.9, 1.6), (-58.0, 39.8, 1.4), (-53.0, 40.6, 1.2), (-48.5, 41.5, 1.1), (-44.5, 43.8, 1.0),
        (-42.0, 47.0, 0.9), (-37.0, 50.0, 0.7), (-30.0, 52.0, 0.6), (-22.0, 54.5, 0.5), (-14.0, 57.0, 0.4),
    ]
)  # fmt: skip
LABRADOR = np.array(
    [(-58.0, 56.0, 0.5), (-53.0, 53.0, 0.6), (-50.5, 49.0, 0.6), (-49.5, 45.0, 0.6), (-50.5, 43.0, 0.4)]
)


@dataclass(frozen=True)
class Ocean:
    """Weather of one week, determined by a seed. Hours count from the departure."""

    lows: tuple[Vortex, ...]
    highs: tuple[Vortex, ...]
    phases: Floats
    """Phases of the meanders of wind and stream, float [8]."""

    @classmethod
    def simulate(cls, seed: int) -> Ocean:
        random = np.random.default_rng(seed)
        jitter = random.uniform
        slow = Vortex(
            lat=46.6 + jitter(-0.4, 0.4),
            lon=-38.0 + jitter(-1.0, 1.0),
            east_kn=3.0 + jitter(0, 1.5),
            north_kn=0.8 + jitter(-0.4, 0.6),
            peak_kn=39.0 + jitter(-1.5, 1.5),
            radius_nm=225.0 + jitter(-15, 15),
            mature_hour=80.0 + jitter(-8, 8),
            life_hours=75.0,
        )
        runners = [
            Vortex(
                lat=float(lat + jitter(-1.0, 1.0)),
                lon=float(lon + jitter(-2.0, 2.0)),
                east_kn=float(jitter(16.0, 22.0)),
                north_kn=float(jitter(3.0, 6.0)),
                peak_kn=float(peak + jitter(-3.0, 3.0)),
                radius_nm=float(jitter(150.0, 200.0)),
                mature_hour=float(mature),
                life_hours=45.0,
            )
            for lat, lon, peak, mature in (
                (56.5, -38.0, 30.0, 10.0),
                (40.0, -108.0, 30.0, 130.0),
                (47.5, -92.0, 27.0, 70.0),
            )
        ]
        azores = Vortex(
            lat=35.5 + jitter(-1, 1),
            lon=-27.0 + jitter(-2, 2),
            east_kn=0.5,
            north_kn=0.0,
            peak_kn=-11.0,
            radius_nm=480.0,
            mature_hour=90.0,
            life_hours=1e6,
        )
        block = Vortex(
            lat=61.0 + jitter(-0.5, 0.5),
            lon=-35.0 + jitter(-2, 2),
            east_kn=1.5,
            north_kn=0.0,
            peak_kn=-16.0,
            radius_nm=420.0,
            mature_hour=90.0,
            life_hours=1e6,
        )
        return cls((slow, *runners), (azores, block), random.uniform(0, 2 * np.pi, 8))

    def sample(self, lat: ArrayLike, lon: ArrayLike, hours: ArrayLike) -> Weather:
        """Return the weather at positions and times, which are broadcast together."""
        lat, lon, hours = np.broadcast_arrays(*(np.asarray(part, np.float64) for part in (lat, lon, hours)))
        wind_east, wind_north = self._wind(lat, lon, hours)
        current_east, current_north = self._current(lat, lon)
        return Weather(
            wind_east,
            wind_north,
            self._waves(lat, lon, hours, wind_east, wind_north),
            current_east,
            current_north,
        )

    def _wind(self, lat: Floats, lon: Floats, hours: Floats) -> tuple[Floats, Floats]:
        phase = self.phases
        belt = 54.0 + 2.5 * np.sin(np.radians(5.0 * lon - 1.2 * hours) + phase[0])
        east = 8.0 * np.exp(-(((lat - belt) / 9.0) ** 2)) - 6.0 * np.exp(-(((lat - 27.0) / 6.0) ** 2))
        north = 2.5 * np.sin(np.radians(7.0 * lon - 1.5 * hours) + phase[1])
        # Smaller systems: a stream function of three travelling waves, so that the added wind has no divergence.
        for index, (along, across, amplitude) in enumerate(((14.0, 9.0, 1.6), (22.0, -15.0, 1.3), (-9.0, 19.0, 1.6))):
            angle = np.radians(along * lon + across * lat - 2.5 * hours) + phase[2 + index]
            size = float(np.hypot(along, across))
            east = east - amplitude * across / size * np.cos(angle)
            north = north + amplitude * along / size * np.cos(angle)
        for vortex in self.lows + self.highs:
            add_east, add_north = vortex.wind(lat, lon, hours)
            east, north = east + add_east, north + add_north
        return east, north

    def _waves(self, lat: Floats, lon: Floats, hours: Floats, east: Floats, north: Floats) -> Floats:
        """Return wind sea of 0.0165 U² m (U in m/s: 75 % of full development) and swell, added in energy."""
        speed = KNOT * np.hypot(east, north)
        sea = 0.0165 * speed**2
        swell_energy = (0.9 + 0.25 * np.sin(np.radians(4.0 * lon + 6.0 * lat - 0.8 * hours) + self.phases[5])) ** 2
        for low in self.lows:
            before = hours - 9.0
            away_east, away_north = offset_nm(lat, lon, *low.centre(before))
            distance = np.hypot(away_east, away_north) / (1.35 * low.radius_nm)
            swell_energy = swell_energy + (0.165 * low.peak_kn * low.strength(before) * np.exp(-0.5 * distance**2)) ** 2
        return np.asarray(np.sqrt(sea**2 + swell_energy))

    def _current(self, lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
        meander = 0.55 * np.sin(np.radians(38.0 * lon) + self.phases[6]) * np.clip((-lon - 40.0) / 20.0, 0.0, 1.0)
        stream = _jet(STREAM, 48.0, lat - meander, lon)
        labrador = _jet(LABRADOR, 55.0, lat, lon)
        angle = np.radians(33.0 * lon + 29.0 * lat) + self.phases[7]
        eddy_east, eddy_north = -0.12 * np.cos(angle), 0.14 * np.cos(angle)
        return stream[0] + labrador[0] + eddy_east, stream[1] + labrador[1] + eddy_north


def _jet(axis: Floats, width_nm: float, lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
    """Return east and north current of a jet with a Gaussian profile about a polyline of (longitude, latitude,
    speed)."""
    nearest = np.full(lat.shape, np.inf)
    east, north = np.zeros(lat.shape), np.zeros(lat.shape)
    for (lon_a, lat_a, speed_a), (lon_b, lat_b, speed_b) in pairwise(axis):
        way_east, way_north = offset_nm(lat_b, lon_b, lat_a, lon_a)
        point_east, point_north = offset_nm(lat, lon, lat_a, lon_a)
        length = float(np.hypot(way_east, way_north))
        share = np.clip((point_east * way_east + point_north * way_north) / length**2, 0.0, 1.0)
        distance = np.hypot(point_east - share * way_east, point_north - share * way_north)
        closer = distance < nearest
        speed = (speed_a + share * (speed_b - speed_a)) * np.exp(-0.5 * (distance / width_nm) ** 2)
        east = np.where(closer, speed * way_east / length, east)
        north = np.where(closer, speed * way_north / length, north)
        nearest = np.minimum(nearest, distance)
    return east, north
