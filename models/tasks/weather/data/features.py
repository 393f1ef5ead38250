"""Features of the weather task: 123 inputs in the order of the official files, and six further columns.

Names, meanings and units: Shifts 1.0, appendix C.2; order: the header of the official ``train.csv``. The ranges hold
every place, season and altitude of a weather model on Earth, and refuse a wrong unit: no Celsius column takes a value
in kelvin, no column in Pa one in hPa or mmHg.

All features may be missing (NaN) but those that need no weather model: the flags, the relief, the sun and the climate.
"""

from models.schema import Feature, Schema

FACT_TIME, FACT_LATITUDE, FACT_LONGITUDE = "fact_time", "fact_latitude", "fact_longitude"
FACT_TEMPERATURE, FACT_CLASS, CLIMATE = "fact_temperature", "fact_cwsm_class", "climate"
METADATA: tuple[str, ...] = (FACT_TIME, FACT_LATITUDE, FACT_LONGITUDE, FACT_TEMPERATURE, FACT_CLASS, CLIMATE)
"""First columns of official files: time (Unix seconds), place (degrees), the two labels, the main climate."""

NO_SOIL = -9999.0
"""Value of ``gfs_soil_temperature`` in official files if its flag is 0 (official-conventions, section 3)."""

CMC_LEVELS = (1000, 500, 700, 850, 925)
"""Pressure levels of the CMC columns, hPa, in the order of the files."""
GFS_LEVELS = (
    100,
    150,
    200,
    250,
    300,
    350,
    400,
    450,
    50,
    500,
    550,
    600,
    650,
    70,
    700,
    750,
    800,
    850,
    900,
    925,
    950,
    975,
)
"""Pressure levels of the GFS temperatures, hPa, in the order of the files (their names say Pa)."""

_NEAR_SURFACE_C = (-95.0, 65.0)
_NEAR_SURFACE_K = (175.0, 340.0)


def _known(name: str, unit: str, lower: float, upper: float, description: str) -> Feature:
    return Feature(name, unit, lower, upper, description)


def _may_miss(name: str, unit: str, lower: float, upper: float, description: str) -> Feature:
    return Feature(name, unit, lower, upper, description, nullable=True)


def _flag(name: str, description: str) -> Feature:
    return Feature(name, "1", 0.0, 1.0, description, values=(0.0, 1.0))


def _celsius(name: str, description: str) -> Feature:
    return _may_miss(name, "°C", *_NEAR_SURFACE_C, description)


def _kelvin(name: str, description: str) -> Feature:
    return _may_miss(name, "K", *_NEAR_SURFACE_K, description)


def _difference(name: str, unit: str, width: float, description: str) -> Feature:
    return _may_miss(name, unit, -width, width, description)


def _percent(name: str, description: str) -> Feature:
    return _may_miss(name, "%", 0.0, 100.0, description)


def _rate(name: str, description: str) -> Feature:
    return _may_miss(name, "mm/h", 0.0, 500.0, description)


def _wind(name: str, height: str, component: str, limit: float = 150.0) -> Feature:
    return _may_miss(name, "m/s", -limit, limit, f"Wind at {height}, {component} component.")


def _cmc_level(prefix: str, unit: str, lower: float, upper: float, what: str) -> dict[int, Feature]:
    return {
        level: _may_miss(f"{prefix}_{level}", unit, lower, upper, f"CMC {what} at {level} hPa.") for level in CMC_LEVELS
    }


def _accumulated(code: int, what: str) -> tuple[Feature, Feature, Feature]:
    """Return features of the sum since the start of the run, its difference to the next horizon, and the sum there."""
    name = f"cmc_0_1_{code}_0"
    return (
        _may_miss(name, "mm", 0.0, 5000.0, f"CMC {what} accumulated since the start of the run."),
        _difference(f"{name}_grad", "mm", 2000.0, f"CMC {what}, difference between adjacent horizons."),
        _may_miss(f"{name}_next", "mm", 0.0, 5000.0, f"CMC {what} accumulated until the next horizon."),
    )


