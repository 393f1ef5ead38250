"""Chains of points: parallel, cut, turned and thinned."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.motion import curves, placing


def arc(radius: float, angle: float) -> np.ndarray:
    """Chain of at least two points a metre, whose chords are at most 5 mm within an arc of 10 m or more."""
    turned = np.linspace(0, angle, max(8, math.ceil(2 * radius * angle) + 1))
    return radius * np.stack([np.sin(turned), 1 - np.cos(turned)], axis=1)


def away(points: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Distances of points from a chain of segments, m, [points]."""
    begin, ahead = line[:-1], np.diff(line, axis=0)
    from_begin = points[:, None] - begin
    share = np.clip((from_begin * ahead).sum(axis=2) / (ahead**2).sum(axis=1), 0, 1)
    return np.hypot(*np.moveaxis(from_begin - share[..., None] * ahead, 2, 0)).min(axis=1)


@given(st.floats(10, 80), st.floats(0.3, 3), st.floats(-4, 4))
def test_a_curve_parallel_to_an_arc_is_an_arc_of_another_radius(radius: float, angle: float, right: float) -> None:
    moved = curves.parallel(curves.resampled(arc(radius, angle), 0.5), right)
    away = np.hypot(*(moved - [0, radius]).T)
    np.testing.assert_allclose(away, radius + right, atol=0.02)


@given(st.floats(0.5, 60), st.floats(0.2, 0.9))
def test_a_part_has_the_length_that_was_asked(length: float, share: float) -> None:
    line = np.stack([np.linspace(0, length, 40), np.zeros(40)], axis=1)
    piece = curves.part(line, 0.1 * length, (0.1 + 0.8 * share) * length)
    assert curves.lengths(piece)[-1] == pytest.approx(0.8 * share * length)
    assert piece[0, 0] == pytest.approx(0.1 * length)


@given(st.floats(-2.2, 2.2), st.floats(6, 25))
def test_a_turn_keeps_both_directions_and_is_close_to_an_arc(angle: float, radius: float) -> None:
    if abs(angle) < 0.05:
        return
    reach = radius * math.tan(abs(angle) / 2)
    leaving = np.array([math.cos(angle), math.sin(angle)])
    end = np.array([reach, 0.0]) + reach * leaving
    line = curves.turn(np.zeros(2), np.array([1.0, 0.0]), end, leaving)
    np.testing.assert_allclose(line[[0, -1]], [[0, 0], end], atol=1e-9)
    heading = line[-1] - line[-2]
    assert abs(math.atan2(*heading[::-1]) - angle) < 0.12
    centre = np.array([0.0, math.copysign(radius, angle)])
    np.testing.assert_allclose(np.hypot(*(line - centre).T), radius, rtol=0.04)


def test_curvature_is_that_of_the_circle() -> None:
    line = curves.resampled(arc(20.0, 2.0))
    step = curves.lengths(line)[1]
    np.testing.assert_allclose(curves.curvature(line, step)[3:-3], 1 / 20, rtol=0.02)


@given(st.floats(8, 200), st.floats(0.2, 2.5))
def test_thinned_and_simplified_lines_stay_near_the_line_with_fewer_points(radius: float, angle: float) -> None:
    line = curves.resampled(arc(radius, angle))
    for fewer, tolerance in ((placing.thinned(line), 0.13), (placing.simplified(line), 0.1001)):
        assert len(fewer) <= len(line)
        np.testing.assert_array_equal(fewer[[0, -1]], line[[0, -1]])
        assert away(line, fewer).max() < tolerance
    if radius > 100:
        assert len(placing.thinned(line)) < 0.5 * len(line) + 3


def test_simplified_outlines_keep_their_corners() -> None:
    square = np.array([[0, 0], [5, 0], [10, 0], [10, 10], [0, 10.0]])
    np.testing.assert_array_equal(placing.simplified(square), square[[0, 2, 3, 4]])
