"""The networks' grid: turning loses nothing, interpolation keeps places, and results come back where they belong."""

import itertools
from typing import Any

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from models.imaging.nifti import BadImage, Limits
from models.tasks.lesion.inference.grid import Grid, model_grid

ORIENTATIONS = [
    "".join(codes) for order in itertools.permutations(("RL", "AP", "SI")) for codes in itertools.product(*order)
]


def affine_of(orientation: str, spacing: Any = (1, 1, 1), turn: float = 0.0) -> np.ndarray:
    """An affine whose axes have these directions, turned about x and z by some radians."""
    affine = np.eye(4)
    to = nibabel.orientations.ornt_transform(
        nibabel.orientations.axcodes2ornt("RAS"), nibabel.orientations.axcodes2ornt(orientation)
    )
    affine = affine @ nibabel.orientations.inv_ornt_aff(to, (50, 60, 70))
    c, s = np.cos(turn), np.sin(turn)
    about_x = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    about_z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    affine[:3, :3] = about_x @ about_z @ affine[:3, :3] * np.asarray(spacing)
    affine[:3, 3] = -20, 11, 5
    return affine


def world(affine: np.ndarray, index: Any) -> np.ndarray:
    return np.asarray(np.asarray(index) @ affine[:3, :3].T + affine[:3, 3])


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_turning_is_what_nibabel_does_and_comes_back_exactly(orientation: str) -> None:
    volume = np.random.default_rng(0).random((5, 6, 7), np.float32)
    affine = affine_of(orientation, turn=0.2)
    grid = model_grid((5, 6, 7), affine, "RAS", 1.0)
    expected = nibabel.as_closest_canonical(nibabel.Nifti1Image(volume, affine))
    assert grid.step is None
    assert np.array_equal(grid.resampled(volume), expected.get_fdata())
    assert np.allclose(grid.affine, expected.affine)
    assert np.array_equal(grid.back(grid.resampled(volume)), volume)
    assert np.array_equal(grid.mask_back(grid.resampled(volume) > 0.5), volume > 0.5)
    assert np.array_equal(grid.near_back(grid.turned(volume)), volume)
    assert np.shares_memory(grid.turned(volume), volume)


def test_without_an_orientation_fitting_scans_lie_as_they_are() -> None:
    affine = affine_of("LPS")
    volume = np.random.default_rng(0).random((5, 6, 7), np.float32)
    assert np.array_equal(model_grid((5, 6, 7), affine, "", 1.0).resampled(volume), volume)
    assert np.array_equal(model_grid((5, 6, 7), affine, "LPS", 1.0).resampled(volume), volume)
    other = model_grid((50, 60, 70), affine_of("LPS", (1, 1, 2)), "", 1.0)
    assert nibabel.aff2axcodes(other.affine) == ("R", "A", "S")


@pytest.mark.parametrize("edge", [0.991, 1.009])
def test_voxels_that_differ_by_one_percent_are_not_interpolated(edge: float) -> None:
    assert model_grid((50, 50, 50), affine_of("RAS", (1, edge, 1)), "RAS", 1.0).step is None
    assert model_grid((50, 50, 50), affine_of("RAS", (1, 2 * edge - 1, 1)), "RAS", 1.0).step is not None


def smooth(points: np.ndarray) -> np.ndarray:
    """A function of places in the world that is linear, so that linear interpolation is exact."""
    return np.asarray(points @ [0.5, -0.3, 0.2] + 7)


def places(grid_shape: Any, affine: np.ndarray) -> np.ndarray:
    index = np.stack(np.meshgrid(*(np.arange(n) for n in grid_shape), indexing="ij"), axis=-1)
    return world(affine, index)


