"""Ship as input of the power model: ten features from speed, course and weather."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from routing.fields import Weather
from routing.geodesy import Floats

FEATURES = (
    "draft_aft_telegram",
    "draft_fore_telegram",
    "stw",
    "diff_speed_overground",
    "awind_vcomp_provider",
    "awind_ucomp_provider",
    "rcurrent_vcomp",
    "rcurrent_ucomp",
    "comb_wind_swell_wave_height",
    "timeSinceDryDock",
)
"""Names of the features in the declared order of the service, which is the order of columns in batches."""


def components(east: Floats, north: Floats, course_deg: Floats) -> tuple[Floats, Floats]:
    """Return the components of a vector along a course and across it (positive to starboard)."""
    course = np.radians(course_deg)
    along = east * np.sin(course) + north * np.cos(course)
    across = east * np.cos(course) - north * np.sin(course)
    return along, across


def apparent_wind(
    wind_east_kn: Floats, wind_north_kn: Floats, course_deg: Floats, over_ground_kn: Floats
) -> tuple[Floats, Floats]:
    """Return the wind felt on board: along the axis (head wind positive) and across it (never negative), kn.

    The ship is taken to move along her axis: no drift angle.
    """
    along, across = components(wind_east_kn, wind_north_kn, course_deg)
    return over_ground_kn - along, np.abs(across)


@dataclass(frozen=True)
class Ship:
    """Loading and condition of a large container ship on this voyage."""

    draft_aft_m: float = 12.6
    draft_fore_m: float = 12.4
    days_since_dry_dock: float = 420.0
    slowest_kn: float = 12.0
    """Least speed through water that may be ordered, kn."""
    fastest_kn: float = 20.0

    def stw(self, over_ground_kn: Floats, course_deg: Floats, weather: Weather) -> Floats:
        """Return the speed through water for a speed over ground. Steering against the cross current is free."""
        along, _ = components(weather.current_east_kn, weather.current_north_kn, course_deg)
        return np.asarray(over_ground_kn - along)

    def features(self, over_ground_kn: Floats, course_deg: Floats, weather: Weather, hours: Floats) -> Rows:
        """Return rows for the service, float32 [..., 10], at `hours` after departure with steady speed."""
        along, across = components(weather.current_east_kn, weather.current_north_kn, course_deg)
        head, beam = apparent_wind(weather.wind_east_kn, weather.wind_north_kn, course_deg, over_ground_kn)
        rows = np.empty((*np.shape(hours), len(FEATURES)), np.float32)
        for column, values in enumerate(
            (
                self.draft_aft_m,
                self.draft_fore_m,
                over_ground_kn - along,
                0.0,
                head,
                beam,
                along,
                across,
                weather.wave_m,
                self.days_since_dry_dock * 1440.0 + hours * 60.0,
            )
        ):
            rows[..., column] = values
        return rows


Rows = NDArray[np.float32]