_T = _cmc_level("cmc_0_0_0", "K", *_NEAR_SURFACE_K, "temperature")
_SPREAD = _cmc_level("cmc_0_0_7", "K", -1.0, 90.0, "dew point depression")
_U = {level: _wind(f"cmc_0_2_2_{level}", f"{level} hPa (CMC)", "U") for level in CMC_LEVELS}
_V = {level: _wind(f"cmc_0_2_3_{level}", f"{level} hPa (CMC)", "V") for level in CMC_LEVELS}
_HEIGHTS = {1000: (-1500.0, 1500.0), 925: (-900.0, 2300.0), 850: (-200.0, 3000.0), 700: (1500.0, 4500.0)}
_Z = {
    level: _may_miss(
        f"cmc_0_3_5_{level}",
        "gpm",
        *_HEIGHTS.get(level, (3500.0, 7500.0)),
        f"CMC geopotential height at {level} hPa.",
    )
    for level in CMC_LEVELS
}
_RAIN, _SNOW = _accumulated(65, "rain"), _accumulated(66, "snow")
_ICE, _GRAUPEL = _accumulated(67, "ice rain"), _accumulated(68, "iced graupel")
_GFS_T = tuple(
    _may_miss(
        f"gfs_temperature_{level}00", "°C", -120.0, 65.0 if level > 500 else 30.0, f"GFS temperature at {level} hPa."
    )
    for level in GFS_LEVELS
)

