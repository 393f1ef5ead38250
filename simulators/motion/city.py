"""What makes a city: geometry of its streets, density of its traffic and habits of those in it."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[float, float]
"""Least and largest value; drawn uniformly."""


@dataclass(frozen=True, slots=True)
class Class:
    """A class of roads."""

    lanes: tuple[int, ...]
    """Possible numbers of lanes in each direction."""
    width: Span
    """Of a lane, m."""
    limits: tuple[float, ...]
    """Possible speed limits, km/h."""
    parking: float
    """Share of roads with cars parked along them."""
    one_way: float = 0.0
    """Share of roads of one direction."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Geometry of a city's streets."""

    block: tuple[Span, Span]
    """Distance of neighbouring streets along both axes of the grid, m."""
    bend: float
    """Amplitude of the smooth field that bends the grid, m; two waves."""
    wave: Span
    """Wavelengths of that field, m."""
    main: Class
    side: Class
    main_share: float
    """Share of streets that are main ones."""
    missing: float
    """Share of side streets' blocks that are not built: junctions become T-shaped."""
    lights: float
    """Share of junctions of two main streets with traffic lights; of others a third of it."""
    roundabouts: float
    """Share of junctions that are roundabouts."""
    all_way: float
    """Share of junctions without lights where all have to stop."""
    corner: float
    """Radius of kerbs at corners, m."""
    lots: float
    """Parking lots for each hundred metres of road."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How those in the traffic of a city behave; each driver varies around it."""

    eagerness: float
    """Wanted speed over the limit."""
    gap: float
    """Time gap to the car ahead, s."""
    acceleration: float
    """Largest comfortable, m/s²."""
    braking: float
    """Comfortable, m/s²."""
    cornering: float
    """Comfortable sideways acceleration, m/s²."""
    patience: float
    """Time that must be left before or behind another car when crossing its way, s."""
    turns: tuple[float, float, float]
    """Weights of going left, straight on and right."""
    weaving: float
    """Lane changes of a car in a minute where there is a lane to change to."""
    halts: float
    """Stops on the road of a car in a minute, and hard braking half as often."""
    wander: float
    """Deviation of a car from the middle of its lane, m."""
    kerb: float
    """Cars that leave the kerb, for each hundred metres of lane along which cars are parked; and share of cars on
    the move that come to it."""
    jaywalking: float
    """Share of crossing pedestrians who do so anywhere."""


@dataclass(frozen=True, slots=True)
class City:
    """A place as the official tags name it."""

    name: str
    layout: Layout
    habits: Habits
    density: float
    """Cars on the move, for each kilometre of lane."""
    parked: float
    """Share of parking places that are taken."""
    pedestrians: float
    """For each hundred metres of road."""
    trucks: float
    """Share of vehicles longer than a van."""
    precipitation: tuple[float, float, float]
    """Shares of scenes with rain, sleet and snow."""
    origin: tuple[float, float]
    """Of its coordinates, m: scenes lie within some kilometres of it."""
