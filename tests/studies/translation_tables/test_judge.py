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
    lines = kept()
    lines.save(tmp_path / "deep" / "set.npz")
    again = load(tmp_path / "deep" / "set.npz")
    assert (again.pairs, again.texts, again.given) == (lines.pairs, lines.texts, 42)
    assert again.doubts == lines.doubts
    for name in ("score", "values", "gleus", "plain", "whole"):
        np.testing.assert_array_equal(getattr(again, name), getattr(lines, name))


def test_parts_go_together_and_apart() -> None:
    first, other = kept(), kept(20, seed=1)
    both = joined([first, other])
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
    scored = ScoredLines(kept())
    likelihood = np.exp(scored.kept.score.astype(np.float64))
    weights = likelihood / likelihood.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scored.errors, 100 - (weights * scored.kept.gleus).sum(axis=1))
    assert scored.plain_egleu == pytest.approx((100 - scored.errors.mean()) / 2)


def test_figures_of_a_row() -> None:
    scored = ScoredLines(kept())
    figures = judge.score(scored, scored, NONE)
    assert figures.egleu == pytest.approx(100 - scored.errors.mean())
    assert figures.maxgleu == pytest.approx(scored.kept.gleus.max(axis=1).mean())
    assert 0 < figures.r_auc < scored.errors.mean() / 2, "uncertainty ranks better than chance"
    assert 0 < figures.bleu <= 100
    assert figures.chrf > 80, "the first hypothesis is the reference with a number behind it"
    assert np.isnan(figures.roc_auc)


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
    assert error[-1] == pytest.approx(np.mean([member.errors.mean() for member in members]))
    assert f1.max() <= 1
    random, best = judge.bounds(members[0])
    assert (best <= random + 1e-9).all()


def test_the_policy_keeps_what_it_promises() -> None:
    calibration, held = kept(2000), ScoredLines(kept(1000, seed=1))
    policy = judge.policy(calibration)
    assert (policy.mode, policy.measure) == ("target_retention", "scr_pe")
    assert policy.calibration_units == int(calibration.whole.sum())
    figures = judge.decided(held, policy)
    assert figures.deferred == pytest.approx(1 - RETENTION, abs=0.03)
    assert figures.deferred_error > figures.error > figures.answered_error
    mean = figures.deferred * figures.deferred_error + (1 - figures.deferred) * figures.answered_error
    assert mean == pytest.approx(figures.error)
    assert figures.left_out == 2
    assert figures.unfamiliar < 0.05
    half = judge.decided(held, judge.policy(calibration, 0.5))
    assert half.deferred == pytest.approx(0.5, abs=0.05)
    assert half.answered_error < figures.answered_error


def test_held_out_lines_are_weighed_as_those_that_calibrate() -> None:
    calibration = kept(2000)
    policy = judge.policy(calibration)
    names = {pair.domain for pair in calibration.pairs}
    held = {name: ScoredLines(kept(1000, seed=seed)) for seed, name in enumerate(sorted(names), 1)}
    assert judge.answered_as_calibrated(held, calibration, policy) == pytest.approx(RETENTION, abs=0.03)
    assert judge.answered_as_calibrated({"another": held[min(names)]}, calibration, policy) == 0


def test_a_row_may_leave_out_what_is_near() -> None:
    lines = kept()
    near = frozenset({lines.pairs[0].english, lines.pairs[7].english})
    every = Row("all", "all", ("a",)).kept(lambda name: lines, near)
    apart = Row("apart", "apart", ("a",), apart=True).kept(lambda name: lines, near)
    assert (len(every), len(apart)) == (40, 38)


def test_only_what_was_trained_on_is_not_shifted() -> None:
    mask = shifted(BY_NAME[FULL], lambda name: kept(2))
    assert mask.tolist() == [False] * 8 + [True] * 4
    assert len({row.name for row in ROWS}) == len(ROWS)
