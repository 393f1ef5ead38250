"""The rule at one threshold: known flips, guard bands, gaps, mapping, refusal, and what cannot be decided."""

import math

import numpy as np
import pytest

from models.qualification.measure import correlation
from models.qualification.replayed import Floats, Replayed, lower_limit, replayed, upper_limit
from models.qualification.threshold import COUNTED, CarriedThreshold, carry


def rule(reference: Floats, scores: Floats, threshold: float) -> CarriedThreshold:
    replay = replayed(np.asarray(reference), np.asarray(scores))
    return carry(replay, threshold, correlation(replay))


def grid(n: int = 4000) -> Floats:
    """Scores 0.5, 1.5, ... that float32 holds exactly."""
    return np.arange(n) + 0.5


def test_equal_scores_carry_the_threshold_as_it_is() -> None:
    result = rule(grid(), np.stack([grid()] * 3), 3600.123456789)
    assert (result.verdict, result.carried, result.guard, result.flips) == ("carried", 3600.123456789, 0, 0)
    assert result.newly_limit == pytest.approx(1 - 0.05 ** (1 / 4000))
    assert result.lost_limit == result.newly_limit


def test_known_flips_are_counted_at_the_worst_batch_size() -> None:
    """Three units cross at batch 7, one at batch 64; the others move by a quarter of what separates them."""
    first, second, third = grid(), grid() + 0.25, grid().copy()
    second[3600] -= 1  # deferred units that would be answered
    second[3601] -= 2
    second[3599] += 1  # an answered one that would be deferred
    third[3600] -= 1
    result = rule(grid(), np.stack([first, second, third]), 3600.0)
    assert result.flips == 3 / 4000
    assert result.verdict == "carried"
    assert result.guard >= 1.75  # the largest shift nearby
    assert (result.newly, result.carried <= 3598.25) == (0, True)
    assert result.lost == 2 + (result.guard > 2.25)


def test_the_guard_is_the_quantile_of_shifts_near_the_threshold() -> None:
    """Of 40,000 units 4,000 are near: the order statistic ceil(4001 x 0.999) = 3997 of their shifts."""
    reference = grid(40_000) * 100
    shift = np.zeros(40_000)
    near = np.arange(18_000, 22_000)
    shift[near] = np.random.default_rng(3).permutation(np.arange(4000)) / 64.0
    shift[:18_000] = 90  # far away
    result = rule(reference, reference - shift, 2_000_000.0)
    assert result.verdict == "carried"
    assert result.guard == pytest.approx(3996 / 64, abs=0.2)  # float32 at two millions has steps of 1/8


def test_more_than_a_thousandth_of_flips_is_mapped_to_the_same_count() -> None:
    result = rule(grid(), 2 * grid() + 1, 3600.0)
    assert result.verdict == "mapped"
    assert result.carried == 2 * 3599.5 + 1
    assert (result.newly, result.lost, result.answered, result.guard) == (0, 0, 3600, 0)
    assert "of units flip at the threshold, more than 0.1%" in result.reason


def test_mapping_takes_the_strictest_batch_size_and_leaves_ties_out() -> None:
    tied = grid()
    tied[3590:3610] = 3600.0  # twenty units around the threshold tie
    result = rule(grid(), np.stack([2 * grid(), 2 * tied]), 3600.0)
    assert result.verdict == "mapped"
    assert result.carried == 2 * 3589.5
    assert result.newly == 0


def test_disorder_is_refused_with_the_number() -> None:
    rng = np.random.default_rng(1)
    result = rule(grid(), rng.permutation(grid()), 3600.0)
    assert (result.verdict, result.carried, result.answered) == ("refused", -math.inf, 0)
    assert "rank correlation 0.0" in result.reason


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["reference", "scores"])
def test_scores_that_are_not_finite_are_refused_with_their_count(bad: float, where: str) -> None:
    arrays = {"reference": grid(), "scores": np.stack([grid()] * 3)}
    arrays[where][..., [5, 17]] = bad
    result = rule(arrays["reference"], arrays["scores"], 3600.0)
    assert result.verdict == "refused"
    assert "2 of 4000 units have a score that is not finite" in result.reason


