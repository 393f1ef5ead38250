"""Figures of rows, on made-up translations whose errors grow with their uncertainty."""

from pathlib import Path

import numpy as np
import pytest

from models.uncertainty.sequences import SCORES
from studies.translation_tables import judge
from studies.translation_tables.judge import BY_NAME, FULL, ROWS, Row, ScoredLines, shifted
from studies.translation_tables.kept import joined, load
from studies.translation_tables.plan import RETENTION
from tests.studies.translation_tables.made import kept

NONE = np.zeros(40, bool)


def test_what_is_kept_is_what_was_saved(tmp_path: Path) -> None:
    one = kept()
    one.save(tmp_path / "deep" / "set.npz")
    again = load(tmp_path / "deep" / "set.npz")
    assert (again.pairs, again.texts, again.given) == (one.pairs, one.texts, 42)
    assert again.doubts == one.doubts
    for name in ("score", "values", "gleus", "plain", "whole"):
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))


def test_parts_go_together_and_apart() -> None:
    one, other = kept(), kept(20, seed=1)
    both = joined([one, other])
    assert (len(both), both.given) == (60, 64)
    last = both.take(np.arange(60) >= 40)
    assert last.pairs == other.pairs
    np.testing.assert_array_equal(last.values, other.values)
    assert last.translations[3].texts == other.texts[3]


def test_measures_are_those_of_the_models() -> None:
    several, alone = ScoredLines(kept()), ScoredLines(kept(single=True))
    assert (several.own, alone.own) == ("scr_pe", "nll")
    np.testing.assert_allclose(several.ranks(), alone.ranks(), rtol=1e-6)
    assert several.kept.predictive.hypothesis_scores is not None
    assert alone.kept.predictive.hypothesis_scores is None


def test_errors_are_weighted_by_confidence() -> None:
    one = ScoredLines(kept())
    likelihood = np.exp(one.kept.score.astype(np.float64))
    weights = likelihood / likelihood.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(one.errors, 100 - (weights * one.kept.gleus).sum(axis=1))
    assert one.plain_egleu == pytest.approx((100 - one.errors.mean()) / 2)


def test_figures_of_a_row() -> None:
    one = ScoredLines(kept())
    found = judge.score(one, one, NONE)
    assert found.egleu == pytest.approx(100 - one.errors.mean())
    assert found.maxgleu == pytest.approx(one.kept.gleus.max(axis=1).mean())
    assert 0 < found.r_auc < one.errors.mean() / 2, "uncertainty ranks better than chance"
    assert 0 < found.bleu <= 100
    assert found.chrf > 80, "the first hypothesis is the reference with a number behind it"
    assert np.isnan(found.roc_auc)


def test_shift_is_told_from_what_is_held_out() -> None:
    held, away = ScoredLines(kept()), ScoredLines(kept(20, seed=1))
    away.kept.values[SCORES.index("scr_pe")] += 5
    assert judge.told(away, held, np.ones(20, bool)) == 1
    both = ScoredLines(joined([held.kept, away.kept]))
    assert judge.told(both, held, np.arange(60) >= 40) == 1
    assert judge.told(away, held, np.ones(20, bool), "mi") < 1


def test_curves_end_in_the_mean_error() -> None:
    members = [ScoredLines(kept(seed=seed, single=True)) for seed in (1, 2)]
    error, f1 = judge.curves(members)
    assert error[0] == 0
    assert error[-1] == pytest.approx(np.mean([one.errors.mean() for one in members]))
    assert f1.max() <= 1
    random, best = judge.bounds(members[0])
    assert (best <= random + 1e-9).all()


def test_the_policy_keeps_what_it_promises() -> None:
    calibration, held = kept(2000), ScoredLines(kept(1000, seed=1))
    policy = judge.policy(calibration)
    assert (policy.mode, policy.measure) == ("target_retention", "scr_pe")
    assert policy.calibration_units == int(calibration.whole.sum())
    found = judge.decided(held, policy)
    assert found.deferred == pytest.approx(1 - RETENTION, abs=0.03)
    assert found.deferred_error > found.error > found.answered_error
    mean = found.deferred * found.deferred_error + (1 - found.deferred) * found.answered_error
    assert mean == pytest.approx(found.error)
    assert found.left_out == 2
    assert found.unfamiliar < 0.05
    half = judge.decided(held, judge.policy(calibration, 0.5))
    assert half.deferred == pytest.approx(0.5, abs=0.05)
    assert half.answered_error < found.answered_error


def test_held_out_lines_are_weighed_as_those_that_calibrate() -> None:
    calibration = kept(2000)
    policy = judge.policy(calibration)
    names = {pair.domain for pair in calibration.pairs}
    held = {name: ScoredLines(kept(1000, seed=seed)) for seed, name in enumerate(sorted(names), 1)}
    assert judge.answered_as_calibrated(held, calibration, policy) == pytest.approx(RETENTION, abs=0.03)
    assert judge.answered_as_calibrated({"another": held[min(names)]}, calibration, policy) == 0


def test_a_row_may_leave_out_what_is_near() -> None:
    one = kept()
    near = frozenset({one.pairs[0].english, one.pairs[7].english})
    every = Row("all", "all", ("a",)).kept(lambda name: one, near)
    apart = Row("apart", "apart", ("a",), apart=True).kept(lambda name: one, near)
    assert (len(every), len(apart)) == (40, 38)


def test_only_what_was_trained_on_is_not_shifted() -> None:
    mask = shifted(BY_NAME[FULL], lambda name: kept(2))
    assert mask.tolist() == [False] * 8 + [True] * 4
    assert len({row.name for row in ROWS}) == len(ROWS)
