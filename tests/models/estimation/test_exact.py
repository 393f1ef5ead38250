"""Exact mode: with all labels it is the evaluation, and its variances are those of repeated draws."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.assessment.figures import Errors, Rules, figures, operating_points
from models.assessment.retention import error_at, error_curve
from models.estimation.exact import Exact
from models.estimation.figures import curves, live_figures
from models.estimation.weights import ESTIMATORS, Estimator
from models.estimation.window import BadWindow, Doubles, Window
from models.evaluation import generic
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import ErrorOptions
from tests.statistical.streams import audited, errors
from tests.work import counted

RULES = [
    Rules(),
    Rules(PAPER),
    Rules(OFFICIAL, released_area="trapezoid", released_groups_ties=False),
    Rules(PAPER, released_area="trapezoid", released_groups_ties=False),
]


def census(uncertainty: Doubles, error: Doubles, threshold: float = 2.0) -> Window:
    n = len(error)
    return Window(uncertainty, uncertainty <= threshold, np.ones(n), np.ones(n, bool), error)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("rules", RULES, ids=lambda item: f"{item.convention.name}-{item.released_area}")
@pytest.mark.parametrize("decimals", [None, 2, 0], ids=["distinct", "some ties", "few values"])
def test_with_all_labels_every_figure_is_that_of_the_evaluation(
    decimals: int | None, rules: Rules, estimator: Estimator
) -> None:
    rng = np.random.default_rng(0)
    uncertainty, error = errors(rng, 3000)
    if decimals is not None:
        uncertainty = np.round(uncertainty, decimals)
    uncertainty[:5] = np.nan
    result = live_figures(Exact(census(uncertainty, error), 1.0, rules).view(estimator))
    known = figures(Errors(error, 1.0, rules), uncertainty)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        figure = getattr(result, name)
        assert figure.estimate == pytest.approx(getattr(known, name), rel=1e-9)
        assert figure.low == figure.high == figure.estimate
    for name in ("r_auc_random", "r_auc_optimal", "prr", "f1_auc_random", "f1_auc_optimal"):
        assert getattr(result, name) == pytest.approx(getattr(known, name), rel=1e-9), name
    answered = uncertainty <= 2.0
    assert result.mean_error.estimate == pytest.approx(known.error, rel=1e-12)
    assert result.error.estimate == pytest.approx(error[answered].sum() / 3000, rel=1e-12)
    assert result.answered_error.estimate == pytest.approx(error[answered].mean(), rel=1e-12)
    assert result.system_error == result.error


@pytest.mark.parametrize("convention", [OFFICIAL, PAPER], ids=lambda item: item.name)
def test_the_curves_are_those_of_the_evaluation_of_a_file(convention: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    uncertainty, error = errors(rng, 2000)
    path = tmp_path / "rows.csv"
    rows = "\n".join(
        f"{row_error!r},{other!r}" for row_error, other in zip(error.tolist(), uncertainty.tolist(), strict=True)
    )
    path.write_text(f"error,uncertainty\n{rows}\n")
    judged = generic.read(path, ErrorOptions(convention=convention, acceptable=1.0))
    share = tuple(np.linspace(0, 1, 101).tolist())
    known = evaluate(judged, at=share).full
    view = Exact(census(uncertainty, error), 1.0, Rules(convention)).view()
    band, f_band = curves(view)
    assert f_band is not None
    np.testing.assert_allclose(band.estimate, [point.error for point in known.points], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(f_band.estimate, [point.f1 for point in known.points], rtol=1e-9, atol=1e-12)
    assert live_figures(view).r_auc.estimate == pytest.approx(known.headline.r_auc, rel=1e-9)


def test_horvitz_thompson_is_unbiased_over_all_possible_draws() -> None:
    """Eight units, all 2^8 draws with their probabilities: the mean is the truth, the mean variance the variance."""
    rng = np.random.default_rng(2)
    uncertainty, error = rng.random(8), rng.random(8)
    propensity = rng.uniform(0.2, 0.9, 8)
    answered = uncertainty < 2
    truth = live_figures(Exact(census(uncertainty, error)).view("ht")).r_auc.estimate
    mean = second = variance = 0.0
    for drawn in itertools.product([False, True], repeat=8):
        there = np.array(drawn)
        probability = float(np.prod(np.where(there, propensity, 1 - propensity)))
        value = spread = 0.0
        if there.any():
            window = Window(uncertainty, answered, propensity, there, np.where(there, error, np.nan))
            figure = live_figures(Exact(window).view("ht")).r_auc
            value, spread = figure.estimate, figure.se**2
        mean += probability * value
        second += probability * value**2
        variance += probability * spread
    assert mean == pytest.approx(truth, rel=1e-12)
    assert variance == pytest.approx(second - mean**2, rel=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_standard_errors_are_those_of_repeated_draws(estimator: Estimator) -> None:
    rng = np.random.default_rng(3)
    uncertainty = rng.gamma(3, 1, 20_000)
    error = uncertainty * rng.gamma(3, 1 / 3, 20_000)
    answered = uncertainty < np.quantile(uncertainty, 0.9)
    propensity = np.where(answered, 0.05, 1.0)
    values, spreads = [], []
    for _ in range(150):
        there = rng.random(20_000) < propensity
        window = Window(uncertainty, answered, propensity, there, np.where(there, error, np.nan))
        exact = Exact(window, 3.0)
        live = live_figures(exact.view(estimator))
        band, f_band = curves(exact.view(estimator), 5)
        assert f_band is not None
        all_of = (live.r_auc, live.f1_auc, live.f1_at_95, live.error, live.answered_error, live.mean_error)
        values.append([*(figure.estimate for figure in all_of), *band.estimate[1:4], *f_band.estimate[1:4]])
        spreads.append([*(figure.se for figure in all_of), *band.se[1:4], *f_band.se[1:4]])
    ratio = np.sqrt(np.mean(np.square(spreads), axis=0)) / np.std(values, axis=0)
    assert np.all(np.abs(ratio - 1) < 0.25), ratio


def test_a_useless_prediction_costs_nothing_and_a_good_one_pays() -> None:
    truth = audited(4, 60_000, 0.03)
    rng = np.random.default_rng(4)
    plain = live_figures(Exact(truth.window).view("hajek")).r_auc.se
    noise = replace(truth.window, expected=rng.normal(100, 50, len(truth.errors)))
    good = replace(truth.window, expected=truth.errors * rng.uniform(0.8, 1.2, len(truth.errors)))
    assert live_figures(Exact(noise).view("aipw")).r_auc.se < 1.1 * plain
    assert live_figures(Exact(good).view("aipw")).r_auc.se < 0.3 * plain


def test_the_population_is_as_uncertain_as_new_windows_differ() -> None:
    """All labels are there, so the window has no variance; its figures still differ from those of the next one."""
    values, spreads = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        uncertainty = rng.gamma(3, 1, 4000)
        error = uncertainty * rng.gamma(3, 1 / 3, 4000)
        view = Exact(census(uncertainty, error, 5.0), 3.0).view("ht")
        live = live_figures(view, "population")
        all_of = (live.r_auc, live.f1_auc, live.f1_at_95, live.error, live.answered_error, live.mean_error)
        values.append([figure.estimate for figure in all_of])
        spreads.append([figure.se for figure in all_of])
    ratio = np.mean(spreads, axis=0) / np.std(values, axis=0)
    assert np.all(np.abs(ratio - 1) < 0.2), ratio


def test_what_if_is_the_curve_at_the_units_that_a_threshold_keeps() -> None:
    rng = np.random.default_rng(5)
    uncertainty, error = errors(rng, 5000)
    uncertainty = np.round(uncertainty, 1)
    thresholds = np.array([-1.0, 0.5, 2.0, 1e9])
    result = Exact(census(uncertainty, error), 1.0).what_if(thresholds, "ht")
    kept = np.array([(uncertainty.astype(np.float32) <= np.float32(threshold)).sum() for threshold in thresholds])
    np.testing.assert_array_equal(result.retention, kept / 5000)
    curve = error_curve(error, uncertainty)
    np.testing.assert_allclose(result.error.estimate, [error_at(curve, count / 5000) for count in kept], atol=1e-12)
    mean = [error[uncertainty.astype(np.float32) <= np.float32(threshold)].mean() for threshold in thresholds[1:]]
    np.testing.assert_allclose(result.answered_error.estimate[1:], mean, rtol=1e-9)
    assert math.isnan(result.answered_error.estimate[0])
    assert result.f1 is not None
    points = operating_points(Errors(error, 1.0, Rules()), uncertainty, [kept[1] / 5000])
    assert result.f1.estimate[1] == pytest.approx(points[0].f1, rel=1e-3)


def test_the_operating_point_goes_by_decisions_not_by_a_threshold() -> None:
    """A window may span policies: the same uncertainty was answered yesterday and deferred today."""
    rng = np.random.default_rng(6)
    uncertainty, error = errors(rng, 1000)
    answered = np.arange(1000) < 500
    window = Window(uncertainty, answered, np.ones(1000), np.ones(1000, bool), error)
    live = live_figures(Exact(window).view())
    assert live.error.estimate == pytest.approx(error[:500].sum() / 1000)
    assert live.retention == 0.5


def test_the_system_answers_for_what_people_answer() -> None:
    rng = np.random.default_rng(7)
    uncertainty, error = errors(rng, 2000)
    human = np.where(uncertainty > 2, rng.random(2000), np.nan)
    live = live_figures(Exact(replace(census(uncertainty, error), human_error=human)).view())
    assert live.system_error.estimate == pytest.approx((error[uncertainty <= 2].sum() + np.nansum(human)) / 2000)


def test_figures_that_rest_on_units_without_any_label_do_not_exist() -> None:
    rng = np.random.default_rng(8)
    uncertainty, error = errors(rng, 1000)
    window = census(uncertainty, error)
    live = live_figures(Exact(replace(window, labelled=window.answered), 1.0).view())
    assert math.isnan(live.r_auc.estimate)
    assert math.isnan(live.f1_auc.estimate)
    assert live.error.estimate > 0, "the answered have theirs"


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(BadWindow, match="no units"):
        Exact(census(np.empty(0), np.empty(0)))
    with pytest.raises(BadWindow, match="acceptable is NaN"):
        Exact(census(np.ones(1), np.ones(1)), math.nan)


def test_nothing_acceptable_has_no_f1() -> None:
    live = live_figures(Exact(census(np.arange(9.0), np.ones(9)), 0.5).view())
    assert math.isnan(live.f1_auc.estimate)
    assert math.isnan(live.f1_at_95.estimate)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_million_units_are_estimated_as_arrays(estimator: Estimator) -> None:
    """0.5 s on a free core; a loop over units would take many times that."""
    truth = audited(9, 1_000_000, 0.01)
    with counted() as work:
        live_figures(Exact(truth.window, 1.0).view(estimator))
    assert work.lines < 5_000
