"""The table of lesions says where they are, how large, and how far the members agree."""

import numpy as np
import pytest

from models.tasks.lesion.inference import lesions
from models.tasks.lesion.inference.lesions import box_of
from models.uncertainty.voxels import lesion_structural_uncertainty, scan_structural_uncertainty

AFFINE = np.array([[-1.0, 0, 0, 90], [0, 0, 1.5, -20], [0, 1, 0, 4], [0, 0, 0, 1]])
SHAPE = (30, 32, 34)


def volumes(members: int = 4) -> np.ndarray:
    """Differences with a large lesion that all see, a smaller one that half of them see, and specks."""
    rng = np.random.default_rng(0)
    values = np.full((members, *SHAPE), -5, np.float32)
    for member in range(members):
        values[member, 5 : 11 + member % 2, 6:12, 7:13] = 3
        if member % 2:
            values[member, 20:23, 20:24, 20:25] = 2
    values[:, rng.integers(0, 30, 20), 30, rng.integers(0, 34, 20)] = 4
    return values


def described(differences: np.ndarray, trust: float | None = 0.4) -> tuple[lesions.Lesions, list[np.ndarray]]:
    probability = (1 / (1 + np.exp(-differences))).mean(axis=0).astype(np.float32)
    box = box_of((differences >= 0).any(axis=0))
    ensemble = lesions.marked(probability[box], 0.4, 9)
    own = [lesions.marked(difference[box], np.log(0.4 / 0.6), 9) for difference in differences]
    agreements = [lesions.agreement(ensemble, marked) for marked in own]
    corner = [part.start for part in box]
    result = lesions.describe(ensemble, probability[box], agreements, affine=AFFINE, corner=corner, trust=trust)
    return result, [ensemble.mask(), *(marked.mask() for marked in own)]


def test_the_table_says_where_and_how_large() -> None:
    result, _ = described(volumes())
    large, small = result.table
    assert large.volume_mm3 == pytest.approx(7 * 6 * 6 * 1.5), "seen by half of the members at its edge"
    assert large.centroid_mm == pytest.approx((90 - 8, -20 + 1.5 * 9.5, 4 + 8.5))
    assert small.centroid_mm == pytest.approx((90 - 21, -20 + 1.5 * 22, 4 + 21.5))
    assert 0.4 < small.mean_probability < large.mean_probability < 1
    assert result.voxels == 7 * 36 + 3 * 4 * 5


def test_structural_uncertainty_is_that_of_the_definition() -> None:
    result, (ensemble, *members) = described(volumes())
    expected = lesion_structural_uncertainty(ensemble, members)
    assert [lesion.structural_uncertainty for lesion in result.table] == pytest.approx(expected.tolist())
    assert result.structural == pytest.approx(scan_structural_uncertainty(ensemble, members))
    assert [lesion.look_at for lesion in result.table] == [False, True]
    assert [lesion.look_at for lesion in described(volumes(), None)[0].table] == [None, None]


def test_a_single_model_has_no_structural_uncertainty_and_advises_by_probability() -> None:
    result, _ = described(volumes(2)[1:], trust=0.1)
    assert result.structural is None
    assert [(lesion.structural_uncertainty, lesion.look_at) for lesion in result.table] == [(None, False), (None, True)]


def test_a_scan_without_lesions_has_an_empty_table() -> None:
    result, _ = described(volumes() * 0 - 5)
    assert (result.table, result.voxels, result.structural) == ((), 0, 0.0)


def test_the_box_holds_all_marked_voxels_and_no_more() -> None:
    marked = np.zeros(SHAPE, bool)
    assert box_of(marked) == (slice(0, 1),) * 3
    marked[3, 4, 5] = marked[10, 4, 31] = True
    assert box_of(marked) == box_of(np.asfortranarray(marked)) == (slice(3, 11), slice(4, 5), slice(5, 32))
