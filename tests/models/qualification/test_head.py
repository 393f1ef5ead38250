"""Whole calibrations: tables, quantiles, knots, intervals, and measures that are dropped."""

import math

import msgspec
import numpy as np
import pytest

from models.calibration import (
    Calibration,
    IntervalTable,
    Measured,
    RetentionTable,
    expected_error,
    interval_table,
    reference_quantiles,
    retention_table,
)
from models.qualification.head import HeadVerdict, judge_head
from models.qualification.intervals import Means, carried_intervals, judge_means
from models.qualification.measure import mapped
from models.qualification.replayed import Floats, Replayed, replayed

RNG = np.random.default_rng(11)
CALIBRATED = np.exp(RNG.normal(size=5000))
SCORES = np.exp(RNG.normal(size=4000)).astype(np.float32)
KNOWLEDGE = RNG.random(4000).astype(np.float32)
MEAN = 10 * RNG.normal(size=4000)
ERRORS = CALIBRATED * RNG.chisquare(1, 5000)


def calibration() -> Calibration:
    return Calibration(
        retention=retention_table("tvar", CALIBRATED),
        reference={"tvar": reference_quantiles(CALIBRATED), "varm": reference_quantiles(KNOWLEDGE)},
        intervals=interval_table(np.zeros(5000), CALIBRATED, np.sqrt(ERRORS)),
        expected_error=expected_error("tvar", CALIBRATED, ERRORS),
        others={"varm": Measured(retention_table("varm", KNOWLEDGE), expected_error("varm", KNOWLEDGE, ERRORS[:4000]))},
    )


def judged(scores: Floats, knowledge: Floats | None = None, mean: Floats | None = None) -> HeadVerdict:
    varm = np.stack([KNOWLEDGE] * 3) if knowledge is None else knowledge
    means = np.stack([MEAN] * 3) if mean is None else mean
    replays = {"tvar": replayed(SCORES, np.stack([scores] * 3)), "varm": replayed(KNOWLEDGE, varm)}
    tvar = replays["tvar"]
    return judge_head(calibration(), replays, Means(MEAN, tvar.reference, means, tvar.scores))


def test_equal_scores_give_back_the_same_calibration() -> None:
    result = judged(SCORES)
    assert (result.verdict, result.reason) == ("carried", "")
    assert result.calibration == calibration()


def test_a_carried_table_is_guarded_at_every_level_and_says_what_it_may_lose() -> None:
    result = judged(SCORES * (1 + 1e-5 * np.random.default_rng(1).normal(size=4000)))
    assert result.verdict == "carried"
    assert result.calibration is not None
    before, after = calibration().retention, result.calibration.retention
    assert after.levels == before.levels
    assert all(new < old for new, old in zip(after.thresholds, before.thresholds, strict=True))
    assert all(new > 0.999 * old for new, old in zip(after.thresholds, before.thresholds, strict=True))
    assert 0 < after.lost < 0.002
    assert after.band() == before.band() + after.lost
    assert result.calibration.reference == calibration().reference


def test_a_doubled_score_is_mapped_everywhere() -> None:
    result = judged(2 * SCORES)
    assert (result.verdict, result.of("tvar"), result.of("varm")) == ("mapped", "mapped", "carried")
    assert result.calibration is not None
    old, new = calibration(), result.calibration
    ratios = np.array(new.retention.thresholds) / np.array(old.retention.thresholds)
    assert ((ratios <= 2 + 1e-6) & (ratios > 1.7)).all()  # down to the next replayed score
    assert np.allclose(new.reference["tvar"][1:-1], 2 * np.array(old.reference["tvar"][1:-1]), rtol=1e-3)
    assert old.expected_error is not None
    assert new.expected_error is not None
    assert np.allclose(new.expected_error.knots[:-1], 2 * np.array(old.expected_error.knots[:-1]), rtol=1e-3)
    assert new.expected_error.values == old.expected_error.values
    assert old.intervals is not None
    assert new.intervals is not None
    assert np.allclose(new.intervals.multipliers, np.array(old.intervals.multipliers) / math.sqrt(2), rtol=1e-6)
    assert new.reference["varm"] == old.reference["varm"]


