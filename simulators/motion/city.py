"""Parameters of a city: geometry of its streets, density of its traffic and habits of its road users."""

from dataclasses import dataclass

Span = tuple[float, float]
"""Least and largest value of a uniform draw."""


@dataclass(frozen=True, slots=True)
class Class:
    """Class of roads."""

    lanes: tuple[int, ...]
    """Possible numbers of lanes in each direction."""
    width: Span
    """Width of a lane, m."""
    limits: tuple[float, ...]
    """Possible speed limits, km/h."""
    parking: float
    """Share of roads with cars parked along them."""
    one_way: float = 0.0
    """Share of one-way roads."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Geometry of a city's streets."""

    block: tuple[Span, Span]
    """Distance of neighbouring streets along both axes of the grid, m."""
    bend: float
    """Amplitude of the smooth field of two waves that bends the grid, m."""
    wave: Span
    """Wavelengths of that field, m."""
    main: Class
    side: Class
    main_share: float
    """Share of streets that are main streets."""
    missing: float
    """Share of blocks of side streets that are not built, which makes junctions T-shaped."""
    lights: float
    """Share of junctions of two main streets with lights; a third of it for one main street, an eighth for none."""
    roundabouts: float
    """Share of junctions that are roundabouts."""
    all_way: float
    """Share of junctions without lights at which all vehicles have to stop."""
    corner: float
    """Radius of kerbs at corners, m."""
    lots: float
    """Number of parking lots per hundred metres of road."""


@dataclass(frozen=True, slots=True)
class Habits:
    """Habits of road users in a city; each driver varies around them."""

    eagerness: float
    """Ratio of the wanted speed to the limit."""
    gap: float
    """Time gap to the car ahead, s."""
    acceleration: float
    """Largest comfortable acceleration, m/s²."""
    braking: float
    """Comfortable braking, m/s²."""
    cornering: float
    """Comfortable sideways acceleration, m/s²."""
    patience: float
    """Time that must be left before or behind another car when crossing its way, s."""
    turns: tuple[float, float, float]
    """Weights of going left, straight on and right."""
    weaving: float
    """Number of lane changes of a car per minute if there is a lane to change to."""
    halts: float
    """Number of stops of a car on the road per minute; hard braking is half as frequent."""
    wander: float
    """Deviation of a car from the middle of its lane, m."""
    kerb: float
    """Number of cars that leave the kerb per hundred metres of lane with parked cars, and share of moving cars that
    stop at it.
    """
    jaywalking: float
    """Share of crossing pedestrians who cross outside crosswalks."""


@dataclass(frozen=True, slots=True)
class City:
    """Simulated city named as in the official tags."""

    name: str
    layout: Layout
    habits: Habits
    density: float
    """Number of moving cars per kilometre of lane."""
    parked: float
    """Share of parking places that are taken."""
    pedestrians: float
    """Number of pedestrians per hundred metres of road."""
    trucks: float
    """Share of vehicles longer than a van."""
    precipitation: tuple[float, float, float]
    """Shares of scenes with rain, sleet and snow."""
    origin: tuple[float, float]
    """Origin of the city's coordinates, m; scenes lie within some kilometres of it."""
