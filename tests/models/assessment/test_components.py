"""Components share faces; overlaps are those of every pair."""

import numpy as np
import pytest
from scipy import ndimage

from models.assessment.components import components, listed, overlaps


def test_components_share_faces_not_edges() -> None:
    mask = np.zeros((4, 4, 4), bool)
    mask[0, 0, 0] = mask[0, 0, 1] = mask[0, 1, 2] = True
    labels = components(mask)
    assert listed(mask).sizes.tolist() == [2, 1]
    assert labels[0, 0, 0] == labels[0, 0, 1] == 1
    assert labels[0, 1, 2] == 2


@pytest.mark.parametrize("shape", [(7, 30, 40), (1, 60, 50), (90, 80)])
def test_few_voxels_are_numbered_as_many_are(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for share in (0.0, 0.002, 0.015, 0.3):
        mask = ndimage.binary_dilation(rng.random(shape) < share / 5) if share < 0.1 else rng.random(shape) < share
        assert np.array_equal(components(mask), ndimage.label(mask)[0])
    edge = np.zeros(shape, bool)
    edge.reshape(-1)[[0, shape[-1] - 1, shape[-1], -1]] = True  # the end of a line and the begin of the next
    assert np.array_equal(components(edge), ndimage.label(edge)[0])


def test_overlaps_are_the_largest_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    masks = [rng.random((6, 6, 6)) < 0.25 for _ in range(2)]
    ours, theirs = map(components, masks)
    table = np.array(
        [
            [
                ((ours == i) & (theirs == j)).sum() / ((ours == i) | (theirs == j)).sum()
                for j in range(1, theirs.max() + 1)
            ]
            for i in range(1, ours.max() + 1)
        ]
    )
    overlap = overlaps(*map(listed, masks))
    np.testing.assert_allclose(overlap.ours, table.max(axis=1))
    np.testing.assert_allclose(overlap.theirs, table.max(axis=0))
    assert overlap.voxels == (masks[0] & masks[1]).sum()


def test_nothing_overlaps_with_nothing() -> None:
    empty, whole = listed(np.zeros((2, 2), bool)), listed(np.ones((2, 2), bool))
    for overlap in (overlaps(whole, empty), overlaps(empty, whole)):
        assert sorted([overlap.ours.tolist(), overlap.theirs.tolist()]) == [[], [0.0]]
        assert overlap.voxels == 0
