"""Certificates keep their promise in resamplings from populations whose truth is known; the plug-in threshold does not.

Each property runs 150 times with CI and 1000 times with ``-m statistical``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np
import pytest

from models.certification.calibrate import calibrate, default_judge_share, shared_goal
from models.certification.certificate import About, Finding
from models.certification.choose import SelectiveRisk
from models.certification.crc import control
from models.certification.folds import row_draws
from models.certification.retention import target_retention
from models.certification.selective_risk import certify, certify_from_log
from models.certification.units import Units, units

DELTA = 0.05
RISKS = (0.10, 0.12, 0.15)
N = 2000
RUNS = pytest.mark.parametrize("runs", [150, pytest.param(1000, marks=pytest.mark.statistical)])


@dataclass(frozen=True)
class Population:
    """Two million units, by which the truth is known."""

    scores: np.ndarray
    """Ascending."""
    losses: np.ndarray
    cumulated: np.ndarray
    """Losses of the units up to each."""

    @property
    def size(self) -> int:
        return len(self.scores)

    def answered(self, threshold: float | None) -> int:
        return 0 if threshold is None else int(np.searchsorted(self.scores, np.float32(threshold), "right"))

    def risk(self, threshold: float | None) -> float:
        """True selective risk; 0 where nothing is answered."""
        k = self.answered(threshold)
        return float(self.cumulated[k - 1] / k) if k else 0.0

    def oracle_coverage(self, alpha: float) -> float:
        """Coverage of the loosest threshold below which no stricter one exceeds alpha, known with the truth."""
        risks = self.cumulated[self.size // 100 :] / np.arange(self.size // 100 + 1, self.size + 1)
        above = np.flatnonzero(risks > alpha)
        return 1.0 if not len(above) else (self.size // 100 + above[0]) / self.size

    def sample(self, rng: np.random.Generator, n: int) -> Units:
        chosen = rng.integers(0, self.size, n)
        return units(self.scores[chosen], self.losses[chosen])


@lru_cache(maxsize=2)
def population(kind: str) -> Population:
    rng = np.random.default_rng(2026)
    scores = rng.beta(1.2, 6, 2_000_000)
    chance = 0.9 * scores**0.9
    if kind == "ties":
        scores = np.ceil(scores * 12) / 12
    if kind == "noise":  # one label in fifty is wrong
        chance = 0.98 * chance + 0.02 * (1 - chance)
    if kind == "bands":  # the risk crosses its limit again and again
        chance = np.where((scores * 40).astype(int) % 2 == 0, 0.02, 0.30)
    if kind == "flat":  # the score says nothing
        chance = np.full(len(scores), 0.1200001)
    order = np.argsort(scores)
    losses = (rng.random(len(scores)) < chance[order]).astype(float)
    return Population(scores[order].astype(np.float32), losses, np.cumsum(losses))


def most(runs: int) -> float:
    """Delta and three Monte-Carlo errors."""
    return DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / runs)


def violations(truth: Population, alpha: float, runs: int, choose: Callable[[Units], Finding]) -> tuple[float, float]:
    """Share of runs whose threshold exceeds the risk, and mean coverage over all runs."""
    rng = np.random.default_rng(int(1000 * alpha) + runs)
    thresholds = [choose(truth.sample(rng, N)).threshold for _ in range(runs)]
    broken = np.mean([truth.risk(threshold) > alpha for threshold in thresholds])
    return float(broken), float(np.mean([truth.answered(threshold) for threshold in thresholds])) / truth.size


@RUNS
@pytest.mark.parametrize("alpha", RISKS)
@pytest.mark.parametrize("kind", ["reference", "ties", "noise", "bands", "flat"])
def test_certified_risks_are_exceeded_no_more_often_than_promised(kind: str, alpha: float, runs: int) -> None:
    broken, _ = violations(population(kind), alpha, runs, lambda sample: certify(sample, alpha, DELTA))
    assert broken <= most(runs)


@RUNS
@pytest.mark.parametrize("alpha", RISKS)
def test_certified_thresholds_answer_four_fifths_of_what_an_oracle_would(alpha: float, runs: int) -> None:
    truth = population("reference")
    _, coverage = violations(truth, alpha, runs, lambda sample: certify(sample, alpha, DELTA))
    assert coverage >= 0.8 * truth.oracle_coverage(alpha)


@RUNS
@pytest.mark.parametrize("alpha", RISKS)
def test_a_file_of_two_thousand_rows_does_both_with_the_fold_that_judges(alpha: float, runs: int) -> None:
    """As the command calibrates it: some rows are kept for judging."""
    truth, goal, rng = population("reference"), SelectiveRisk(alpha, DELTA), np.random.default_rng(runs)
    about, share = About("u", date(2026, 1, 1)), default_judge_share(goal, N)
    thresholds = [calibrate(truth.sample(rng, N), goal, about, share).chosen.threshold for _ in range(runs)]
    assert share > 0
    assert np.mean([truth.risk(threshold) > alpha for threshold in thresholds]) <= most(runs)
    assert np.mean([truth.answered(cutoff) for cutoff in thresholds]) / truth.size >= 0.8 * truth.oracle_coverage(alpha)


def plug_in(sample: Units, alpha: float) -> Finding:
    """The loosest threshold whose risk on the sample is at most alpha, as everybody does it first."""
    assert sample.errors is not None
    order = np.argsort(sample.scores)
    risks = np.cumsum(sample.errors[order]) / np.arange(1, len(sample) + 1)
    below = np.flatnonzero(risks <= alpha)
    threshold = float(sample.scores[order[below[-1]]]) if len(below) else None
    return Finding("plug-in", threshold, "", "", len(sample))


@RUNS
@pytest.mark.parametrize("alpha", RISKS)
def test_the_plug_in_threshold_fails_the_same_test(alpha: float, runs: int) -> None:
    broken, coverage = violations(population("reference"), alpha, runs, lambda sample: plug_in(sample, alpha))
    assert broken > 0.35
    assert coverage > 0.9 * population("reference").oracle_coverage(alpha)


@RUNS
def test_thresholds_of_groups_hold_together(runs: int) -> None:
    alpha, rng, broken, certified = 0.12, np.random.default_rng(runs), 0, 0
    truths = [population("reference"), population("flat")]
    share = shared_goal(SelectiveRisk(alpha, DELTA), 4)
    assert isinstance(share, SelectiveRisk)
    for _ in range(runs):
        parts = [(truth, truth.sample(rng, n)) for truth in truths for n in (1500, 400)]
        chosen = [(truth, certify(part, alpha, share.delta).threshold) for truth, part in parts]
        broken += any(truth.risk(threshold) > alpha for truth, threshold in chosen)
        certified += sum(threshold is not None for _, threshold in chosen)
    assert broken / runs <= most(runs)
    assert certified > runs, "at least the large sharp group is certified"


def logged(
    rng: np.random.Generator, truth: Population, n: int, propensity_of: Callable[[np.ndarray], np.ndarray]
) -> Units:
    """A log of n decisions, labelled with probabilities that depend on the score."""
    sample = truth.sample(rng, n)
    assert sample.errors is not None
    propensity = propensity_of(sample.scores.astype(float))
    errors = np.where(rng.random(n) < propensity, sample.errors, np.nan)
    return Units(sample.scores, errors, row_draws(n), propensity)


LOGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "deferred and audits": lambda u: np.where(u > 0.34, 1.0, 0.1),
    "audits of the confident": lambda u: np.where(u > 0.34, 1.0, np.where(u < 0.1, 0.4, 0.05)),
}


@pytest.mark.long
@RUNS
@pytest.mark.parametrize("alpha", RISKS)
@pytest.mark.parametrize("log", list(LOGS))
def test_a_log_with_selected_labels_certifies_what_holds(log: str, alpha: float, runs: int) -> None:
    """The top tenth is deferred and always labelled, of the others some are audited."""
    truth, rng = population("reference"), np.random.default_rng(runs)
    samples = (logged(rng, truth, 20_000, LOGS[log]) for _ in range(runs))
    thresholds = [certify_from_log(sample, alpha, DELTA).threshold for sample in samples]
    assert np.mean([truth.risk(threshold) > alpha for threshold in thresholds]) <= most(runs)
    coverage = np.mean([truth.answered(threshold) for threshold in thresholds]) / truth.size
    assert coverage >= 0.5 * truth.oracle_coverage(alpha)


@RUNS
def test_the_labels_of_a_log_without_their_weights_break_the_promise(runs: int) -> None:
    alpha, truth, rng, broken = 0.12, population("reference"), np.random.default_rng(runs), 0
    for _ in range(runs):
        log = logged(rng, truth, 20_000, LOGS["audits of the confident"])
        assert log.errors is not None
        kept = ~np.isnan(log.errors)
        broken += truth.risk(certify(units(log.scores[kept], log.errors[kept]), alpha, DELTA).threshold) > alpha
    assert broken / runs > 0.5


@RUNS
@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.10])
@pytest.mark.parametrize("kind", ["reference", "ties"])
def test_conformal_risk_control_keeps_the_joint_risk_in_expectation(kind: str, alpha: float, runs: int) -> None:
    truth, rng = population(kind), np.random.default_rng(runs)
    thresholds = [control(truth.sample(rng, 500), alpha).threshold for _ in range(runs)]
    joint = np.array([truth.risk(threshold) * truth.answered(threshold) / truth.size for threshold in thresholds])
    assert joint.mean() <= alpha + 3 * joint.std() / math.sqrt(runs)
    if kind == "reference":
        assert joint.mean() >= alpha - 0.01, "it is not needlessly careful"


@RUNS
@pytest.mark.parametrize("retention", [0.5, 0.95])
def test_realised_retention_stays_in_its_interval_as_often_as_promised(retention: float, runs: int) -> None:
    truth, rng = population("reference"), np.random.default_rng(runs)
    results = [target_retention(truth.sample(rng, 500), retention, DELTA) for _ in range(runs)]
    realised = np.array([truth.answered(result.threshold) / truth.size for result in results])
    low, high = results[0].low, results[0].high
    assert low is not None
    assert high is not None
    outside = float(np.mean((realised < low) | (realised > high)))
    assert abs(outside - DELTA) <= 3 * math.sqrt(DELTA * (1 - DELTA) / runs) + 0.002
    assert realised.mean() >= retention - 3 * realised.std() / math.sqrt(runs)