def test_thresholds_ascend_where_levels_are_carried_in_different_ways() -> None:
    noisy = SCORES + np.where(SCORES < 1, 4e-3, 1e-6) * np.random.default_rng(2).normal(size=4000)
    result = judged(noisy.clip(1e-6))
    assert result.verdict == "mapped"
    kinds = {threshold.verdict for threshold in result.measures["tvar"].thresholds}
    assert kinds == {"carried", "mapped"}
    assert "of 37 thresholds" in result.reason
    assert result.calibration is not None
    assert (np.diff(result.calibration.retention.thresholds) >= 0).all()


def test_another_measure_that_is_refused_is_dropped() -> None:
    result = judged(SCORES, knowledge=np.stack([KNOWLEDGE, KNOWLEDGE, KNOWLEDGE[::-1]]))
    assert (result.verdict, result.measures["varm"].verdict) == ("carried", "refused")
    assert result.calibration is not None
    assert result.calibration.others == {}
    assert list(result.calibration.reference) == ["tvar"]


def test_the_own_measure_refuses_the_head() -> None:
    bad = SCORES.copy()
    bad[:3] = np.nan
    result = judged(bad)
    assert (result.verdict, result.calibration) == ("refused", None)
    assert "3 of 4000 units have a score that is not finite" in result.reason


@pytest.mark.parametrize(("shift", "verdict"), [(0.001, "carried"), (0.05, "mapped"), (0.5, "refused")])
def test_means_that_move_are_as_bad_as_scores(shift: float, verdict: str) -> None:
    result = judged(SCORES, mean=np.stack([MEAN, MEAN, MEAN + shift * np.sqrt(SCORES)]))
    assert (result.measures["tvar"].verdict, result.verdict) == ("carried", verdict)
    assert (result.calibration is None) is (verdict == "refused")
    assert ("means move by" in result.reason) is (verdict != "carried")


def test_a_head_without_scores_of_its_own_measure_is_an_error() -> None:
    with pytest.raises(ValueError, match="measure 'tvar' are missing; replayed were varm"):
        judge_head(calibration(), {"varm": replayed(KNOWLEDGE, KNOWLEDGE)})


def test_multipliers_contain_the_calibrated_interval() -> None:
    """All means move by 0.2, all standard deviations from 2 to 1.6: q' = (2 q + 0.2) / 1.6."""
    table = IntervalTable(500, (0.5, 0.9), (0.7, 1.7))
    means = Means(np.zeros(400), np.full(400, 4.0), np.full((1, 400), -0.2), np.full((1, 400), 1.6**2))
    intervals = carried_intervals(table, means)
    assert intervals is not None
    assert intervals.multipliers == pytest.approx(((1.4 + 0.2) / 1.6, (3.4 + 0.2) / 1.6))


def test_the_quantile_of_widening_leaves_out_one_in_a_thousand() -> None:
    moved = np.zeros((1, 4000))
    moved[0, :3] = 50.0
    table = IntervalTable(500, (0.9,), (1.7,))
    intervals = carried_intervals(table, Means(np.zeros(4000), np.ones(4000), moved, np.ones((1, 4000))))
    assert intervals is not None
    assert intervals.multipliers == pytest.approx((1.7,))  # order statistic 3997 of 4000
    moved[0, 3] = 50.0
    assert carried_intervals(table, Means(np.zeros(4000), np.ones(4000), moved, np.ones((1, 4000)))) is None


def test_a_variance_of_zero_leaves_intervals_out_and_means_are_judged() -> None:
    none = np.zeros((1, 100))
    means = Means(np.zeros(100), np.ones(100), none, none)
    assert carried_intervals(IntervalTable(50, (0.5,), (0.7,)), means) is None
    assert judge_means(means).verdict == "carried"
    infinite = judge_means(Means(np.zeros(100), np.ones(100), none + np.inf, none + 1))
    assert (infinite.verdict, infinite.reason) == (
        "refused",
        "100 of 100 units have a mean or variance that is not finite",
    )


def test_mapping_keeps_differences_beyond_the_ends() -> None:
    replay = Replayed(np.arange(1, 5, dtype=np.float32), np.array([[10, 20, 30, 40]], np.float32))
    assert mapped(replay, np.array([0.0, 1.0, 2.5, 4.0, 6.0])).tolist() == [9.0, 10.0, 25.0, 40.0, 42.0]


def test_tables_say_lost_only_where_something_was() -> None:
    table = retention_table("u", CALIBRATED)
    assert b"lost" not in msgspec.json.encode(table)
    carried = msgspec.structs.replace(table, lost=0.001)
    assert msgspec.json.decode(msgspec.json.encode(carried), type=RetentionTable) == carried
