"""The six simulated cities: geometry of streets, density of traffic and habits of those in it.

They carry the names of the places in the official tags, so that the canonical filters work, and are no models of them.
"""

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


_CALM = Class((1,), (3.0, 3.4), (40, 40, 60), 0.5)

CITIES = {
    city.name: city
    for city in (
        City(
            "Moscow",
            Layout(
                block=((120, 230), (110, 200)),
                bend=7.0,
                wave=(250, 600),
                main=Class((2, 2, 3), (3.3, 3.7), (60,), 0.15),
                side=Class((1,), (3.2, 3.6), (40, 60), 0.6, 0.1),
                main_share=0.45,
                missing=0.22,
                lights=0.75,
                roundabouts=0.03,
                all_way=0.0,
                corner=7.0,
                lots=0.12,
            ),
            Habits(
                eagerness=0.98,
                gap=1.3,
                acceleration=1.6,
                braking=1.45,
                cornering=2.3,
                patience=1.6,
                turns=(0.17, 0.64, 0.19),
                weaving=2.0,
                halts=0.3,
                wander=0.15,
                kerb=0.12,
                jaywalking=0.06,
            ),
            density=16,
            parked=0.12,
            pedestrians=2.2,
            trucks=0.07,
            precipitation=(0.05, 0.05, 0.08),
            origin=(-6000.0, 7000.0),
        ),
        City(
            "Skolkovo",
            Layout(
                block=((110, 180), (110, 180)),
                bend=26.0,
                wave=(180, 420),
                main=Class((1, 2), (3.4, 3.8), (40, 60), 0.0),
                side=_CALM,
                main_share=0.3,
                missing=0.3,
                lights=0.15,
                roundabouts=0.4,
                all_way=0.0,
                corner=9.0,
                lots=0.5,
            ),
            Habits(
                eagerness=0.9,
                gap=1.7,
                acceleration=1.3,
                braking=1.35,
                cornering=1.8,
                patience=2.2,
                turns=(0.3, 0.4, 0.3),
                weaving=1.0,
                halts=0.3,
                wander=0.12,
                kerb=0.1,
                jaywalking=0.1,
            ),
            density=15,
            parked=0.2,
            pedestrians=2.5,
            trucks=0.12,
            precipitation=(0.15, 0.1, 0.15),
            origin=(-15000.0, -4000.0),
        ),
        City(
            "Innopolis",
            Layout(
                block=((120, 210), (100, 170)),
                bend=15.0,
                wave=(300, 700),
                main=Class((2,), (3.5, 4.0), (60,), 0.0),
                side=Class((1,), (3.4, 4.0), (40, 60), 0.3),
                main_share=0.4,
                missing=0.3,
                lights=0.3,
                roundabouts=0.25,
                all_way=0.0,
                corner=10.0,
                lots=0.5,
            ),
            Habits(
                eagerness=0.88,
                gap=1.9,
                acceleration=1.2,
                braking=1.25,
                cornering=1.7,
                patience=2.6,
                turns=(0.26, 0.46, 0.28),
                weaving=1.0,
                halts=0.25,
                wander=0.25,
                kerb=0.1,
                jaywalking=0.05,
            ),
            density=14,
            parked=0.2,
            pedestrians=1.2,
            trucks=0.06,
            precipitation=(0.15, 0.15, 0.35),
            origin=(9000.0, 21000.0),
        ),
        City(
            "AnnArbor",
            Layout(
                block=((75, 115), (100, 150)),
                bend=3.0,
                wave=(300, 600),
                main=Class((1, 2), (3.4, 3.7), (48, 56), 0.3),
                side=Class((1,), (3.0, 3.6), (40, 40, 48), 0.7),
                main_share=0.3,
                missing=0.12,
                lights=0.8,
                roundabouts=0.0,
                all_way=0.6,
                corner=5.0,
                lots=0.2,
            ),
            Habits(
                eagerness=0.95,
                gap=1.7,
                acceleration=1.5,
                braking=1.5,
                cornering=2.0,
                patience=2.3,
                turns=(0.22, 0.54, 0.24),
                weaving=1.2,
                halts=0.3,
                wander=0.14,
                kerb=0.15,
                jaywalking=0.04,
            ),
            density=14,
            parked=0.09,
            pedestrians=2.8,
            trucks=0.08,
            precipitation=(0.2, 0.05, 0.2),
            origin=(4500.0, -9500.0),
        ),
        City(
            "Modiin",
            Layout(
                block=((110, 190), (110, 190)),
                bend=34.0,
                wave=(220, 500),
                main=Class((2,), (3.3, 3.6), (50, 70), 0.0),
                side=Class((1,), (3.0, 3.5), (30, 50), 0.7),
                main_share=0.5,
                missing=0.28,
                lights=0.3,
                roundabouts=0.55,
                all_way=0.0,
                corner=8.0,
                lots=0.3,
            ),
            Habits(
                eagerness=1.08,
                gap=1.1,
                acceleration=1.6,
                braking=1.7,
                cornering=2.7,
                patience=1.3,
                turns=(0.25, 0.5, 0.25),
                weaving=3.0,
                halts=0.4,
                wander=0.15,
                kerb=0.15,
                jaywalking=0.08,
            ),
            density=13,
            parked=0.18,
            pedestrians=1.6,
            trucks=0.09,
            precipitation=(0.12, 0.0, 0.0),
            origin=(12500.0, 6000.0),
        ),
        City(
            "TelAviv",
            Layout(
                block=((52, 82), (58, 95)),
                bend=9.0,
                wave=(120, 300),
                main=Class((1, 2), (2.9, 3.2), (50,), 0.5, 0.25),
                side=Class((1,), (2.8, 3.1), (30, 50), 0.9, 0.65),
                main_share=0.35,
                missing=0.2,
                lights=0.55,
                roundabouts=0.0,
                all_way=0.0,
                corner=4.0,
                lots=0.1,
            ),
            Habits(
                eagerness=1.0,
                gap=0.85,
                acceleration=1.9,
                braking=2.0,
                cornering=2.9,
                patience=1.0,
                turns=(0.25, 0.5, 0.25),
                weaving=4.0,
                halts=0.6,
                wander=0.18,
                kerb=0.35,
                jaywalking=0.35,
            ),
            density=20,
            parked=0.2,
            pedestrians=4.5,
            trucks=0.05,
            precipitation=(0.12, 0.0, 0.0),
            origin=(-2500.0, -14000.0),
        ),
    )
}
"""By the official name."""
