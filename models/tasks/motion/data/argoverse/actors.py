"""Actors of Argoverse 2 that the official format can represent: vehicles and pedestrians."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["requested", "vehicle", "pedestrian"]
"""Kinds of actors: vehicles with a prediction request, other vehicles, and pedestrians (as drawn on the maps)."""
EGO = "EGO_VEHICLE"
"""Category of the recording car among the actors of some logs; the poses give its track instead."""

_REQUESTED = (
    "REGULAR_VEHICLE",
    "LARGE_VEHICLE",
    "BUS",
    "ARTICULATED_BUS",
    "SCHOOL_BUS",
    "BOX_TRUCK",
    "TRUCK",
    "TRUCK_CAB",
)
_VEHICLES = (
    "MOTORCYCLE",
    "MOTORCYCLIST",
    "VEHICULAR_TRAILER",
    "MESSAGE_BOARD_TRAILER",
    "TRAFFIC_LIGHT_TRAILER",
    "RAILED_VEHICLE",
)
_PEDESTRIANS = ("PEDESTRIAN", "OFFICIAL_SIGNALER", "STROLLER", "WHEELCHAIR", "BICYCLIST", "WHEELED_RIDER")
_KINDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("requested", _REQUESTED),
    ("vehicle", _VEHICLES),
    ("pedestrian", _PEDESTRIANS),
)
ANNOTATED: Mapping[str, Kind] = MappingProxyType({name: kind for kind, names in _KINDS for name in names})
"""Kind of each category of a sensor log; others (cones, signs, animals, bicycles without riders) are left out."""

TRACKED: Mapping[str, tuple[Kind, tuple[float, float, float]]] = MappingProxyType(
    {
        "vehicle": ("requested", (4.7, 1.9, 1.6)),
        "bus": ("requested", (12.0, 2.6, 3.1)),
        "motorcyclist": ("vehicle", (2.2, 0.9, 1.6)),
        "pedestrian": ("pedestrian", (0.7, 0.7, 1.75)),
        "cyclist": ("pedestrian", (1.8, 0.7, 1.75)),
    }
)
"""Kind, and usual length, width and height, m, of each type of a forecasting scenario, whose files have no sizes.
Others (static, background, construction, riderless bicycles) are left out.
"""

EGO_SIZE = (4.877, 2.0, 1.473)
"""Length, width and height of the recording car, m, as annotated in some logs."""
EGO_CENTRE = 1.4
"""Distance of its centre ahead of the rear axle, the origin of poses, m: about half of its wheelbase."""


@dataclass(frozen=True)
class Actor:
    """Track of a recording of F frames."""

    track: int
    """Number within the recording, from 1; the ego has 0."""
    kind: Kind
    size: tuple[float, float, float]
    """Length, width and height, m."""
    position: NDArray[np.float64]
    """Centre [F, 3], m in the frame of the city; NaN in frames without the actor."""
    yaw: NDArray[np.float64]
    """Heading [F], rad."""


def numbered(names: NDArray[np.intp], frames: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Number ``count`` actors from 1, in the order of their first frames, [count].

    Args:
        names: actor of each row, 0 to count - 1.
        frames: frame of each row.
    """
    first = np.full(count, np.iinfo(np.intp).max)
    np.minimum.at(first, names, frames)
    numbers = np.empty(count, np.intp)
    numbers[np.argsort(first, kind="stable")] = np.arange(1, count + 1)
    return numbers
