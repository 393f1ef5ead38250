"""Whole simulated scans: brains, lesions, images, truths; and what a site changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from simulators.lesion import anatomy, fields, lesions, raters, scan
from simulators.lesion.cohort import Entry
from simulators.lesion.fields import Float
from simulators.lesion.sites import SITES, Raters
from tests.models.lesion.simulator.brain import average, drawn

CHOSEN = (("site_a", "train"), ("site_e", "dev_out"), ("site_f", "eval_out"))


@pytest.fixture(params=CHOSEN, ids=lambda param: param[0])
def simulated(request: pytest.FixtureRequest) -> scan.Simulated:
    return drawn(*request.param)


@pytest.mark.long
def test_a_scan_has_the_form_of_the_official_files(simulated: scan.Simulated) -> None:
    for image in (simulated.flair, simulated.t1):
        assert image.shape == (144, 168, 144)
        assert image.dtype == np.float32
        assert np.isfinite(image).all()
        assert not image[~simulated.brain].any(), "exactly 0 outside the brain"
        assert (image[simulated.brain] != 0).mean() > 0.99
    assert simulated.truth.any()
    assert not (simulated.truth & ~simulated.brain).any()


def test_the_brain_has_a_brain_s_size_and_does_not_touch_the_border_of_the_grid(simulated: scan.Simulated) -> None:
    assert 0.95e6 < simulated.brain.sum() < 1.55e6, "mm³"
    for axis in range(3):
        for end in (0, -1):
            face = np.take(simulated.brain, end, axis)
            assert face.mean() < 0.02


def test_lesions_are_brighter_than_what_surrounds_them_on_flair_and_not_on_t1(simulated: scan.Simulated) -> None:
    ring = ndimage.binary_dilation(simulated.truth, iterations=3) & ~ndimage.binary_dilation(simulated.truth)
    ring &= simulated.brain
    spread = simulated.flair[simulated.brain].std()
    assert simulated.flair[simulated.truth].mean() > simulated.flair[ring].mean() + 0.3 * spread
    assert simulated.t1[simulated.truth].mean() < simulated.t1[simulated.brain].mean() + simulated.t1.std() * 0.5


def test_lesions_cannot_be_cut_out_by_a_threshold(simulated: scan.Simulated) -> None:
    """Bright cortex, spots and bands are no lesions: even the best threshold is far from the truth."""
    values = simulated.flair[simulated.brain]
    truth = simulated.truth[simulated.brain]
    order = np.argsort(-values)
    hits = np.cumsum(truth[order])
    dice = 2 * hits / (np.arange(1, len(values) + 1) + truth.sum())
    assert dice.max() < 0.8


@pytest.mark.long
def test_the_same_entry_gives_the_same_scan_and_another_one_another() -> None:
    again = scan.draw(Entry("site_a", "train", 0).rng(0), average(), SITES["site_a"])
    np.testing.assert_array_equal(again.flair, drawn("site_a", "train").flair)
    np.testing.assert_array_equal(again.truth, drawn("site_a", "train").truth)
    entries = [Entry("site_a", "train", 0), Entry("site_b", "train", 0), Entry("site_a", "dev_in", 0)]
    entries.append(Entry("site_a", "train", 1))
    assert len({float(entry.rng(seed).random()) for seed in (0, 1) for entry in entries}) == 8


@pytest.mark.long
def test_tissue_shares_of_a_patient_sum_to_one_and_age_widens_ventricles() -> None:
    young, old = (anatomy.draw(np.random.default_rng(3), average(), age) for age in (0.0, 1.0))
    for patient in (young, old):
        np.testing.assert_allclose(patient.grey + patient.white + patient.fluid, 1, atol=1e-5)
        assert patient.grey.min() >= 0
        assert patient.fluid.min() >= -1e-6
    assert (old.ventricle < 0).sum() > 1.4 * (young.ventricle < 0).sum()
    assert old.fluid[old.hull > 0.5].mean() > young.fluid[young.hull > 0.5].mean()


def test_loads_of_a_site_have_its_mean_and_counts_grow_with_the_load() -> None:
    rng = np.random.default_rng(4)
    for site in SITES.values():
        carried = [scan.burden(rng, site) for _ in range(4000)]
        volumes = np.array([burden.volume for burden in carried])
        assert volumes.min() >= 0.6
        assert volumes.max() <= 50
        assert volumes.mean() == pytest.approx(site.load[0], rel=0.12)
        assert np.corrcoef(np.log(volumes), np.log([burden.count for burden in carried]))[0, 1] > 0.5


def test_drawn_lesions_lie_in_white_matter_and_come_near_their_burden() -> None:
    patient = anatomy.draw(np.random.default_rng(5), average(), 0.4)
    for volume, count in ((1.0, 20), (12.0, 80)):
        drawing = lesions.draw(np.random.default_rng(6), patient, lesions.Burden(volume, count))
        assert 0.4 * volume < drawing.share.sum() / 1000 < 1.8 * volume
        assert drawing.share.max() <= 1
        assert float((drawing.share * patient.fluid).sum()) < 0.05 * float(drawing.share.sum())
        assert ((drawing.brightness > 0) == (drawing.share > 0)).all()


def block(height: float) -> Float:
    """A large lesion and a point, on a small grid."""
    share = np.zeros((40, 40, 40), np.float32)
    share[5:20, 5:20, 5:20] = height
    share[32, 32, 32] = height
    return fields.blur(share, 1.0)


def votes(share: Float, team: Raters, seed: int) -> int:
    brain = np.ones(share.shape, bool)
    return int(raters.consensus(np.random.default_rng(seed), share, np.ones_like(share), brain, team).sum())


def test_a_stricter_team_draws_less_and_points_are_overlooked() -> None:
    team = replace(SITES["site_a"].raters, disagreement=0.0)
    share = block(1.0)
    mask = raters.consensus(np.random.default_rng(7), share, np.ones_like(share), np.ones(share.shape, bool), team)
    assert mask[12, 12, 12]
    assert not mask[28:, 28:, 28:].any()
    assert 0 < votes(share, replace(team, border=0.8), 7) < mask.sum() < votes(share, replace(team, border=0.3), 7)
    assert votes(0 * share, team, 7) == 0


def test_two_raters_must_agree() -> None:
    alone = replace(SITES["site_f"].raters, count=1, disagreement=0.3)
    single, both = (
        np.mean([votes(block(0.6), replace(alone, count=count), seed) for seed in range(30)]) for count in (1, 2)
    )
    assert 0 < both < 0.8 * single


@pytest.mark.slow
def test_sizes_of_lesions_follow_those_of_real_masks(test_data: Path) -> None:
    """Site e has the raters and loads of the real cohort: quantiles of sizes agree within a factor of 3.5."""
    import nibabel

    real = [
        size
        for path in sorted((test_data / "lesion" / "lesion_masks_mni").glob("*.nii.gz"))
        for size in _sizes(np.asanyarray(nibabel.load(path).dataobj) > 0)
    ]
    if not real:
        pytest.skip("no real lesion masks in the test data")
    ours = _sizes(drawn("site_e", "dev_out").truth)
    shares = (0.5, 0.75, 0.9, 0.99)
    ratio = np.quantile(ours, shares) / np.quantile(real, shares)
    assert (ratio > 1 / 3.5).all()
    assert (ratio < 3.5).all()


def _sizes(mask: np.ndarray) -> list[int]:
    labels, count = ndimage.label(mask)
    return np.bincount(labels.ravel(), minlength=count + 1)[1:].tolist()
