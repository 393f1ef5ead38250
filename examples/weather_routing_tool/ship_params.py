"""Ship parameters: the fields of the tool's class of this name, for environments without the tool."""

from dataclasses import dataclass
from typing import Any

from astropy import units as u

NO_VALUE = -99
"""Tool's marker of a missing value."""
NOT_TOLD = {
    **dict.fromkeys(("r_calm", "r_wind", "r_waves", "r_shallow", "r_roughness"), u.N),
    "rpm": u.Hz,
    "wave_direction": u.rad,
    "wave_period": u.s,
    "pressure": u.Pa,
    "air_temperature": u.deg_C,
    "salinity": u.dimensionless_unscaled,
    "water_temperature": u.deg_C,
    "status": 1,
}
"""Fields that a model of power alone cannot fill, with the tool's units."""


@dataclass
class ShipParams:
    """Values at N points, each an astropy quantity [N]; -99 if a boat does not provide it."""

    fuel_rate: Any
    """Fuel rate, kg/s."""
    power: Any
    """Power, W."""
    rpm: Any
    speed: Any
    """Speed over ground, m/s."""
    r_calm: Any
    """Resistances, N."""
    r_wind: Any
    r_waves: Any
    r_shallow: Any
    r_roughness: Any
    wave_height: Any
    wave_direction: Any
    wave_period: Any
    u_currents: Any
    v_currents: Any
    u_wind_speed: Any
    v_wind_speed: Any
    pressure: Any
    air_temperature: Any
    salinity: Any
    water_temperature: Any
    status: Any
    message: Any
    """Messages, text [N]."""

    def get_fuel_rate(self) -> Any:
        return self.fuel_rate

    def get_power(self) -> Any:
        return self.power

    def get_speed(self) -> Any:
        return self.speed
