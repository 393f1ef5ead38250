"""Simulated numeric profiles: laws of scores, losses and shifts, and what the rule of qualification does to each.

``python -m tests.statistical.profiles [PROFILES] [SEED]`` prints the table of docs/qualification.md.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from models.calibration import retention_table
from models.certification.certificate import About
from models.certification.choose import SelectiveRisk, choose
from models.certification.units import as_scores, units
from models.qualification.measure import carried_retention, correlation, judge_measure
from models.qualification.promise import carried_certificate
from models.qualification.replayed import Floats, replayed
from models.qualification.threshold import carry

BATCHES = 3
LABELLED = 2000
RISK, DELTA, RETENTION = 0.12, 0.05, 0.9
POPULATION = 100_000

Law = Callable[[np.random.Generator, int], Floats]
Noise = Callable[[np.random.Generator, Floats, float], Floats]
"""Reference scores [n] and a size to scores at each batch size [B, n]."""

SCORES: dict[str, Law] = {
    "total variance (log-normal)": lambda rng, n: 1e6 * np.exp(1.2 * rng.normal(size=n)),
    "total variance (Pareto tail)": lambda rng, n: 2e5 * (1 + rng.pareto(1.5, n)),
    "confidence": lambda rng, n: -1 + 0.5 * rng.beta(0.8, 4, n),
    "entropy": lambda rng, n: rng.beta(1.2, 6, n),
    "log-likelihood": lambda rng, n: -80 + 25 * rng.normal(size=n) + 10 * rng.exponential(size=n),
    "12 values": lambda rng, n: np.ceil(12 * rng.beta(1.2, 3, n)) / 12,
}


def _each(rng: np.random.Generator, scores: Floats) -> Floats:
    """Normal numbers of which nine tenths are common to the batch sizes [B, n]."""
    n = len(scores)
    return 0.9 * rng.normal(size=n) + math.sqrt(0.19) * rng.normal(size=(BATCHES, n))


def _outliers(rng: np.random.Generator, scores: Floats, size: float) -> Floats:
    far = (rng.random(len(scores)) < 0.01) * rng.choice([-1, 1], len(scores))
    return scores * (1 + 1e-6 * _each(rng, scores) + size * far)


def _batches(rng: np.random.Generator, scores: Floats, size: float) -> Floats:
    return scores * (1 + np.array([[0.0], [0.1], [1.0]]) * size * _each(rng, scores))


def _additive(rng: np.random.Generator, scores: Floats, size: float) -> Floats:
    return scores + size * np.subtract(*np.quantile(scores, (0.75, 0.25))) * _each(rng, scores)


def _disorder(rng: np.random.Generator, scores: Floats, size: float) -> Floats:
    """Scores of other units, whose places differ by about ``size``."""
    ordered, n = np.sort(scores), len(scores)
    place = np.searchsorted(ordered, scores) + size * n * _each(rng, scores)
    return np.interp(place, np.arange(n), ordered)


def _powers(rng: np.random.Generator, scores: Floats, size: float) -> Floats:
    low = scores.min()
    return np.broadcast_to(low + (scores - low) ** (1 + size) + 1e-7 * np.abs(low), (BATCHES, len(scores)))


NOISES: dict[str, tuple[Noise, tuple[float, ...]]] = {
    "relative": (lambda rng, u, e: u * (1 + e * _each(rng, u)), (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)),
    "additive": (_additive, (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3)),
    "1 % outliers": (_outliers, (1e-3, 1e-2, 5e-2, 0.2)),
    "batch-dependent": (_batches, (1e-5, 1e-4, 1e-3, 1e-2)),
    "all larger": (lambda rng, u, e: u + e * np.abs(u) * (1 + 0.01 * _each(rng, u)), (1e-6, 1e-4, 1e-3)),
    "all smaller": (lambda rng, u, e: u - e * np.abs(u) * (1 + 0.01 * _each(rng, u)), (1e-6, 1e-4, 1e-3)),
    "doubled": (lambda rng, u, e: 2 * u + e * np.abs(u) * _each(rng, u), (1e-6, 1e-4)),
    "power": (_powers, (0.02, 0.2)),
    "float16": (lambda rng, u, e: _rounded(u, 11), (0.0,)),
    "bfloat16": (lambda rng, u, e: _rounded(u, 8), (0.0,)),
    "disorder": (_disorder, (0.03, 0.1, 0.3)),
}


def _rounded(scores: Floats, bits: int) -> Floats:
    """With so many bits of mantissa, at every batch size."""
    mantissa, exponent = np.frexp(scores)
    rounded = np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent)
    return np.broadcast_to(rounded, (BATCHES, len(scores)))


@dataclass(frozen=True)
class Outcome:
    """One simulated profile. Shares of a fresh population; None where the rule leaves nothing to check."""

    scores: str
    noise: str
    size: float
    verdict: str
    """At the certified threshold."""
    certified: bool
    """Whether there was a certificate before."""
    alpha: float | None
    """Promised under the new profile."""
    risk: float | None
    """True one at the worst batch size, where all who are newly answered lose."""
    table: str
    """Verdict of the retention table's threshold at ``RETENTION``."""
    retention: float | None
    """True share answered there, at the worst batch size."""
    reference_retention: float
    """True share that the calibrated threshold answers under the reference profile."""
    band: float
    """Promised to hold ``RETENTION`` with 95 %."""
    predicted: float
    observed: float
    """Flips at the threshold of ``RETENTION``."""
    newly: float
    newly_limit: float
    """Share newly answered at the carried threshold, true and upper limit."""

    @property
    def keeps_retention(self) -> bool:
        """Whether the share answered is within the band; tied scores are answered together, so it may be larger."""
        if self.retention is None:
            return False
        low, high = RETENTION - self.band, 1.0 if self.scores == "12 values" else RETENTION + self.band
        return low <= self.retention <= high

    @property
    def keeps_risk(self) -> bool:
        """Whether the risk is at most what the carried certificate promises."""
        return self.risk is not None and self.alpha is not None and self.risk <= self.alpha

    @property
    def prediction_error(self) -> float:
        """Predicted less observed share of flips."""
        return self.predicted - self.observed