def test_scores_beyond_float32_are_not_finite() -> None:
    result = rule(np.append(grid(), 1e300), np.append(grid(), 1e300), 3600.0)
    assert "1 of 4001 units" in result.reason


@pytest.mark.parametrize("n", [1, 2, 19])
def test_too_few_units_are_refused(n: int) -> None:
    assert rule(grid(n), grid(n), 0.7).reason == f"{n} units were replayed: at least 20 are needed"


def test_24_units_that_hardly_move_are_carried_by_an_estimated_limit() -> None:
    result = rule(grid(24), grid(24) + 1e-6 * np.random.default_rng(2).normal(size=(3, 24)), 21.0)
    assert (result.verdict, result.counted) == ("carried", False)
    assert 0 < result.flips_limit < 1e-6  # density at most about 2/24 x E of 1e-6
    assert result.newly_limit == pytest.approx(0.117, abs=0.001)  # what is promised rests on a count of 0 of 24


def test_24_units_that_move_by_a_hundredth_of_their_distance_are_not() -> None:
    result = rule(grid(24), grid(24) + 0.03 * np.random.default_rng(2).normal(size=(3, 24)), 21.0)
    assert (result.flips, result.verdict) == (0, "mapped")  # nothing flips, but one in a thousand may
    assert "may flip (upper 95 % limit)" in result.reason


def test_the_estimated_limit_is_above_the_truth() -> None:
    """300 units of a uniform law, normal shifts: flips are E|shift| of all units; the limit fails in at most 5 %."""
    size, low = 1e-3, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.random(300)
        result = rule(scores, scores + size * rng.normal(size=300), 0.8)
        low += result.flips_limit < size * math.sqrt(2 / math.pi)
    assert low <= 10


def test_limits_are_those_of_the_in_domain_units() -> None:
    """Two thirds of 6000 units: the other third, which no promise is about, may hide what the limits are of."""
    rng = np.random.default_rng(5)
    scores = rng.random(6000)
    new = scores * (1 + 1e-4 * rng.normal(size=6000))
    all_of_them, part = (carry(replayed(scores, new, share), 0.7, 1.0) for share in (1.0, 0.65))
    assert (part.carried, part.newly, part.lost) == (all_of_them.carried, all_of_them.newly, all_of_them.lost)
    assert part.newly_limit == pytest.approx(all_of_them.newly_limit / 0.65)
    assert part.lost_limit == pytest.approx(all_of_them.lost_limit / 0.65)
    newly, lost, answered = all_of_them.joint
    assert part.joint == pytest.approx((newly / 0.65, lost / 0.65, (answered - 0.35) / 0.65))


def test_the_prediction_is_density_times_mean_shift() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(4000)
    result = rule(scores, scores + 1e-3 * rng.normal(size=4000), 0.7)
    assert result.predicted == pytest.approx(1e-3 * math.sqrt(2 / math.pi), rel=0.15)


def test_few_distinct_scores_keep_those_at_the_threshold() -> None:
    """The threshold is a score that a quarter of the units share: rounding must not defer half of them."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 4, 4000) / 4
    noisy = scores * (1 + 1e-6 * rng.normal(size=(3, 4000)))
    assert ((noisy <= 0.5) != (scores <= 0.5)).mean() > 0.1
    result = rule(scores, noisy, 0.5)
    assert (result.verdict, result.flips, result.newly, result.lost) == ("carried", 0, 0, 0)
    assert 0.5 < result.carried < 0.51
    assert result.guard < 0


def test_a_threshold_within_a_gap_stays_in_it() -> None:
    rng = np.random.default_rng(6)
    scores = rng.integers(0, 4, 4000) / 4
    result = rule(scores, scores * (1 + 1e-6 * rng.normal(size=4000)), 0.6)
    assert 0.5 < result.carried <= 0.6
    assert (result.lost, result.newly) == (0, 0)


def test_a_guard_that_would_defer_a_whole_value_is_not_taken() -> None:
    """All scores fall by a fifth: none flips at 0.5, but a guard of a tenth and more would defer all that have 0.5."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 4, 4000) / 4
    result = rule(scores, scores * np.where(scores == 0.5, 0.8 + 0.02 * (rng.random(4000) - 0.5), 0.8), 0.5)
    assert (result.flips, result.verdict, result.lost) == (0, "mapped", 0)
    assert 0.4 < result.carried < 0.405
    assert "would defer" in result.reason


