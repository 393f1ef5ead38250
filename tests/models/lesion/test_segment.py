"""A scan's whole way: what is found does not depend on how it came, in which order it was done, or what was asked."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from models.calibration import IntervalTable
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data.image import Scan, read_scan
from models.tasks.lesion.inference.calls import finished
from models.tasks.lesion.inference.preparation import prepare
from models.tasks.lesion.inference.segment import memory, segment, work
from models.tasks.lesion.inference.segmentation import Segmentation
from models.tasks.lesion.inference.windows import NotFinite
from models.uncertainty.voxels import MEASURES, scan_structural_uncertainty, voxel_uncertainty
from tests.models.lesion.heads import SPOTS, Bright, head, packed

HEAD = head()
RECIPE = Recipe(window=(32, 32, 32), threshold=0.4, voxel_trust=0.01, lesion_trust=0.3)


def scan_of(values: np.ndarray = HEAD, affine: Any = None, **files: bytes) -> Scan:
    return read_scan({"flair": packed(values, affine), **files}, ("flair",))


def equal(first: Segmentation, other: Segmentation) -> bool:
    return (
        np.array_equal(first.mask, other.mask)
        and first.maps.keys() == other.maps.keys()
        and all(np.array_equal(first.maps[name], other.maps[name]) for name in first.maps)
        and (first.lesions, first.burden, first.means) == (other.lesions, other.burden, other.means)
    )


def test_a_scan_is_segmented_as_its_definition_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.tasks.lesion.inference.segment.PIECE", 20_000)
    scan, members = scan_of(), Bright(3)
    segmentation = segment(scan, members, RECIPE)
    image = prepare(scan, RECIPE).image
    differences = [members.difference(member, image) for member in range(3)]  # voxel-wise, so windows change nothing
    true = voxel_uncertainty([difference.astype(np.float64) for difference in differences])
    brain = HEAD != 0
    named = {"total": true.entropy, "data": true.expected_entropy, "knowledge": true.mi, "rmi": true.rmi}
    assert np.allclose(segmentation.maps["probability"], true.probability, atol=1e-5)
    for name, values in named.items():
        assert values is not None
        assert np.allclose(segmentation.maps[name], values * brain, atol=1e-5)
        assert getattr(segmentation.means, name) == pytest.approx(values[brain].mean(), abs=1e-6)
    assert np.array_equal(segmentation.maps["advice"], (segmentation.maps["rmi"] > np.float32(0.01)))
    assert segmentation.look_at_voxels == pytest.approx(segmentation.maps["advice"][brain].mean())
    assert np.array_equal(segmentation.mask, true.probability >= 0.4), "lesions are large, nothing is dropped"
    masks = [1 / (1 + np.exp(-difference)) >= 0.4 for difference in differences]
    assert segmentation.structural == pytest.approx(scan_structural_uncertainty(segmentation.mask, masks))
    assert len(segmentation.lesions) == len(SPOTS) == segmentation.burden.count.value
    assert sum(lesion.volume_mm3 for lesion in segmentation.lesions) == pytest.approx(
        1000 * segmentation.burden.volume_ml.value
    )
    centroids = sorted(lesion.centroid_mm for lesion in segmentation.lesions)
    assert np.allclose(centroids, sorted(SPOTS), atol=0.2)
    assert segmentation.brain_ml == pytest.approx(np.count_nonzero(brain) / 1000)


def test_the_statistics_of_a_unit_are_those_of_its_volumes() -> None:
    segmentation = segment(scan_of(), Bright(3), RECIPE)
    unit = segmentation.predictive()
    assert len(unit) == 1
    assert unit.mask[0] is segmentation.mask
    for measure, expected in (
        ("entropy", segmentation.means.total),
        ("data_entropy", segmentation.means.data),
        ("mi", segmentation.means.knowledge),
        ("rmi", segmentation.means.rmi),
        ("scan_structural_uncertainty", segmentation.structural),
    ):
        assert expected is not None
        assert MEASURES[measure](unit)[0] == pytest.approx(expected, abs=1e-6)
    single = segment(scan_of(), Bright(1), RECIPE)
    assert set(single.maps) == {"probability", "total", "advice"}
    assert (single.structural, single.means.data, single.predictive().epkl) == (None, None, None)
    assert np.array_equal(single.maps["advice"], single.maps["total"] > np.float32(0.01))


def test_order_and_threads_change_nothing() -> None:
    expected = segment(scan_of(), Bright(3), RECIPE)
    assert equal(segment(scan_of(), Bright(3), RECIPE, threads=3), expected)
    steps = work(prepare(scan_of(), RECIPE), Bright(3), RECIPE, lanes=2)
    batch = next(steps)
    done, stages = [batch.done], [batch.stage]
    while True:
        backwards = [call.function() for call in reversed(batch.calls)]
        try:
            batch = steps.send(backwards[::-1])
        except StopIteration as end:
            segmentation: Segmentation = end.value
            break
        done.append(batch.done)
        stages.append(batch.stage)
    assert equal(segmentation, expected)
    assert done == sorted(done)
    assert 0 <= done[0] < done[-1] < 1
    assert "segmenting" in stages


def turned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same head, lying otherwise in its file."""
    affine = np.zeros((4, 4))
    affine[0, 1], affine[1, 2], affine[2, 0], affine[3, 3] = -1, 1, -1, 1
    affine[:3, 3] = values.shape[0] - 1, 0, values.shape[2] - 1
    return np.transpose(values[::-1, :, ::-1], (2, 0, 1)), affine