def simulate(
    scores: str, noise: str, size: float, seed: Sequence[int], replay: int = 4000, population: int = POPULATION
) -> Outcome:
    """Calibrate under the reference profile, replay unlabelled units under another, and look at fresh ones."""
    rng = np.random.default_rng(seed)
    law, make = SCORES[scores], NOISES[noise][0]
    all_scores = as_scores(np.asarray(law(rng, LABELLED + replay + population)))
    chance = _chance(all_scores)
    labelled, replayed_units = slice(0, LABELLED), slice(LABELLED, LABELLED + replay)
    fresh = slice(LABELLED + replay, None)
    new = as_scores(make(rng, all_scores.astype(np.float64), size))
    reference = all_scores
    errors = (rng.random(LABELLED) < chance[labelled]).astype(np.float64)
    chosen = choose(
        units(reference[labelled], errors), SelectiveRisk(RISK, DELTA), About("u", date(2026, 11, 23), error="error")
    )
    pairs = replayed(reference[replayed_units], new[:, replayed_units])
    rank = correlation(pairs)
    verdict, alpha, risk = "none", None, None
    if chosen.threshold is not None and chosen.certificate is not None:
        at = carry(pairs, chosen.threshold, rank)
        verdict = at.verdict
        promise = carried_certificate(chosen.certificate.plain(), at, profile="new", reference_profile="old")
        if promise.certificate is not None:
            alpha = float(promise.certificate["alpha"])
            known = reference[fresh] <= np.float32(chosen.threshold)
            risk = max(_risk(row, at.carried, np.where(known, chance[fresh], 1.0)) for row in new[:, fresh])
    table = retention_table("u", reference[labelled])
    judged = judge_measure("u", pairs, table.thresholds)
    level = table.levels.index(RETENTION)
    entry, tau = judged.thresholds[level], np.float32(table.thresholds[level])
    kept = carried_retention(table, judged)
    below = reference[fresh] <= tau
    at_threshold = tau
    if entry.verdict == "carried" and entry.threshold != entry.carried and entry.guard < 0:
        at_threshold = np.float32(entry.carried)  # in a gap, where flips are those there
    flips = float(((new[:, fresh] <= at_threshold) != below).mean(axis=1).max())
    now = new[:, fresh] <= np.float32(entry.carried)
    shares = now.mean(axis=1)
    retention = None
    if kept is not None and RETENTION in kept.levels:
        retention = float(shares[np.argmax(np.abs(shares - RETENTION))])
    return Outcome(
        scores,
        noise,
        size,
        verdict,
        chosen.threshold is not None,
        alpha,
        risk,
        entry.verdict,
        retention,
        float(below.mean()),
        0.0 if kept is None else kept.band(),
        entry.predicted if entry.counted else entry.flips_limit,
        flips,
        float((now.any(axis=0) & ~below).mean()),
        entry.newly_limit,
    )


def cases(count: int) -> list[tuple[str, str, float]]:
    """So many combinations of laws, each as often as the others as far as that goes."""
    every = [(law, name, size) for name, (_, sizes) in NOISES.items() for size in sizes for law in SCORES]
    order = np.random.default_rng(0).permutation(len(every))
    return [every[order[i % len(every)]] for i in range(count)]


def run(count: int, seed: int, replay: int = 4000, population: int = POPULATION) -> list[Outcome]:
    """Outcomes of ``cases(count)``."""
    return [simulate(*case, (seed, i), replay, population) for i, case in enumerate(cases(count))]


def _chance(scores: Floats) -> Floats:
    """Probability of a loss of 1: 0.02 to 0.5, rising with the place of the score."""
    place = np.searchsorted(np.sort(scores), scores, "right") / len(scores)
    return 0.02 + 0.48 * place**2


def _risk(scores: Floats, threshold: float, chance: Floats) -> float:
    kept = scores <= np.float32(threshold)
    return float(chance[kept].mean()) if kept.any() else 0.0


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown: one row a law of shifts."""
    lines = [
        "| shift | profiles | carried | mapped | refused | certificate kept: risk ≤ promised | retention in its band | "
        "largest error of predicted flips |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in [*NOISES, "all"]:
        part = [outcome for outcome in outcomes if name in ("all", outcome.noise)]
        if part:
            lines.append(f"| {name} | {_row(part)} |")
    return "\n".join(lines)


def _row(part: Sequence[Outcome]) -> str:
    kinds = [outcome.table for outcome in part]
    risks = [outcome for outcome in part if outcome.alpha is not None]
    shares = [outcome for outcome in part if outcome.retention is not None]
    exact = [abs(outcome.prediction_error) for outcome in part if outcome.table == "carried"]
    good = sum(outcome.keeps_risk for outcome in risks)
    held = sum(outcome.keeps_retention for outcome in shares)
    cells = [str(len(part)), *(str(kinds.count(kind)) for kind in ("carried", "mapped", "refused"))]
    cells.append(f"{good} of {len(risks)}" if risks else "–")
    cells.append(f"{held} of {len(shares)}" if shares else "–")
    cells.append(f"{100 * max(exact):.3f} points" if exact else "–")
    return " | ".join(cells)


if __name__ == "__main__":
    found = run(int(sys.argv[1]) if len(sys.argv) > 1 else 252, int(sys.argv[2]) if len(sys.argv) > 2 else 23)
    print(table(found))
