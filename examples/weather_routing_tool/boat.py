"""Adapter to WeatherRoutingTool: a boat with power from Demur's vessel service.

Quantities are passed to the client unchanged: it converts m/s to knots and durations to minutes.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray
from astropy import units as u

import demur
from routing.engine import Engine
from routing.ship import Ship, apparent_wind, components
from weather_routing_tool.ship_params import NO_VALUE, NOT_TOLD

try:
    from WeatherRoutingTool.ship.shipparams import ShipParams
except ImportError:
    from weather_routing_tool.ship_params import ShipParams

WIND = tuple(f"{part}-component_of_wind_height_above_ground" for part in "uv")


@dataclass
class DemurBoat:
    """Ship at steady speed over ground; deferred powers cost infinite fuel, so that no route uses them."""

    vessel: demur.Vessel
    weather: xarray.Dataset
    """Weather data of the tool: wind, current (utotal, vtotal) and waves (VHM0) by time, latitude and longitude."""
    speed: u.Quantity
    dry_docked: np.datetime64
    """Date of the last hull cleaning in dry dock."""
    deviations: float = 2.0
    """Number of standard deviations that are added to the mean of the predicted power."""
    ship: Ship = field(default_factory=Ship)
    engine: Engine = field(default_factory=Engine)

    def get_boat_speed(self) -> u.Quantity:
        return self.speed

    def set_boat_speed(self, speed: u.Quantity) -> None:
        self.speed = speed

    def get_ship_parameters(
        self, courses: Any, lats: Any, lons: Any, time: Any, speed: Any = None, unique_coords: bool = False
    ) -> ShipParams:
        """Return fuel rate and power at N points: degrees, degrees, degrees, datetimes, m/s or a quantity."""
        course = u.Quantity(courses, u.deg).to_value(u.deg)
        over_ground = np.ones(len(course)) * u.Quantity(self.speed if speed is None else speed, u.m / u.s)
        time = np.asarray(time, "datetime64[s]")
        points = {"latitude": lats, "longitude": lons, "time": time}
        here = self.weather.sel({axis: xarray.DataArray(at, dims="leg") for axis, at in points.items()}, "nearest")
        wind_east, wind_north, east, north, waves = (
            here[name].values.reshape(len(course)) * u.Unit(here[name].attrs["units"])
            for name in (*WIND, "utotal", "vtotal", "VHM0")
        )
        head, beam = apparent_wind(wind_east, wind_north, course, over_ground)
        along, across = components(east, north, course)
        power = self.power_kw({
            "draft_aft_telegram": self.ship.draft_aft_m * u.m, "draft_fore_telegram": self.ship.draft_fore_m * u.m,
            "stw": over_ground - along, "diff_speed_overground": 0.0 * u.m / u.s**2,
            "awind_vcomp_provider": head, "awind_ucomp_provider": beam, "rcurrent_vcomp": along,
            "rcurrent_ucomp": across, "comb_wind_swell_wave_height": waves,
            "timeSinceDryDock": time - self.dry_docked}) * u.kW  # fmt: skip
        sailed = np.isfinite(power)
        fuel = np.where(sailed, self.engine.fuel_t_per_h(np.where(sailed, power.value, 0.0)), np.inf) * u.t / u.h
        unknown = {name: np.full(len(course), NO_VALUE) * unit for name, unit in NOT_TOLD.items()}
        return ShipParams(fuel_rate=fuel.to(u.kg / u.s), power=power.to(u.W), speed=over_ground, wave_height=waves,
                          u_currents=east, v_currents=north, u_wind_speed=wind_east, v_wind_speed=wind_north,
                          message=np.where(sailed, "", "deferred"), **unknown)  # fmt: skip

    def power_kw(self, columns: dict[str, Any]) -> Any:
        """Return the power that the route pays for, kW [N]: mean and deviations, infinite if the service defers."""
        return self.vessel.cost(columns, self.deviations)
