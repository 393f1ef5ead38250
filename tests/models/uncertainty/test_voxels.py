"""Voxels against the categorical formulas, in float32 at any logit; structures against masks by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.assessment.components import components
from models.uncertainty import MeasureAbsent, categorical
from models.uncertainty.voxels import (
    lesion_structural_uncertainty,
    scan_structural_uncertainty,
    voxel_uncertainty,
)

MAPS = ("probability", "entropy", "expected_entropy", "mi", "epkl", "rmi")
NAMES = {
    "entropy": categorical.entropy_of_expected,
    "expected_entropy": categorical.expected_entropy,
    "mi": categorical.mutual_information,
    "epkl": categorical.epkl,
    "rmi": categorical.reverse_mutual_information,
}


def classes(difference: np.ndarray) -> np.ndarray:
    """Probabilities of both classes, float64 [M, N, 2]."""
    d = np.asarray(difference, np.float64).reshape(len(difference), -1)
    p1, p0 = (1 / (1 + np.exp(np.minimum(-sign * d, 700))) for sign in (1, -1))
    return np.stack([p0, p1], axis=2)


differences = hnp.arrays(
    np.float32,
    st.tuples(st.integers(2, 5), st.integers(1, 6)),
    elements=st.one_of(st.floats(-8, 8, width=32), st.floats(-1e4, 1e4, width=32)),
)


@given(differences, st.sampled_from([np.float32, np.float64]))
def test_maps_are_those_of_two_classes_with_the_released_epsilon(difference: np.ndarray, dtype: type) -> None:
    maps, p = voxel_uncertainty(difference.astype(dtype)), classes(difference)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-8, "atol": 2e-9}
    np.testing.assert_allclose(maps.probability, p.mean(axis=0)[:, 1], rtol=1e-5, atol=1e-37)
    for name, function in NAMES.items():
        values = getattr(maps, name)
        assert values.dtype == dtype
        np.testing.assert_allclose(values, function(p), **tolerance, err_msg=name)


@given(differences)
def test_float32_has_no_overflow_and_nothing_below_zero(difference: np.ndarray) -> None:
    maps = voxel_uncertainty(difference)
    for name in MAPS:
        values = getattr(maps, name)
        assert np.isfinite(values).all(), name
        assert (values >= 0).all(), name


@given(differences)
def test_classes_and_members_can_change_places(difference: np.ndarray) -> None:
    maps = voxel_uncertainty(difference)
    for other in (voxel_uncertainty(-difference), voxel_uncertainty(difference[::-1])):
        for name in MAPS[1:]:
            np.testing.assert_allclose(getattr(maps, name), getattr(other, name), atol=1e-5, err_msg=name)


def test_a_nearly_certain_voxel_keeps_its_rank_in_float32() -> None:
    """Probabilities round to one beyond 17 nats; entropies from logits do not."""
    maps = voxel_uncertainty(np.array([[20.0, 30.0, 60.0]], np.float32))
    assert maps.entropy[0] > maps.entropy[1] > maps.entropy[2] > 0
    assert maps.probability.tolist() == [1, 1, 1]


def test_infinite_logits_are_certain_and_nan_stays_nan() -> None:
    maps = voxel_uncertainty(np.array([[np.inf, np.nan], [-np.inf, 0.0]], np.float32))
    assert maps.mi is not None
    assert maps.mi[0] == pytest.approx(math.log(2))
    assert all(np.isnan(getattr(maps, name)[1]) for name in MAPS)


def test_a_single_model_has_maps_of_its_own_only() -> None:
    maps = voxel_uncertainty(np.zeros((1, 2, 2, 2), np.float32))
    np.testing.assert_allclose(maps.entropy, math.log(2), rtol=1e-6)
    assert all(getattr(maps, name) is None for name in MAPS[2:])


def test_members_may_come_one_by_one() -> None:
    difference = np.random.default_rng(2).normal(0, 3, (3, 2, 3, 4))
    stacked, other = voxel_uncertainty(difference), voxel_uncertainty(list(difference))
    assert all((getattr(stacked, name) == getattr(other, name)).all() for name in MAPS)
    assert stacked.entropy.shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ([], "at least one member"),
        ([np.zeros(2), np.zeros(3)], "one shape"),
        (np.zeros((2, 3), np.int64), "floating-point"),
    ],
)
def test_what_has_no_maps_is_refused(difference: list[np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        voxel_uncertainty(difference)


def mask(*voxels: tuple[int, int, int], shape: tuple[int, int, int] = (4, 4, 4)) -> np.ndarray:
    filled = np.zeros(shape, np.bool_)
    for voxel in voxels:
        filled[voxel] = True
    return filled


def test_a_component_is_as_uncertain_as_its_members_overlaps_are_small() -> None:
    ensemble = mask((0, 0, 0), (0, 0, 1), (3, 3, 3))
    members = [
        mask((0, 0, 0), (0, 0, 1), (3, 3, 3)),  # the same: IoU 1 and 1
        mask((0, 0, 1), (0, 0, 2), (0, 0, 3)),  # 1 of 4; nothing on the second
    ]
    uncertainties = lesion_structural_uncertainty(ensemble, members)
    np.testing.assert_allclose(uncertainties, [1 - (1 + 0.25) / 2, 1 - (1 + 0) / 2])


def test_the_component_of_largest_overlap_counts() -> None:
    ensemble = np.zeros((1, 1, 6), np.bool_)
    ensemble[0, 0, :5] = True
    split = ensemble.copy()
    split[0, 0, 1] = False  # leaves one voxel and three: IoU 1 / 5 and 3 / 5
    uncertainties = lesion_structural_uncertainty(ensemble, [split, split])
    np.testing.assert_allclose(uncertainties, [0.4])


def naive(ensemble: np.ndarray, members: np.ndarray) -> list[float]:
    labels = components(ensemble)
    values = []
    for k in range(1, labels.max() + 1):
        best = []
        for member in members:
            theirs = components(member)
            ious = [
                ((labels == k) & (theirs == j)).sum() / ((labels == k) | (theirs == j)).sum()
                for j in range(1, theirs.max() + 1)
            ]
            best.append(max(ious, default=0.0))
        values.append(1 - sum(best) / len(best))
    return values


volumes = hnp.arrays(np.bool_, st.tuples(st.integers(3, 5), *[st.integers(1, 4)] * 3))


@given(volumes)
def test_counted_pairs_give_the_overlaps_of_every_pair(masks: np.ndarray) -> None:
    uncertainties = lesion_structural_uncertainty(masks[0], masks[1:])
    np.testing.assert_allclose(uncertainties, naive(masks[0], masks[1:]), atol=1e-12)
    assert ((uncertainties >= -1e-12) & (uncertainties <= 1)).all()


@given(volumes)
def test_a_scan_that_all_members_see_alike_is_certain(masks: np.ndarray) -> None:
    same = [masks[0]] * 3
    assert scan_structural_uncertainty(masks[0], same) == pytest.approx(0)
    np.testing.assert_allclose(lesion_structural_uncertainty(masks[0], same), 0, atol=1e-12)
    assert 0 <= scan_structural_uncertainty(masks[0], masks[1:]) <= 1


def test_a_scan_is_as_uncertain_as_dice_is_low_and_empty_masks_agree() -> None:
    empty, single = mask(), mask((0, 0, 0))
    assert scan_structural_uncertainty(empty, [empty, empty]) == 0
    assert scan_structural_uncertainty(empty, [empty, single]) == 0.5
    assert scan_structural_uncertainty(single, [mask((0, 0, 0), (0, 0, 1)), single]) == pytest.approx(
        1 - (2 / 3 + 1) / 2
    )
    assert lesion_structural_uncertainty(empty, [single, single]).shape == (0,)


@pytest.mark.parametrize("measure", [lesion_structural_uncertainty, scan_structural_uncertainty])
def test_structures_need_members_that_are_masks_of_one_shape(measure: object) -> None:
    single = mask((0, 0, 0))
    with pytest.raises(MeasureAbsent, match="at least 2 members, got 1"):
        measure(single, [single])  # type: ignore[operator]
    with pytest.raises(ValueError, match="threshold"):
        measure(single.astype(np.float32), [single, single])  # type: ignore[operator]
    with pytest.raises(ValueError, match="threshold"):
        measure(single, [single, single.astype(np.uint8)])  # type: ignore[operator]
    with pytest.raises(ValueError, match="one shape"):
        measure(single, [single, single[:2]])  # type: ignore[operator]
