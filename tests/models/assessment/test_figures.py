"""All retention figures at once: equal to those taken one by one, in bounded memory."""

import math
import tracemalloc
from dataclasses import asdict, replace

import numpy as np
import pytest

from models.assessment import detection, retention, selective
from models.assessment.convention import OFFICIAL, PAPER, Convention
from models.assessment.figures import Errors, Rules, figures

VESSEL_LIKE = Rules(OFFICIAL, released_area="trapezoid", released_groups_ties=False)


@pytest.mark.parametrize("rules", [Rules(), VESSEL_LIKE, replace(VESSEL_LIKE, convention=PAPER)])
def test_figures_are_those_of_their_curves(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    errors, uncertainty, shifted = rng.random(90), np.round(rng.random(90), 1), rng.random(90) < 0.5
    actual = figures(Errors(errors, 0.3, rules), uncertainty, shifted)
    official = rules.convention is OFFICIAL
    ties = not (official and rules is VESSEL_LIKE)
    area = "mean" if official and rules.released_area == "mean" else "trapezoid"
    f1 = retention.f_curve(errors, uncertainty, 0.3, convention=rules.convention)
    one_by_one = {
        "n": 90,
        "error": errors.mean(),
        "r_auc": retention.r_auc(retention.error_curve(errors, uncertainty, group_ties=ties), area),
        "r_auc_random": errors.mean() / 2,
        "r_auc_optimal": retention.r_auc(retention.optimal_curve(errors), area),
        "f1_auc": retention.f_auc(f1, rules.convention),
        "f1_at_95": retention.f_at(f1, convention=rules.convention),
        "roc_auc": detection.roc_auc(shifted, uncertainty),
        "aupr": detection.aupr(shifted, uncertainty),
        "aurc": selective.aurc(errors, uncertainty),
        "e_aurc": selective.e_aurc(errors, uncertainty),
        "augrc": selective.augrc(errors, uncertainty),
    }
    for name, value in one_by_one.items():
        assert getattr(actual, name) == pytest.approx(value, rel=1e-12), name
    if area == "mean":
        assert actual.prr == pytest.approx(retention.prr(errors, uncertainty) / 100, rel=1e-12)


def test_the_best_and_the_worst_measure_bound_all_others() -> None:
    rng = np.random.default_rng(1)
    errors = Errors(rng.random(50), 0.5, Rules())
    best, worst = figures(errors, errors.values), figures(errors, -errors.values)
    assert best.prr == pytest.approx(1)
    assert best.r_auc == pytest.approx(best.r_auc_optimal)
    assert best.f1_auc == pytest.approx(best.f1_auc_optimal)
    assert worst.prr == pytest.approx(-1)


def test_one_unit_alone() -> None:
    result = figures(Errors(np.array([0.5]), 1.0, Rules()), np.array([3.0]))
    assert (result.r_auc, result.f1_auc) == (0.25, pytest.approx(0.25))
    assert math.isnan(result.prr)


def test_without_a_limit_or_domains_the_figures_that_need_them_do_not_exist() -> None:
    result = asdict(figures(Errors(np.arange(4.0), None, Rules()), np.arange(4.0)))
    missing = {name for name, value in result.items() if math.isnan(value)}
    assert missing == {"f1_auc", "f1_auc_random", "f1_auc_optimal", "f1_at_95", "roc_auc", "aupr"}


def test_constant_errors_leave_nothing_to_rank() -> None:
    result = figures(Errors(np.full(100, 0.1), 1.0, Rules()), np.random.default_rng(2).random(100))
    assert math.isnan(result.prr)
    assert result.r_auc == pytest.approx(result.r_auc_random) == pytest.approx(result.r_auc_optimal)


@pytest.mark.parametrize("ties", [False, True])
def test_memory_stays_within_three_times_the_input(ties: bool) -> None:
    rng = np.random.default_rng(3)
    errors, uncertainty = rng.random(2_000_000), rng.random(2_000_000)
    if ties:
        uncertainty = np.round(uncertainty, 3)
    input_size = errors.nbytes + uncertainty.nbytes
    tracemalloc.start()
    figures(Errors(errors, 0.5, Rules()), uncertainty, uncertainty > 0.7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert input_size + peak < 3 * input_size


@pytest.mark.parametrize("convention", [OFFICIAL, PAPER], ids=lambda item: item.name)
def test_nothing_acceptable_has_no_f1_even_where_nothing_would_be_retained(convention: Convention) -> None:
    result = figures(Errors(np.ones(1), 0.5, Rules(convention)), np.zeros(1))
    assert math.isnan(result.f1_auc)
    assert math.isnan(result.f1_at_95)
