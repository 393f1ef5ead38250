"""Random fields, blurs and resampling."""

import numpy as np
import pytest

from simulators.lesion import fields


@pytest.mark.parametrize("scale", [2.5, 9.0, 30.0])
def test_a_smooth_field_has_variance_one_in_every_voxel(scale: float) -> None:
    rng = np.random.default_rng(0)
    drawn = np.stack([fields.smooth(rng, (12, 14, 10), scale) for _ in range(1500)])
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=0.17)
    np.testing.assert_allclose(drawn.std(axis=0), 1, atol=0.12)


def test_a_field_of_larger_scale_changes_more_slowly() -> None:
    rng = np.random.default_rng(1)
    steps = [np.abs(np.diff(fields.smooth(rng, (60, 60, 60), scale), axis=0)).mean() for scale in (2.0, 6.0, 20.0)]
    assert steps == sorted(steps, reverse=True)


def test_upsampled_nodes_of_a_plane_are_the_plane() -> None:
    shape, scale = (9, 13, 11), 4.0
    x, y, z = np.meshgrid(*fields.nodes(shape, scale), indexing="ij")
    fine = fields.upsample((2 * x - y + 0.5 * z).astype(np.float32), shape, scale)
    i, j, k = np.meshgrid(*map(np.arange, shape), indexing="ij")
    np.testing.assert_allclose(fine, 2 * i - j + 0.5 * k, atol=1e-4)


def test_matrices_apply_along_their_own_axes() -> None:
    volume = np.random.default_rng(2).random((5, 6, 7)).astype(np.float32)
    matrices = [
        np.random.default_rng(axis).random((axis + 2, size)).astype(np.float32) for axis, size in enumerate((5, 6, 7))
    ]
    expected = np.einsum("ai,bj,ck,ijk->abc", *matrices, volume)
    np.testing.assert_allclose(fields.along(volume, matrices), expected, rtol=1e-5)
    np.testing.assert_allclose(fields.along(volume, [None, None, None]), volume)


@pytest.mark.parametrize("spacing", [1.0, 1.25, 2.2])
def test_thick_slices_and_back_keep_constants_and_blur_a_step_with_overshoot(spacing: float) -> None:
    there, back = fields.slices(40, spacing, spacing, 0.3), fields.between(40, spacing, 0.3)
    assert there.shape == back.shape[::-1]
    np.testing.assert_allclose(back @ (there @ np.ones(40, np.float32)), 1, atol=1e-5)
    step = back @ (there @ (np.arange(40) >= 20).astype(np.float32))
    assert step[20] < 0.99
    assert step.min() < -0.001
    assert step.max() > 1.001


def test_a_blur_spreads_a_point_by_its_width() -> None:
    volume = np.zeros((31, 31, 31), np.float32)
    volume[15, 15, 15] = 1
    spread = fields.blur(volume, 2.0)
    offset = np.arange(31) - 15.0
    assert spread.sum() == pytest.approx(1, abs=1e-4)
    assert np.sqrt((spread.sum(axis=(1, 2)) * offset**2).sum()) == pytest.approx(2.0, rel=0.01)
