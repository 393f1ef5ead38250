"""Wind resistance: the regression of Fujiwara, Ueno and Ikeda (2006) as printed in ISO 15016:2015, Annex C.

The coefficient C_AA is positive for a force against the ship's motion. It is the sum of a longitudinal-flow
drag (C_LF), a lift and induced drag (C_XLI) and an additional force (C_ALF).
"""

from dataclasses import dataclass

import numpy as np

from simulators.vessel.hull import Hull
from simulators.vessel.units import AIR_DENSITY, Floats

_BLEND = np.deg2rad(10.0)


@dataclass(frozen=True, slots=True)
class Windage:
    """Dimensions of the ship above water. Arrays [N] or floats, m and m2."""

    length: float
    """Length overall L_OA."""
    beam: float
    """Beam B."""
    frontal: Floats | float
    """Transverse projected area A_XV including superstructures."""
    lateral: Floats | float
    """Lateral projected area A_LV."""
    superstructure: Floats | float
    """Lateral projected area A_OD of structures and cargo on the upper deck."""
    centre: Floats | float
    """Position C_MC of the centre of A_LV forward of amidships."""
    bridge_height: Floats | float
    """Height h_BR of the top of the deck house above the water."""
    lateral_height: Floats | float
    """Height h_C of the centre of A_LV above the water."""


def windage(hull: Hull, draft: Floats) -> Windage:
    """Return projected areas of `hull` floating at mean `draft` [N] in m: boxes for hull, cargo and deck house.

    Deck cargo covers four fifths of the beam's frontal view above the deck; the house stands slightly aft.
    """
    freeboard = np.maximum(hull.depth - np.asarray(draft, np.float64), 1.0)
    length, beam = hull.length_overall, hull.beam
    cargo = hull.container_share * length * hull.container_height
    house = hull.house_length * hull.house_height
    above = cargo + house
    side = length * freeboard
    lateral = side + above
    frontal = beam * freeboard + 0.8 * beam * hull.container_height
    frontal = frontal + 0.7 * beam * (hull.house_height - hull.container_height)
    moment = 0.5 * side * freeboard + cargo * (freeboard + 0.5 * hull.container_height)
    moment = moment + house * (freeboard + 0.5 * hull.house_height)
    return Windage(
        length=length,
        beam=beam,
        frontal=frontal,
        lateral=lateral,
        superstructure=above,
        centre=-0.12 * length * house / lateral,
        bridge_height=freeboard + hull.house_height,
        lateral_height=moment / lateral,
    )


def _bow(shape: Windage) -> tuple[Floats, Floats, Floats]:
    """Return C_LF, C_XLI and C_ALF for relative wind from ahead of the beam."""
    s = shape
    side = s.lateral / (s.length * s.bridge_height)
    c_lf = 0.922 - 0.507 * s.lateral / (s.length * s.beam) - 1.162 * s.centre / s.length
    c_xli = -0.458 - 3.245 * side + 2.313 * s.frontal / (s.beam * s.bridge_height)
    c_alf = 0.585 + 0.906 * s.superstructure / s.lateral - 3.239 * s.beam / s.length
    return np.asarray(c_lf), np.asarray(c_xli), np.asarray(c_alf)


def _stern(shape: Windage) -> tuple[Floats, Floats, Floats]:
    """Return C_LF, C_XLI and C_ALF for relative wind from abaft the beam."""
    s = shape
    side = s.lateral / (s.length * s.bridge_height)
    c_lf = -0.018 + 5.091 * s.beam / s.length - 10.367 * s.lateral_height / s.length
    c_lf = c_lf + 3.011 * s.superstructure / s.length**2 + 0.341 * s.frontal / s.beam**2
    c_xli = 1.901 - 12.727 * side - 24.407 * s.frontal / s.lateral + 40.310 * s.beam / s.length
    c_xli = c_xli + 5.481 * s.frontal / (s.beam * s.bridge_height)
    c_alf = 0.314 + 1.117 * s.superstructure / s.lateral
    return np.asarray(c_lf), np.asarray(c_xli), np.asarray(c_alf)


def _combine(parts: tuple[Floats, Floats, Floats], angle: Floats) -> Floats:
    c_lf, c_xli, c_alf = parts
    sin, cos = np.sin(angle), np.cos(angle)
    lift = c_xli * (sin - 0.5 * sin * cos**2) * sin * cos
    return np.asarray(c_lf * cos + lift + c_alf * sin * cos**3)


def coefficient(shape: Windage, angle: Floats) -> Floats:
    """Return C_AA [N] at the relative wind `angle` [N] in radians, 0 ahead, pi astern.

    The standard joins the two regressions at 90 degrees by the mean of the values 10 degrees to either side, which
    leaves steps. Here the values at 80 and 100 degrees are joined by a line, whose middle is the standard's value.
    """
    angle = np.abs(np.asarray(angle, np.float64))
    angle = np.where(angle > np.pi, 2.0 * np.pi - angle, angle)
    bow, stern = _bow(shape), _stern(shape)
    near, far = 0.5 * np.pi - _BLEND, 0.5 * np.pi + _BLEND
    share = np.clip((angle - near) / (far - near), 0.0, 1.0)
    ahead = _combine(bow, np.minimum(angle, near))
    astern = _combine(stern, np.maximum(angle, far))
    return np.asarray(ahead * (1.0 - share) + astern * share)


def resistance(shape: Windage, head: Floats, cross: Floats, ground_speed: Floats) -> Floats:
    """Return R_AA [N] in N (ISO 15016:2015, Annex C), the addition to the resistance in still air.

    `head` and `cross` are the apparent wind components in m/s (head wind positive), `ground_speed` the
    speed over ground in m/s. Without true wind the result is zero, since still air is already in Holtrop's
    R_A.
    """
    speed2 = head**2 + cross**2
    angle = np.arctan2(np.abs(cross), head)
    c_head = _bow(shape)[0]
    still = c_head * ground_speed * np.abs(ground_speed)
    return np.asarray(0.5 * AIR_DENSITY * shape.frontal * (coefficient(shape, angle) * speed2 - still))
