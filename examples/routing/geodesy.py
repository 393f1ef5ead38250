"""Great-circle geometry on a sphere. Angles in degrees, distances in nautical miles, arrays broadcast."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

EARTH_RADIUS_NM = 3440.065

Floats = NDArray[np.float64]


def _radians(*angles: ArrayLike) -> tuple[Any, ...]:
    return tuple(np.radians(np.asarray(angle, np.float64)) for angle in angles)


def distance_nm(lat_a: ArrayLike, lon_a: ArrayLike, lat_b: ArrayLike, lon_b: ArrayLike) -> Floats:
    """Return the great-circle distance (haversine form, exact for short legs too)."""
    phi_a, lam_a, phi_b, lam_b = _radians(lat_a, lon_a, lat_b, lon_b)
    half = np.sin((phi_b - phi_a) / 2) ** 2 + np.cos(phi_a) * np.cos(phi_b) * np.sin((lam_b - lam_a) / 2) ** 2
    return np.asarray(2 * EARTH_RADIUS_NM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0))))


def bearing_deg(lat_a: ArrayLike, lon_a: ArrayLike, lat_b: ArrayLike, lon_b: ArrayLike) -> Floats:
    """Return the course at a towards b, clockwise from north, in [0, 360)."""
    phi_a, lam_a, phi_b, lam_b = _radians(lat_a, lon_a, lat_b, lon_b)
    east = np.sin(lam_b - lam_a) * np.cos(phi_b)
    north = np.cos(phi_a) * np.sin(phi_b) - np.sin(phi_a) * np.cos(phi_b) * np.cos(lam_b - lam_a)
    return np.asarray(np.degrees(np.arctan2(east, north)) % 360.0)


def travel(lat: ArrayLike, lon: ArrayLike, course_deg: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
    """Return the position after `distance` nautical miles on a great circle that starts on `course_deg`."""
    phi, lam, course = _radians(lat, lon, course_deg)
    angle = np.asarray(distance, np.float64) / EARTH_RADIUS_NM
    sin_phi = np.sin(phi) * np.cos(angle) + np.cos(phi) * np.sin(angle) * np.cos(course)
    reached = np.arcsin(np.clip(sin_phi, -1.0, 1.0))
    turned = np.arctan2(np.sin(course) * np.sin(angle) * np.cos(phi), np.cos(angle) - np.sin(phi) * np.sin(reached))
    return np.degrees(reached), (np.degrees(lam + turned) + 180.0) % 360.0 - 180.0


def offset_nm(lat: ArrayLike, lon: ArrayLike, from_lat: ArrayLike, from_lon: ArrayLike) -> tuple[Floats, Floats]:
    """Return east and north components of the way from one point to another, on the plane tangent midway.

    The error is within 1 % up to 1,000 nm in middle latitudes: enough to place weather, not to navigate.
    """
    phi, lam, from_phi, from_lam = _radians(lat, lon, from_lat, from_lon)
    east = EARTH_RADIUS_NM * (lam - from_lam) * np.cos((phi + from_phi) / 2)
    north = EARTH_RADIUS_NM * (phi - from_phi)
    return np.asarray(east), np.asarray(north)