def test_constant_scores_are_carried_where_they_stay_and_refused_where_not() -> None:
    constant = np.full(4000, 0.25)
    stays = rule(constant, constant * (1 + 1e-7), 0.25)
    assert (stays.verdict, stays.lost) == ("carried", 0)
    spread = rule(constant, constant + np.random.default_rng(8).normal(size=4000), 0.5)
    assert spread.verdict == "refused"
    assert "all tied" in spread.reason
    assert rule(constant, constant, 0.25).verdict == "carried"


@pytest.mark.parametrize("threshold", [-50.0, 9000.0])
def test_thresholds_outside_the_replayed_range_are_guarded_by_what_is_nearest(threshold: float) -> None:
    shift = np.where(np.arange(4000) % 2, 0.125, -0.0625)
    result = rule(grid(), grid() + shift, threshold)
    assert (result.verdict, result.newly) == ("carried", 0)
    assert 0.125 <= result.guard < 0.5
    assert result.newly_limit == pytest.approx(1 - 0.05 ** (1 / 4000))


def test_mapping_outside_the_range_answers_nothing_that_was_not_seen() -> None:
    above = rule(grid(), grid() + 6000, 9000.0)  # a quarter now lies above it
    assert (above.verdict, above.carried) == ("mapped", 9999.5)
    below = rule(grid(), grid() - 3000, -50.0)  # three quarters now lie below it
    assert (below.verdict, below.carried) == ("mapped", -math.inf)


@pytest.mark.parametrize("threshold", [math.inf, -math.inf])
def test_infinite_thresholds_stay(threshold: float) -> None:
    result = rule(grid(), grid() + 0.125, threshold)
    assert (result.verdict, result.carried) == ("carried", threshold)


def test_nan_is_no_threshold() -> None:
    with pytest.raises(ValueError, match="threshold is NaN"):
        rule(grid(), grid(), math.nan)


def test_wide_ranges_have_guards_of_their_own_size() -> None:
    """Scores over ten decades with relative noise: the guard is relative to the threshold, too."""
    rng = np.random.default_rng(9)
    scores = 10 ** rng.uniform(-5, 5, 4000)
    noisy = scores * (1 + 1e-5 * rng.normal(size=(3, 4000)))
    for threshold in (1e-4, 1.0, 1e4):
        result = rule(scores, noisy, threshold)
        assert result.verdict == "carried"
        assert 1e-5 < result.guard / threshold < 2e-4, threshold


def test_shapes_are_checked() -> None:
    for reference, scores in ((grid(3), grid(4)), (np.empty(0), np.empty((3, 0))), (grid(4), np.empty((0, 4)))):
        with pytest.raises(ValueError, match="must be"):
            replayed(reference, scores)


def test_limits_are_those_of_clopper_and_pearson() -> None:
    assert upper_limit(0, 4000) == pytest.approx(1 - 0.05 ** (1 / 4000))
    assert (upper_limit(5, 5), lower_limit(0, 9)) == (1.0, 0.0)
    assert lower_limit(4000, 4000) == pytest.approx(0.05 ** (1 / 4000))


def test_a_part_of_the_units_is_judged_as_such() -> None:
    whole = replayed(grid(), np.stack([grid()] * 2))
    part = whole.part(slice(0, 500))
    assert isinstance(part, Replayed)
    assert len(part) == 500
    assert carry(part, 300.0, 1.0).counted is (len(part) >= COUNTED)