SHEAR = np.array([[1, 0.1, 0, 0], [0, 1, 0.05, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
SHEARED = affine_of("LAS", (0.9, 1.1, 2.5), 0.15) @ SHEAR


@pytest.mark.parametrize(
    ("shape", "affine"),
    [
        ((64, 60, 20), affine_of("LPS", (0.9, 0.9, 3.0), 0.1)),
        ((20, 64, 60), affine_of("ILP", (3.3, 0.72, 0.72), -0.2)),
        ((40, 42, 44), affine_of("RAS", (1.3, 1.2, 1.25))),
        ((64, 60, 20), SHEARED),
    ],
)
def test_interpolation_keeps_places_and_covers_the_scan(shape: Any, affine: np.ndarray) -> None:
    grid = model_grid(shape, affine, "RAS", 1.0)
    assert grid.step is not None
    assert nibabel.aff2axcodes(grid.affine) == ("R", "A", "S")
    assert np.allclose(grid.affine[:3, :3].T @ grid.affine[:3, :3], np.eye(3), atol=1e-9), "cubes of 1 mm"
    volume = smooth(places(shape, affine)).astype(np.float32)
    there = grid.resampled(volume, smooth=False)
    index = places(grid.shape, np.eye(4)) @ grid.step.matrix.T + grid.step.offset
    inside = ((index >= 0) & (index <= np.array(grid.turned_scan_shape) - 1)).all(axis=-1)
    assert np.allclose(there[inside], smooth(places(grid.shape, grid.affine))[inside], atol=1e-3)
    assert inside.mean() > 0.75
    corners = np.array([*itertools.product(*((-0.5, n - 0.5) for n in shape))])
    reached = world(np.linalg.inv(grid.affine), world(affine, corners))
    assert (reached > -0.52).all()
    assert (reached < np.array(grid.shape) - 0.48).all()
    back = grid.back(smooth(places(grid.shape, grid.affine)).astype(np.float32))
    assert back.shape == shape
    inner = (slice(2, -2),) * 3
    assert np.allclose(back[inner], volume[inner], atol=1e-3)
    planes = [grid.planes_back(there, first, first + 10) for first in range(0, grid.turned_scan_shape[0] - 9, 10)]
    whole = grid.turned(grid.back(there))
    assert np.allclose(np.concatenate(planes), whole[: 10 * len(planes)], atol=1e-5)


def test_a_finer_scan_is_smoothed_before_it_is_taken_apart() -> None:
    noise = np.random.default_rng(0).standard_normal((120, 120, 120)).astype(np.float32)
    grid = model_grid(noise.shape, affine_of("RAS", (0.4, 0.4, 0.4)), "RAS", 1.0)  # type: ignore[arg-type]
    inner = (slice(5, -5),) * 3
    assert grid.resampled(noise)[inner].std() < 0.25 < 0.4 < grid.resampled(noise, smooth=False)[inner].std()


def ball(shape: Any, centre: Any, radius: float) -> np.ndarray:
    return np.asarray(((places(shape, np.eye(4)) - centre) ** 2).sum(axis=-1) < radius**2)


@settings(max_examples=15, deadline=None)
@given(
    spacing=st.tuples(*[st.floats(0.8, 5)] * 3),
    turn=st.floats(-0.4, 0.4),
    centre=st.tuples(*[st.floats(15, 45)] * 3),
    radius=st.floats(1.4, 8),
)
def test_no_lesion_is_lost_on_its_way_back(spacing: Any, turn: float, centre: Any, radius: float) -> None:
    shape = tuple(int(np.ceil(60 / edge)) for edge in spacing)
    grid = model_grid(shape, affine_of("LPI", spacing, turn), "RAS", 1.0)  # type: ignore[arg-type]
    mask = ball(grid.shape, centre, radius)
    back = grid.mask_back(mask)
    assert back.shape == shape
    volumes = np.count_nonzero(mask), np.count_nonzero(back) * np.prod(spacing)
    assert volumes[1] > 0
    if radius > max(3, 1.5 * max(spacing)):
        assert volumes[1] == pytest.approx(volumes[0], rel=0.4)
        middle = world(np.linalg.inv(grid.affine), world(grid.scan_affine, np.argwhere(back).mean(axis=0)))
        assert np.abs(middle - np.argwhere(mask).mean(axis=0)).max() < max(spacing)


def test_a_lesion_between_slices_keeps_the_voxels_next_to_it_and_others_stay_as_they_are() -> None:
    grid = model_grid((60, 60, 12), affine_of("RAS", (1, 1, 5)), "RAS", 1.0)
    large, between = np.zeros((2, *grid.shape), bool)
    large[10:20, 10:20, 10:25] = True
    between[30:33, 30:33, 19:21] = True  # slices are cut at 2, 7, 12, 17, 22
    tailed = large.copy()
    tailed[20:40, 10:20, 19:21] = True  # of a lesion that slices meet elsewhere
    assert np.array_equal(grid.mask_back(tailed), grid.back(tailed.astype(np.float32)) >= 0.5)
    with_both = grid.mask_back(large | between)
    kept = grid.mask_back(between)
    assert np.array_equal(with_both, grid.mask_back(large) | kept)
    assert 1 <= np.count_nonzero(kept) <= 8
    assert ndimage.label(with_both)[1] == 2
    assert set(np.argwhere(kept)[:, 2]) <= {3, 4}


def test_too_many_voxels_after_resampling_are_refused() -> None:
    with pytest.raises(BadImage, match=r"at 1 mm the image has \d+ voxels") as caught:
        model_grid((64, 64, 64), affine_of("RAS", (8, 8, 8)), "RAS", 1.0)
    assert caught.value.code == "too_large"
    grid: Grid = model_grid((64, 64, 64), affine_of("RAS", (4, 4, 4)), "RAS", 1.0, Limits(voxels=1 << 24))
    assert grid.shape == (256, 256, 256)
