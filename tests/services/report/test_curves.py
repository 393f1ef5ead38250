"""Curves of the report: thin, with their ends, and the same as the figures in the tables."""

import math

import numpy as np
import pytest

from models.assessment import retention
from models.assessment.convention import OFFICIAL, PAPER
from models.evaluation.evaluate import evaluate
from services.report.curves import ANSWERED_AT, ANSWERED_FROM, POINTS, f1_place, retention_curves, system_curve, thinned
from services.report.uncertainty_section import uncertainty_histogram
from tests.services.report.simulated import regression


@pytest.mark.parametrize("n", [1, 2, 398, 399, 400, 401, 10_000])
def test_a_thinned_curve_keeps_its_ends_and_few_points(n: int) -> None:
    line = thinned(np.arange(n + 1.0))
    assert len(line.value) <= POINTS
    assert (line.retention[0], line.retention[-1], line.value[0], line.value[-1]) == (0, 1, 0, n)
    np.testing.assert_allclose(line.retention * n, line.value)


def test_curves_agree_with_the_figures() -> None:
    judged = regression(n=3000)
    evaluation, curves = evaluate(judged), retention_curves(judged)
    assert set(curves) == {"full", "in", "shifted"}
    for name, section in {"full": evaluation.full, **evaluation.domains}.items():
        figures, drawn = section.headline, curves[name]
        assert drawn.error.value[-1] == pytest.approx(figures.error)
        assert drawn.f1_at_95 == figures.f1_at_95
        for area, line in {"r_auc": drawn.error, "r_auc_optimal": drawn.references["optimal"]}.items():
            assert np.trapezoid(line.value, line.retention) == pytest.approx(getattr(figures, area), rel=0.01)


def test_without_an_acceptable_limit_or_unit_there_is_no_f1() -> None:
    assert retention_curves(regression(acceptable=None))["full"].f1 is None
    assert retention_curves(regression(acceptable=-1.0))["full"].f1 is None


@pytest.mark.parametrize(
    ("convention", "n", "place"), [(OFFICIAL, 1, 0.5), (OFFICIAL, 100, 95 / 101), (PAPER, 100, 0.95)]
)
def test_f1_is_marked_where_it_is_taken(convention: object, n: int, place: float) -> None:
    assert f1_place(n, convention) == pytest.approx(place)  # type: ignore[arg-type]


def test_the_system_error_ends_in_the_models_and_begins_in_the_humans() -> None:
    judged = regression(n=2000)
    system = system_curve(judged, 0.7)
    assert system.line.value[0] == pytest.approx(0.7)
    assert system.line.value[-1] == pytest.approx(float(judged.error.values.mean()))
    curve = retention.error_curve(judged.error.values, judged.uncertainty)
    shares = np.arange(2001) / 2000
    assert system.best_error == pytest.approx(float((curve + (1 - shares) * 0.7).min()))
    at_best = retention.error_at(curve, system.best_retention) + (1 - system.best_retention) * 0.7
    assert at_best == pytest.approx(system.best_error)


def test_of_equal_system_errors_the_largest_retention_is_the_best() -> None:
    judged = regression(n=1)
    assert system_curve(judged, float(judged.error.values[0])).best_retention == 1


@pytest.mark.parametrize("human", [-1.0, math.nan, math.inf])
def test_a_human_error_is_a_finite_mean_error(human: float) -> None:
    with pytest.raises(ValueError, match="human_error is .* °C²"):
        system_curve(regression(n=10), human)


def test_each_class_of_a_histogram_sums_to_one_whatever_the_values() -> None:
    judged = regression(n=1000)
    values = np.array(judged.uncertainty)
    values[:5] = [np.nan, np.inf, 1e9, 0.5, -np.inf]
    for uncertainty in (values, np.full(1000, 3.0), np.geomspace(1e-12, 1e30, 1000), -np.arange(1000.0)):
        histogram = uncertainty_histogram(type(judged)(**{**vars(judged), "measures": {"u": uncertainty}}))
        assert histogram is not None
        assert (np.diff(histogram.edges) > 0).all()
        for share in histogram.shares.values():
            assert share.sum() == pytest.approx(1)
        assert sum(histogram.counts.values()) + histogram.left_out == 1000


def test_a_histogram_tells_domains_else_acceptability() -> None:
    assert list(uncertainty_histogram(regression()).counts) == ["In-domain", "Shifted"]  # type: ignore[union-attr]
    plain = regression(domains=False)
    assert list(uncertainty_histogram(plain).counts) == ["Acceptable error", "Unacceptable error"]  # type: ignore[union-attr]
    bare = regression(domains=False, acceptable=None)
    assert list(uncertainty_histogram(bare).counts) == ["All units"]  # type: ignore[union-attr]


def test_without_a_finite_uncertainty_there_is_no_histogram() -> None:
    judged = regression(n=3)
    assert uncertainty_histogram(type(judged)(**{**vars(judged), "measures": {"u": np.full(3, np.nan)}})) is None


@pytest.mark.parametrize("n", [1, 2, 19, 500, 3000])
def test_the_error_of_the_answers_is_their_mean_alone(n: int) -> None:
    judged = regression(n=n, members=2, domains=False)
    curves, least = retention_curves(judged)["full"], np.argsort(judged.uncertainty, kind="stable")
    assert len(curves.answered.value) <= POINTS
    assert curves.answered.retention[0] >= min(ANSWERED_FROM, 1 / n)
    kept = np.round(curves.answered.retention * n).astype(int)
    expected = [judged.error.values[least[:k]].mean() for k in kept]
    np.testing.assert_allclose(curves.answered.value, expected)
    assert curves.answered.value[-1] == pytest.approx(evaluate(judged).full.headline.error)
    assert curves.answered_references["optimal"].value[-1] == pytest.approx(curves.answered.value[-1])
    for share in ANSWERED_AT:
        if (share * n) % 1 < 1e-9:
            assert curves.answered_at[share] == pytest.approx(judged.error.values[least[: round(share * n)]].mean())