FEATURES: tuple[Feature, ...] = (
    _known("topography_bathymetry", "m", -12000.0, 9000.0, "Height above (or below) the sea level."),
    _known("sun_elevation", "degree", -90.0, 90.0, "Height of the sun above the horizon, without refraction."),
    _known("climate_temperature", "°C", *_NEAR_SURFACE_C, "Normal of the air temperature."),
    _known("climate_pressure", "mmHg", 300.0, 830.0, "Normal of the surface pressure."),
    _T[1000],
    _difference("cmc_0_0_0_2_grad", "K", 60.0, "CMC temperature at 2 m, difference between adjacent horizons."),
    _kelvin("cmc_0_0_0_2_interpolated", "CMC temperature at 2 m, interpolated between horizons."),
    _kelvin("cmc_0_0_0_2_next", "CMC temperature at 2 m at the next horizon."),
    _kelvin("cmc_0_0_0_2", "CMC temperature at 2 m."),
    _T[500],
    _T[700],
    _T[850],
    _T[925],
    _may_miss("cmc_0_0_6_2", "K", 150.0, 320.0, "CMC dew point at 2 m."),
    _SPREAD[1000],
    _may_miss("cmc_0_0_7_2", "K", -1.0, 90.0, "CMC dew point depression at 2 m."),
    _SPREAD[500],
    _SPREAD[700],
    _SPREAD[850],
    _SPREAD[925],
    _may_miss("cmc_0_1_0_0", "1", 0.0, 1.0, "CMC absolute humidity, 0 to 1."),
    _may_miss("cmc_0_1_11_0", "m", 0.0, 50.0, "CMC snow depth."),
    _RAIN[0],
    _SNOW[0],
    _ICE[0],
    _GRAUPEL[0],
    _rate("cmc_0_1_7_0", "CMC instant precipitation intensity."),
    _wind("cmc_0_2_2_10", "10 m (CMC)", "U"),
    *(_U[level] for level in CMC_LEVELS),
    _wind("cmc_0_2_3_10", "10 m (CMC)", "V"),
    *(_V[level] for level in CMC_LEVELS),
    _may_miss("cmc_0_3_0_0", "Pa", 30_000.0, 112_000.0, "CMC surface pressure."),
    _may_miss("cmc_0_3_0_0_next", "Pa", 30_000.0, 112_000.0, "CMC surface pressure at the next horizon."),
    _may_miss("cmc_0_3_1_0", "Pa", 85_000.0, 112_000.0, "CMC pressure at sea level."),
    *(_Z[level] for level in CMC_LEVELS),
    _percent("cmc_0_6_1_0", "CMC cloudiness."),
    _flag("cmc_available", "Whether there is any data from CMC."),
    _may_miss("cmc_horizon_h", "h", 0.0, 400.0, "CMC horizon."),
    _rate("cmc_precipitations", "CMC mean precipitation rate between adjacent horizons."),
    _difference("cmc_timedelta_s", "s", 86_400.0, "Time of the forecast less that of the CMC horizon."),
    _celsius("gfs_2m_dewpoint", "GFS dew point at 2 m."),
    _difference("gfs_a_vorticity", "1/s", 0.02, "GFS absolute vorticity at 1000 hPa."),
    _flag("gfs_available", "Whether there is any data from GFS."),
    _may_miss("gfs_cloudness", "1", 0.0, 3.0, "GFS cloudiness of three levels added, 0 to 3."),
    _may_miss("gfs_clouds_sea", "kg/kg", 0.0, 0.1, "GFS cloud mixing ratio at 1000 hPa."),
    _may_miss("gfs_horizon_h", "h", 0.0, 400.0, "GFS horizon."),
    _percent("gfs_humidity", "GFS relative humidity at 2 m."),
    _may_miss("gfs_precipitable_water", "kg/m²", 0.0, 150.0, "GFS total precipitable water."),
    _rate("gfs_precipitations", "GFS mean precipitation rate between adjacent horizons."),
    _may_miss("gfs_pressure", "mmHg", 300.0, 830.0, "GFS surface pressure."),
    _difference("gfs_r_velocity", "Pa/s", 100.0, "GFS vertical velocity at 1000 hPa."),
    Feature(
        "gfs_soil_temperature",
        "°C",
        -95.0,
        90.0,
        "GFS soil temperature at 0 to 0.1 m; -9999 where its flag is 0.",
        nullable=True,
        sentinels=(NO_SOIL,),
    ),
    _flag("gfs_soil_temperature_available", "Whether there is a soil temperature from GFS."),
    *_GFS_T,
    _celsius("gfs_temperature_sea", "GFS temperature at 2 m."),
    _difference(
        "gfs_temperature_sea_grad", "°C", 60.0, "GFS temperature at 2 m, difference between adjacent horizons."
    ),
    _celsius("gfs_temperature_sea_interpolated", "GFS temperature at 2 m, interpolated between horizons."),
    _celsius("gfs_temperature_sea_next", "GFS temperature at 2 m at the next horizon."),
    _difference("gfs_timedelta_s", "s", 86_400.0, "Time of the forecast less that of the GFS horizon."),
    _percent("gfs_total_clouds_cover_high", "GFS cloud cover, high level."),
    _percent("gfs_total_clouds_cover_low", "GFS cloud cover, low level."),
    _percent("gfs_total_clouds_cover_middle", "GFS cloud cover, middle level."),
    _wind("gfs_u_wind", "10 m (GFS)", "U"),
    _wind("gfs_v_wind", "10 m (GFS)", "V"),
    _may_miss("gfs_wind_speed", "m/s", 0.0, 215.0, "GFS wind speed at 10 m: root of the squared components added."),
    _flag("wrf_available", "Whether there is any data from WRF."),
    _kelvin("wrf_t2", "WRF temperature at 2 m."),
    _kelvin("wrf_t2_next", "WRF temperature at 2 m at the next horizon."),
    _may_miss("wrf_psfc", "Pa", 30_000.0, 112_000.0, "WRF surface pressure."),
    _may_miss("wrf_rh2", "1", 0.0, 1.2, "WRF relative humidity at 2 m, 0 to 1."),
    _wind("wrf_wind_u", "10 m (WRF)", "U"),
    _wind("wrf_wind_v", "10 m (WRF)", "V"),
    _rate("wrf_rain", "WRF mean rain rate between two horizons."),
    _rate("wrf_snow", "WRF mean snow rate between two horizons."),
    _rate("wrf_graupel", "WRF mean graupel rate between two horizons."),
    _rate("wrf_hail", "WRF mean hail rate between two horizons."),
    _kelvin("wrf_t2_interpolated", "WRF temperature at 2 m, interpolated between horizons."),
    _difference("wrf_t2_grad", "K", 60.0, "WRF temperature at 2 m, difference between adjacent horizons."),
    *(_RAIN[1:]),
    *(_SNOW[1:]),
    *(_ICE[1:]),
    *(_GRAUPEL[1:]),
    _difference("gfs_2m_dewpoint_grad", "°C", 60.0, "GFS dew point at 2 m, difference between adjacent horizons."),
    _celsius("gfs_2m_dewpoint_next", "GFS dew point at 2 m at the next horizon."),
    _difference("gfs_total_clouds_cover_low_grad", "%", 100.0, "GFS low clouds, difference between adjacent horizons."),
    _percent("gfs_total_clouds_cover_low_next", "GFS low clouds at the next horizon."),
)

NAMES: tuple[str, ...] = tuple(feature.name for feature in FEATURES)
FLAGS: tuple[str, ...] = tuple(feature.name for feature in FEATURES if feature.values)
"""Four flag columns that state whether a weather model has data."""

SCHEMA = Schema(FEATURES, METADATA)
"""Schema of the reference artefacts."""
