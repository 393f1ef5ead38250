"""Volumes in another order of axes are the same volumes; those of other voxels are not."""

import itertools

import nibabel
import numpy as np
import pytest
from nibabel import orientations

from models.imaging.orientation import reoriented

AFFINE = nibabel.affines.from_matvec(
    np.array([[0.98, 0.17, 0], [-0.17, 0.98, 0.05], [0, -0.05, 1]]) * (1.0, 0.9, 3.0), (-70.0, 12.0, 5.5)
)
VOLUME = np.random.default_rng(0).random((5, 6, 4)) < 0.4
WAYS = ["".join(letters) for axes in itertools.permutations(("RL", "AP", "SI")) for letters in itertools.product(*axes)]


@pytest.mark.parametrize("way", WAYS)
def test_all_48_orders_are_turned_back(way: str) -> None:
    image = nibabel.Nifti1Image(VOLUME.astype(np.uint8), AFFINE)
    change = orientations.ornt_transform(orientations.io_orientation(AFFINE), orientations.axcodes2ornt(tuple(way)))
    turned = image.as_reoriented(change)
    restored = reoriented(np.asarray(turned.dataobj) == 1, turned.affine, VOLUME.shape, AFFINE)
    assert restored is not None
    np.testing.assert_array_equal(restored, VOLUME)


def test_other_voxels_are_none() -> None:
    shifted, coarser, flipped = AFFINE.copy(), AFFINE.copy(), AFFINE.copy()
    shifted[:3, 3] += 0.5 * AFFINE[:3, 0]
    coarser[:3, :3] *= 1.2
    flipped[:3, 0] *= -1  # about the first voxel: all others lie elsewhere
    for affine in (shifted, coarser, flipped, np.zeros((4, 4)), np.diag((1.0, 1, 0, 1))):
        assert reoriented(VOLUME, affine, VOLUME.shape, AFFINE) is None
        assert reoriented(VOLUME, AFFINE, VOLUME.shape, affine) is None
    assert reoriented(VOLUME[:-1], AFFINE, VOLUME.shape, AFFINE) is None
    nearly = AFFINE.copy()
    nearly[:3, 3] += 0.02  # rounded in a header
    assert reoriented(VOLUME, nearly, VOLUME.shape, AFFINE) is not None
