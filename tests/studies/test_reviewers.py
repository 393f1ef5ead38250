"""The study of reviewers' statistics: truths of its worlds, its statements, and its page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.agreement.bounds import Bounds
from studies import reviewers
from studies.reviewer_worlds import RATES, Case, Classes, cases, spread
from studies.reviewers import Result, checks, document, run

GOOD = Result("error of a label", "alike", 50, 0.0, "exact", 0.95, 0.02, 0.5, 0.0)
KNOWN = replace(GOOD, known=0.5, width=0.3)


def test_different_reviewers_have_the_mean_error() -> None:
    assert np.mean(RATES) == 1
    assert spread(0.08, different=True).mean() == pytest.approx(spread(0.08, different=False).mean())


@pytest.mark.parametrize("figure", ["Cohen's kappa", "Krippendorff's alpha of classes", "mean squared difference"])
def test_truth_of_a_world_is_the_mean_of_many_labels(figure: str) -> None:
    """With many pairs the estimate is the truth, which is computed from error rates."""
    of_figure = [case for case in cases() if case.figure == figure and case.pairs == 1000]
    assert len(of_figure) >= 2
    rng = np.random.default_rng(0)
    for case in of_figure:
        assert np.mean([case.draw(rng).mean for _ in range(60)]) == pytest.approx(case.truth, rel=0.02)


def test_agreement_of_reviewers_without_errors_is_perfect() -> None:
    kappa, alpha = Classes(3, np.zeros(4), np.array([0.5, 0.3, 0.2])).agreement()
    assert (kappa, alpha) == pytest.approx((1, 1))
    kappa, alpha = Classes(2, np.full(4, 0.5), np.array([0.5, 0.5])).agreement()
    assert (kappa, alpha) == pytest.approx((0, 0))


def test_a_run_counts_what_lies_outside() -> None:
    ends = iter([Bounds(1.0, 0.5, 2.0), Bounds(1.0, 1.5, 2.0), Bounds(1.0, 0.0, 0.5), Bounds(1.0, 0.0, 1.0)])
    result = run(Case("figure", "world", 10, 0.0, 1.0, lambda rng: next(ends)), 4, 0)
    assert (result.coverage, result.above) == (0.5, 0.25)


def test_statements_fail_where_intervals_do() -> None:
    assert [statement.holds for statement in checks([GOOD, KNOWN])] == [True, True]
    for coverage in (0.92, 0.98):
        assert not checks([replace(GOOD, coverage=coverage), KNOWN])[0].holds
    assert not checks([replace(GOOD, kind="range", coverage=0.92), KNOWN])[1].holds
    assert checks([replace(GOOD, kind="range", coverage=0.99), KNOWN])[1].holds
    assert not checks([GOOD, replace(KNOWN, width=0.6)])[-1].holds
    shown = replace(GOOD, kind="shown", world="biased", coverage=0.1)
    assert [statement.holds for statement in checks([GOOD, KNOWN, shown])] == [True, True]


def test_the_page_marks_what_fails(tmp_path: Path) -> None:
    results = [GOOD, KNOWN, replace(GOOD, pairs=200, coverage=0.9)]
    page = document(results, 10)
    assert "| alike | 0 | 95.0% | **90.0%** | 0.50 | 0.50 | +0.0% |" in page
    assert "**no**" in page
    reviewers.draw(results, tmp_path / "reviewers.png")
    assert (tmp_path / "reviewers.png").stat().st_size > 10_000


def mean_coverage(pairs: int, runs: int, figures: tuple[str, ...]) -> float:
    chosen = [
        case
        for case in cases()
        if case.pairs == pairs
        and case.kind == "exact"
        and case.figure.startswith(figures)
        and "heavy" not in case.world
    ]
    assert len(chosen) >= 4
    return float(np.mean([run(case, runs, 1).coverage for case in chosen]))


def test_intervals_hold_on_average() -> None:
    assert mean_coverage(200, 20, ("mean squared", "intraclass", "error of the system, squares")) >= 0.88


@pytest.mark.slow
def test_intervals_hold_on_average_over_many_draws() -> None:
    figures = ("Cohen", "Krippendorff", "intraclass", "mean squared", "error of a label", "error of the system")
    assert mean_coverage(200, 200, figures) == pytest.approx(0.95, abs=0.01)
