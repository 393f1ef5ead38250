"""Cost of a route with its uncertainty: energy, fuel, CO₂ and the bunker to carry."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from routing.engine import CO2_PER_HFO, Engine
from routing.fields import Ocean, Weather
from routing.geodesy import Floats, bearing_deg, distance_nm, travel
from routing.oracle import Power, PowerOracle, ask
from routing.search import Lattice, Plan
from routing.ship import Ship

NOISE_HOURS = 1.0
"""Duration of one independent piece of data noise (waves, gusts, torque meter)."""


@dataclass(frozen=True)
class Track:
    """Route cut into pieces of about an hour. All arrays [P], values at the middle of each piece."""

    lat: Floats
    lon: Floats
    course_deg: Floats
    start_h: Floats
    """Start of each piece, hours after departure."""
    hours: Floats
    """Duration of each piece."""
    nm: Floats
    waypoints: tuple[Floats, Floats, Floats]
    """Latitude, longitude and time of the turning points, each [columns]."""

    @property
    def middle_h(self) -> Floats:
        return self.start_h + self.hours / 2

    @property
    def over_ground_kn(self) -> Floats:
        return self.nm / self.hours

    @property
    def sailed_nm(self) -> Floats:
        """Distance made good at the middle of each piece."""
        return np.cumsum(self.nm) - self.nm / 2

    @classmethod
    def of(cls, plan: Plan, lattice: Lattice) -> Track:
        lats, lons = lattice.corridor.waypoints
        points = [
            (lats[column, row], lons[column, row], bin_ * lattice.step_h)
            for column, (row, bin_) in enumerate(plan.waypoints(lattice.bins))
        ]
        return cls.through(np.array(points))

    @classmethod
    def through(cls, points: Floats) -> Track:
        """Return the track through waypoints [W, 3]: latitude, longitude, hours; great circles at steady speed."""
        pieces: list[Floats] = []
        for (lat, lon, begin), (next_lat, next_lon, end) in pairwise(points):
            count = max(round(end - begin), 1)
            length = distance_nm(lat, lon, next_lat, next_lon)
            course = bearing_deg(lat, lon, next_lat, next_lon)
            share = (np.arange(count) + 0.5) / count
            mid_lat, mid_lon = travel(lat, lon, course, share * length)
            hours = np.full(count, (end - begin) / count)
            pieces.append(
                np.stack(
                    [
                        mid_lat,
                        mid_lon,
                        bearing_deg(mid_lat, mid_lon, next_lat, next_lon),
                        begin + hours * np.arange(count),
                        hours,
                        np.full(count, length / count),
                    ]
                )
            )
        lat, lon, course, start, hours, nm = np.concatenate(pieces, axis=1)
        return cls(lat, lon, course, start, hours, nm, (points[:, 0], points[:, 1], points[:, 2]))


@dataclass(frozen=True)
class Voyage:
    """Route with values along it and its totals.

    Two kinds of uncertainty add up differently over a voyage. Knowledge uncertainty is an error of the same model in
    similar water: taken as fully correlated along the route, so standard deviations add. Data noise is taken as
    independent from hour to hour, so variances add. Both assumptions are simple; the first is cautious. Fuel follows
    power through the slope of the engine curve (delta method). The weather is taken as known: the uncertainty of a
    forecast is not in these figures.
    """

    track: Track
    weather: Weather
    stw_kn: Floats
    power: Power
    engine: Engine

    @classmethod
    def evaluate(cls, track: Track, ocean: Ocean, ship: Ship, engine: Engine, oracle: PowerOracle) -> Voyage:
        weather = ocean.sample(track.lat, track.lon, track.middle_h)
        rows = ship.features(track.over_ground_kn, track.course_deg, weather, track.middle_h)
        stw = ship.stw(track.over_ground_kn, track.course_deg, weather)
        return cls(track, weather, stw, ask(oracle, rows), engine)

    @property
    def duration_h(self) -> float:
        return float(self.track.hours.sum())

    @property
    def distance_nm(self) -> float:
        return float(self.track.nm.sum())

    @property
    def energy_mwh(self) -> float:
        return float((self.power.mean * self.track.hours).sum() / 1000.0)

    @property
    def energy_sd_mwh(self) -> float:
        return float(np.hypot(*self._deviations(np.full(self.power.mean.shape, 1e-3))))

    @property
    def fuel_t(self) -> float:
        return float((self.engine.fuel_t_per_h(self.power.mean) * self.track.hours).sum())

    @property
    def fuel_sd_parts_t(self) -> tuple[float, float]:
        """Standard deviation of the fuel from knowledge and from data noise."""
        return self._deviations(self.engine.fuel_slope_t_per_kwh(self.power.mean))

    @property
    def fuel_sd_t(self) -> float:
        return float(np.hypot(*self.fuel_sd_parts_t))

    @property
    def co2_t(self) -> float:
        return self.fuel_t * CO2_PER_HFO

    def bunker_t(self, quantile: float = 0.95) -> float:
        """Return the fuel that is enough with this probability, under the assumptions of the class."""
        return self.fuel_t + float(ndtri(quantile)) * self.fuel_sd_t

    @property
    def deferred_h(self) -> float:
        return float(self.track.hours[self.power.deferred].sum())

    @property
    def shifted_h(self) -> float:
        return float(self.track.hours[self.power.shifted].sum())

    @property
    def barred_h(self) -> float:
        """Expected hours at a barred power."""
        return float((self.engine.barred_probability(self.power.mean, self.power.sd) * self.track.hours).sum())

    def _deviations(self, weight: Floats) -> tuple[float, float]:
        """Return deviations of the sum of weight x power x hours: knowledge (correlated), noise (independent)."""
        hours = self.track.hours
        knowledge = float((weight * self.power.knowledge_sd * hours).sum())
        data = float(np.sqrt((weight**2 * self.power.data_sd**2 * hours * NOISE_HOURS).sum()))
        return knowledge, data

    def summary(self) -> dict[str, float]:
        """Return totals for a table or for --json; units in the names."""
        knowledge, data = self.fuel_sd_parts_t
        return {
            "distance_nm": self.distance_nm,
            "arrival_h": self.duration_h,
            "mean_stw_kn": float(np.average(self.stw_kn, weights=self.track.hours)),
            "energy_mwh": self.energy_mwh,
            "energy_sd_mwh": self.energy_sd_mwh,
            "fuel_t": self.fuel_t,
            "fuel_sd_knowledge_t": knowledge,
            "fuel_sd_data_t": data,
            "bunker_95_t": self.bunker_t(0.95),
            "co2_t": self.co2_t,
            "deferred_h": self.deferred_h,
            "shifted_h": self.shifted_h,
            "expected_barred_h": self.barred_h,
            "highest_wave_m": float(self.weather.wave_m.max()),
            "strongest_wind_kn": float(self.weather.wind_kn.max()),
        }