def test_a_turned_scan_gets_the_same_answer_on_its_own_grid() -> None:
    straight = segment(scan_of(), Bright(3), RECIPE)
    segmentation = segment(scan_of(*turned(HEAD)), Bright(3), RECIPE)
    assert not segmentation.resampled
    assert np.array_equal(segmentation.mask, turned(straight.mask)[0])
    for name, values in straight.maps.items():
        assert np.array_equal(segmentation.maps[name], turned(values)[0]), name
    for lesion, other in zip(segmentation.lesions, straight.lesions, strict=True):
        assert lesion.centroid_mm == pytest.approx(other.centroid_mm)
    assert segmentation.means == straight.means


def test_a_scan_of_other_voxels_gets_its_answer_on_its_own_grid() -> None:
    values = head((80, 84, 30), spots=((26, 40, 15), (52, 40, 14)), radius=5)
    affine = np.array([[-0.7, 0, 0, 30], [0, 0, 2.5, -40], [0, -0.8, 0, 20], [0, 0, 0, 1]])
    segmentation = segment(scan_of(values, affine), Bright(3), RECIPE, threads=2)
    assert segmentation.resampled
    assert segmentation.mask.shape == values.shape
    assert np.array_equal(segmentation.affine, np.float32(affine).astype(float))
    assert {array.shape for array in segmentation.maps.values()} == {values.shape}
    assert {name: array.dtype.name for name, array in segmentation.maps.items() if name == "advice"} == {
        "advice": "uint8"
    }
    assert len(segmentation.lesions) == 2
    true = (values > 150).sum() * 0.7 * 0.8 * 2.5
    assert segmentation.burden.volume_ml.value * 1000 == pytest.approx(true, rel=0.35)
    assert segmentation.mask.sum() * 0.7 * 0.8 * 2.5 == pytest.approx(
        segmentation.burden.volume_ml.value * 1000, rel=0.2
    )
    for lesion in segmentation.lesions:
        index = np.linalg.inv(affine) @ [*lesion.centroid_mm, 1]
        assert segmentation.mask[tuple(np.rint(index[:3]).astype(int))]


