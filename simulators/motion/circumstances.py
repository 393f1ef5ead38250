"""Season, time of day and weather of a scene, as its tags."""

import numpy as np

from models.tasks.motion.protocol import motion_pb2
from simulators.motion import drivers
from simulators.motion.city import City

_PRECIPITATION = {
    drivers.NONE: "kNoPrecipitation",
    drivers.RAIN: "kRain",
    drivers.SLEET: "kSleet",
    drivers.SNOW: "kSnow",
}
_SEASONS = {drivers.RAIN: ("kSpring", "kSummer", "kAutumn"), drivers.SLEET: ("kWinter", "kSpring", "kAutumn")}
_DAYLIGHT = {"kWinter": (8.5, 16.5), "kSpring": (6.5, 19.0), "kSummer": (5.0, 21.0), "kAutumn": (7.5, 17.5)}
"""Hours of sunrise and sunset by season."""
_TRAINING = "Moscow"
_TWILIGHT = 1.0
"""Duration of twilight before sunrise and after sunset, hours."""


def draw(rng: np.random.Generator, city: City, precipitation: int) -> motion_pb2.SceneTags:
    """Draw the tags of a scene of a city with a given precipitation."""
    every = ("kWinter", "kSpring", "kSummer", "kAutumn")
    seasons = ("kWinter",) if precipitation == drivers.SNOW else _SEASONS.get(precipitation, every)
    season = str(rng.choice(seasons))
    hour = float(rng.uniform(6, 26) % 24)
    rise, fall = _DAYLIGHT[season]
    up = rise <= hour < fall
    near = rise - _TWILIGHT <= hour < fall + _TWILIGHT
    return motion_pb2.SceneTags(
        day_time="kNight"
        if hour < 6 or hour >= 22
        else "kMorning"
        if hour < 12
        else "kAfternoon"
        if hour < 17
        else "kEvening",
        season=season,
        track=city.name,
        sun_phase="kDaylight" if up else "kTwilight" if near else "kAstronomicalNight",
        precipitation=_PRECIPITATION[precipitation],
    )


def precipitation(rng: np.random.Generator, city: City, *, canonical: bool) -> int:
    """Draw the kind of precipitation by the city's shares.

    Args:
        canonical: no precipitation in the training city, and no sleet elsewhere: the released filters keep such scenes.
    """
    rain, sleet, snow = city.precipitation
    shares = np.array([1 - rain - sleet - snow, rain, sleet, snow])
    if canonical:
        shares *= [1, 0, 0, 0] if city.name == _TRAINING else [1, 1, 0, 1]
    return int(rng.choice(4, p=shares / shares.sum()))
