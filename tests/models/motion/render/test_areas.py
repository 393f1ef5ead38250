"""Areas whose outlines are far, or are made to take long."""

from collections.abc import Sequence

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tasks.motion.inference.render.map_layers import fill
from models.tasks.motion.inference.render.raster import Cells
from models.tasks.motion.inference.scene_message import BadScene
from tests.work import counted

SIZE = 64


def filled(*outlines: list[tuple[int, int]]) -> np.ndarray:
    image = np.zeros((SIZE, SIZE), np.float32)
    fill(image, [np.array(outline, np.int32) for outline in outlines], 3.0)
    return image


def drawing(monkeypatch: pytest.MonkeyPatch) -> list[Cells]:
    """The outlines that OpenCV will be given to fill."""
    drawn: list[Cells] = []
    fill_poly = cv2.fillPoly

    def spied(image: np.ndarray, outlines: Sequence[Cells], value: float) -> None:
        drawn.extend(outlines)
        fill_poly(image, outlines, value)

    monkeypatch.setattr(cv2, "fillPoly", spied)
    return drawn


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-300, 300), st.integers(-300, 300)), min_size=1, max_size=12))
def test_near_areas_are_those_of_opencv(outline: list[tuple[int, int]]) -> None:
    expected = np.zeros((SIZE, SIZE), np.float32)
    cv2.fillPoly(expected, [np.array(outline, np.int32)], 3.0)
    assert np.array_equal(filled(outline), expected)


def test_nothing_fills_nothing() -> None:
    assert not filled().any()


@pytest.mark.parametrize("far", [10_000, 500_000_000])
def test_an_area_from_far_above_ends_soon_and_looks_the_same(far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = drawing(monkeypatch)
    image = filled([(20, -far), (40, -far), (40, 50), (20, 50)])
    assert min(int(outline[:, 1].min()) for outline in drawn) >= -(1 << 13), "OpenCV walks from there"
    expected = np.zeros_like(image)
    expected[:51, 20:41] = 3
    assert np.array_equal(image, expected)


def test_slanted_edges_from_far_above_stay_where_they_are() -> None:
    """An edge that passes the map is cut far outside it, so that it keeps its cells to one."""
    image = filled([(-20_000, -20_000), (30, 30), (-10, 60)])
    for row in range(30):
        (columns,) = np.nonzero(image[row])
        assert abs(columns.max() - row) <= 1


def test_areas_wholly_above_are_nothing() -> None:
    assert not filled([(0, -20_000), (60, -20_000), (60, -10_000)]).any()


@pytest.mark.parametrize("depth", [100, 100_000])
def test_outlines_that_would_take_long_are_refused(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    outline = list(zip(rng.integers(-depth, depth, 20_000), np.tile([-depth, 63], 10_000), strict=True))
    drawn = drawing(monkeypatch)
    with counted() as work, pytest.raises(BadScene, match="send simpler ones") as refusal:
        filled([(int(x), int(y)) for x, y in outline])
    assert refusal.value.code == "too_complex"
    assert drawn == []
    assert work.lines < 20 * len(outline)