def test_a_brain_mask_bounds_uncertainty_and_not_probability() -> None:
    mask = np.zeros(HEAD.shape, np.uint8)
    mask[10:30] = HEAD[10:30] != 0
    segmentation = segment(scan_of(brain_mask=packed(mask)), Bright(3), RECIPE)
    assert not segmentation.maps["total"][mask == 0].any()
    assert not segmentation.maps["advice"][mask == 0].any()
    assert segmentation.maps["total"][mask == 1].min() > 0
    assert segmentation.maps["probability"][mask == 0].max() > 0.5
    assert segmentation.means.total == pytest.approx(float(segmentation.maps["total"][mask == 1].mean()), rel=1e-5)


def test_windows_of_zeros_run_once_a_member() -> None:
    class Undecided(Bright):
        def difference(self, member: int, window: np.ndarray) -> np.ndarray:
            return np.asarray(super().difference(member, window) * 0 + window[0] / 9 + member - 1, np.float32)

    values = np.zeros((60, 60, 160), np.float32)
    values[..., :52] = head((60, 60, 52))
    members = Undecided(3)
    segmentation = segment(scan_of(values), members, RECIPE)
    assert len(members.calls) < 3 * (3 * 3 * 7) / 2
    image = prepare(scan_of(values), RECIPE).image
    expected = np.mean([1 / (1 + np.exp(-members.difference(member, image))) for member in range(3)], axis=0)
    assert np.allclose(segmentation.maps["probability"], expected, atol=1e-5)


def test_only_wanted_maps_are_made() -> None:
    steps = work(prepare(scan_of(), RECIPE), Bright(3), RECIPE, map_names={"rmi"})
    assert set(finished(steps).maps) == {"probability", "rmi"}


def test_intervals_come_from_the_recipe() -> None:
    table = IntervalTable(99, (0.5, 0.9), (1.0, 3.0))
    recipe = Recipe(window=(32, 32, 32), volume=table, count=table)
    burden = segment(scan_of(), Bright(3), recipe).burden
    assert burden.count_interval is not None
    assert burden.volume_ml_interval is not None
    assert burden.count_interval.level == 0.9
    assert burden.count_interval.lower < burden.count.value < burden.count_interval.upper
    assert burden.volume_ml_interval.lower < burden.volume_ml.value < burden.volume_ml_interval.upper


def test_a_scan_without_lesions_is_an_answer_too() -> None:
    segmentation = segment(scan_of(head(spots=())), Bright(3), RECIPE)
    assert not segmentation.mask.any()
    assert (segmentation.lesions, segmentation.burden.count.value, segmentation.structural) == ((), 0, 0.0)


def test_a_network_that_says_nan_fails_its_scan() -> None:
    class Broken(Bright):
        def difference(self, member: int, window: np.ndarray) -> np.ndarray:
            return super().difference(member, window) * np.float32(math.nan if member else 1)

    with pytest.raises(NotFinite, match="member 1"):
        segment(scan_of(), Broken(2), RECIPE)


@pytest.mark.parametrize("members", [1, 5])
def test_memory_stays_within_a_few_volumes(members: int) -> None:
    values = np.zeros((182, 218, 182), np.float32)
    values[30:150, 30:190, 30:130] = np.random.default_rng(0).standard_normal((120, 160, 100)) + 10
    content = {"flair": packed(values, zipped=False)}
    recipe = Recipe(threshold=0.4, voxel_trust=0.01)
    volume, window = values.nbytes, 4 * 96**3
    del values

    class Quiet(Bright):
        def difference(self, member: int, window: np.ndarray) -> np.ndarray:
            return np.asarray(4 * window[0] - 6, np.float32)

    prepared = prepare(read_scan(content, ("flair",)), recipe)
    tracemalloc.start()
    try:
        finished(work(prepared, Quiet(members), recipe))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= memory(prepared.grid, members) + 3 * window
    assert peak + 1.5 * volume <= 1.5 * (members + 3) * volume + 3 * window, "with the prepared image and the brain"
