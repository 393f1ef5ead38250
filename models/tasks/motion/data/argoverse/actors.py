"""Who moves in Argoverse 2, and what of it the official format has a place for: vehicles and pedestrians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["requested", "vehicle", "pedestrian"]
"""Vehicles whose future is asked for; others that are drawn as vehicles; what is drawn as pedestrians."""
EGO = "EGO_VEHICLE"
"""What some logs call the recording car among its actors; its track is taken from the poses instead."""

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
"""Category of a sensor log to what it becomes; others (cones, signs, animals, bicycles without riders) are left out."""

TRACKED: Mapping[str, tuple[Kind, tuple[float, float, float]]] = MappingProxyType(
    {
        "vehicle": ("requested", (4.7, 1.9, 1.6)),
        "bus": ("requested", (12.0, 2.6, 3.1)),
        "motorcyclist": ("vehicle", (2.2, 0.9, 1.6)),
        "pedestrian": ("pedestrian", (0.7, 0.7, 1.75)),
        "cyclist": ("pedestrian", (1.8, 0.7, 1.75)),
    }
)
"""Type of a forecasting scenario to what it becomes, and to length, width and height, m: the files do not tell sizes,
and these are usual ones. Others (static, background, construction, riderless bicycles) are left out."""

EGO_SIZE = (4.877, 2.0, 1.473)
"""Length, width and height of the recording car, m, as logs that annotate it say."""
EGO_CENTRE = 1.4
"""Its centre ahead of the rear axle, where poses are, m: about half of its wheelbase."""


@dataclass(frozen=True)
class Actor:
    """One track of a recording of F frames."""

    track: int
    """Number within the recording, from 1; the ego has 0."""
    kind: Kind
    size: tuple[float, float, float]
    """Length, width, height, m."""
    position: NDArray[np.float64]
    """Centre [F, 3], m in the frame of the city; NaN where the actor is not seen."""
    yaw: NDArray[np.float64]
    """Where the front points, [F], rad."""


def numbered(names: NDArray[np.intp], frames: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Numbers of ``count`` actors from 1, in the order in which they are first seen, [count].

    Args:
        names: which actor each row is about, 0 to count - 1.
        frames: when.
    """
    first = np.full(count, np.iinfo(np.intp).max)
    np.minimum.at(first, names, frames)
    numbers = np.empty(count, np.intp)
    numbers[np.argsort(first, kind="stable")] = np.arange(1, count + 1)
    return numbers
