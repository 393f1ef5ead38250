"""That live figures are right: biases, coverage of intervals, delays and missing reviews, over many simulated streams.

Full size under the marker ``statistical``; a short run of the same is in CI.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pytest

from models.estimation.estimate_window import EstimationOptions, estimate_window
from models.estimation.exact import Exact
from models.estimation.figures import LiveFigures, live_figures
from models.estimation.intervals import Estimate
from models.estimation.weights import ESTIMATORS
from tests.statistical.streams import Missing, Truth, audited, delayed

FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error")


@dataclass(frozen=True)
class Replays:
    """Relative errors and coverage over runs, by estimator and figure."""

    relative: dict[tuple[str, str], list[float]]
    covered: dict[tuple[str, str], list[bool]]
    naive: list[float]
    labels: list[int]


def replays(runs: int, n: int, rate: float, seed: int = 0) -> Replays:
    replayed = Replays(defaultdict(list), defaultdict(list), [], [])
    for run in range(runs):
        simulated = audited(seed + run, n, rate)
        exact = Exact(simulated.window, 1.0)
        whole = Exact(simulated.whole, 1.0)
        whole.__dict__["ranks"] = exact.ranks  # one sort a run
        truth = live_figures(whole.view("ht"))
        for estimator in ESTIMATORS:
            record(replayed, estimator, live_figures(exact.view(estimator)), truth)
        labelled = simulated.window.labelled
        pooled = Exact(simulated.whole.take(labelled)).view("ht")
        replayed.naive.append(live_figures(pooled).r_auc.estimate / truth.r_auc.estimate - 1)
        replayed.labels.append(exact.sampled)
    return replayed


def record(replayed: Replays, estimator: str, figures: LiveFigures, truth: LiveFigures) -> None:
    for name in FIGURES:
        figure: Estimate = getattr(figures, name)
        value = getattr(truth, name).estimate
        replayed.relative[estimator, name].append(figure.estimate / value - 1)
        replayed.covered[estimator, name].append(figure.low <= value <= figure.high)


def check(replayed: Replays, runs: int) -> None:
    slack = 3 * np.sqrt(0.95 * 0.05 / runs) if runs < 1000 else 0.0
    for key, relative in replayed.relative.items():
        bias, error = float(np.mean(relative)), float(np.std(relative)) / np.sqrt(runs)
        cover = float(np.mean(replayed.covered[key]))
        print(f"{key[0]:6} {key[1]:9} bias {bias:+.3%} (MC {error:.3%}) sd {np.std(relative):.3%} coverage {cover:.3f}")
    print(f"naive R-AUC {np.mean(replayed.naive):+.0%}; audit labels {np.mean(replayed.labels):.0f}")
    for key, relative in replayed.relative.items():
        bias, error = float(np.mean(relative)), float(np.std(relative)) / np.sqrt(runs)
        assert abs(bias) <= max(0.005, 3 * error), key
        assert 0.93 - slack <= np.mean(replayed.covered[key]) <= 0.97 + slack, key
    assert abs(np.mean(replayed.naive)) > 0.5
    assert min(replayed.labels) > 1800


@pytest.mark.statistical
@pytest.mark.timeout(1200)
def test_figures_are_unbiased_and_intervals_cover_over_1000_replays() -> None:
    replayed = replays(1000, 240_000, 0.01)
    check(replayed, 1000)
    spread = {key: float(np.std(relative)) for key, relative in replayed.relative.items()}
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert spread["aipw", name] <= 1.02 * min(spread["ht", name], spread["hajek", name]), name


def test_figures_are_unbiased_and_intervals_cover_in_short() -> None:
    check(replays(40, 60_000, 0.04, seed=10_000), 40)


def late(runs: int, n: int, *, logged: bool, defers: bool) -> None:
    biases, valid = defaultdict(list), []
    for run in range(runs):
        simulated = delayed(run, n, logged=logged, defers=defers)
        for estimator in ESTIMATORS:
            judged = estimate_window(simulated.window, EstimationOptions(estimator=estimator))
            truth = live_figures(Exact(simulated.whole.take(judged.delayed.mature)).view("ht")).r_auc.estimate
            assert judged.figures is not None
            biases[estimator].append(judged.figures.r_auc.estimate / truth - 1)
            if estimator == "aipw":
                valid.append(judged.gates.valid)
        whole = live_figures(Exact(simulated.whole).view("ht")).r_auc.estimate
        biases["uncorrected"].append(live_figures(Exact(simulated.window).view("ht")).r_auc.estimate / whole - 1)
    for name, bias in biases.items():
        print(f"{name:12} bias {np.mean(bias):+.3%} (MC {np.std(bias) / np.sqrt(runs):.3%})")
    print(f"valid {np.mean(valid):.1%}")
    assert np.mean(valid) >= 0.99, "slow is not missing"
    for estimator in ESTIMATORS:
        error = float(np.std(biases[estimator])) / np.sqrt(runs)
        assert abs(np.mean(biases[estimator])) <= (0.01 if runs >= 200 else max(0.01, 3 * error)), estimator
    assert np.mean(biases["uncorrected"]) < -0.2


@pytest.mark.statistical
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("logged", [False, True], ids=["propensities", "draws"])
@pytest.mark.parametrize("defers", [False, True], ids=["sampled", "deferred"])
def test_labels_four_times_slower_where_uncertain_do_no_harm_over_200_runs(logged: bool, defers: bool) -> None:
    late(200, 100_000, logged=logged, defers=defers)


@pytest.mark.long
@pytest.mark.parametrize("logged", [False, True], ids=["propensities", "draws"])
def test_labels_four_times_slower_where_uncertain_do_no_harm_in_short(logged: bool) -> None:
    late(10, 60_000, logged=logged, defers=True)


def caught(runs: int, n: int, missing: Missing) -> float:
    """Share of runs in which a third of the deferred that nobody reviews makes the figures invalid."""
    return float(
        np.mean(
            [
                not estimate_window(delayed(run, n, missing=missing).window, EstimationOptions()).gates.valid
                for run in range(runs)
            ]
        )
    )


@pytest.mark.statistical
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("missing", ["random", "worst"])
def test_a_third_never_reviewed_among_slow_labels_is_seen_over_200_runs(missing: Missing) -> None:
    share = caught(200, 100_000, missing)
    print(f"{missing}: invalid in {share:.1%}")
    assert share >= 0.99


@pytest.mark.parametrize("missing", ["random", "worst"])
def test_a_third_never_reviewed_is_seen_in_short(missing: Missing) -> None:
    assert caught(6, 100_000, missing) == 1.0
    assert caught(8, 20_000, missing) == 1.0, "too few to see it is not valid either"


def without_a_third(seed: int, worst: bool) -> Truth:
    """All labels that will come are there, and a third of the deferred has none."""
    simulated = audited(seed, 100_000, 0.03)
    window, deferred = simulated.window, ~simulated.window.answered
    gone = deferred & (np.random.default_rng(seed).random(len(window)) < 1 / 3)
    if worst:
        gone = deferred & (simulated.errors > np.quantile(simulated.errors[deferred], 2 / 3))
    labelled = window.labelled & ~gone
    return Truth(replace(window, labelled=labelled), simulated.errors)


@pytest.mark.parametrize("worst", [False, True])
def test_a_third_never_reviewed_is_never_silently_wrong(worst: bool) -> None:
    gates = estimate_window(without_a_third(3, worst).window, EstimationOptions()).gates
    assert [reason.word for reason in gates.reasons] == ["incomplete"]
