"""Carry the tables of one measure: retention, in-domain quantiles, expected error."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from models.calibration import ExpectedError, RetentionTable
from models.qualification.order import rank_correlation
from models.qualification.replayed import Float64, Replayed
from models.qualification.threshold import FEWEST, CarriedThreshold, Verdict, carry

ORDER: tuple[Verdict, ...] = ("carried", "mapped", "refused")
"""Verdicts from best to worst."""


@dataclass(frozen=True)
class MeasureVerdict:
    """Verdict on a measure, with its numbers."""

    measure: str
    verdict: Verdict
    """Worst verdict of its thresholds; each is carried by its own verdict."""
    correlation: float | None
    """Rank correlation at the worst batch size; None if the reference scores are all tied or some are not finite."""
    unusable: int
    """Number of units with a score that is not finite under either profile."""
    mean_shift: float
    """Mean of |Δu| at the worst batch size, in the measure's unit."""
    largest_shift: float
    thresholds: tuple[CarriedThreshold, ...]
    """Thresholds of the retention table's levels, ascending, followed by further requested ones."""
    reason: str
    """Reason why the measure is not carried; empty if it is."""

    @property
    def flips(self) -> float:
        """Largest share of flips at any threshold."""
        return max((max(threshold.flips, threshold.predicted) for threshold in self.thresholds), default=0.0)

    @property
    def flips_limit(self) -> float:
        """Largest upper 95 % limit of the share of flips at any threshold."""
        return max((threshold.flips_limit for threshold in self.thresholds), default=0.0)

    @property
    def guard(self) -> float:
        """Widest guard band, in the measure's unit."""
        return max((threshold.guard for threshold in self.thresholds), default=0.0)


def correlation(replay: Replayed) -> float | None:
    """Return the rank correlation at the worst batch size; None if it is undefined."""
    if replay.unusable or len(replay) < FEWEST:
        return None
    correlations = [rank_correlation(replay.reference, scores) for scores in replay.scores]
    return min((value for value in correlations if value is not None), default=None)


def judge_measure(measure: str, replay: Replayed, thresholds: Sequence[float]) -> MeasureVerdict:
    """Carry each threshold and return the verdict; without thresholds, judge at the median."""
    rank = correlation(replay)
    carried = tuple(carry(replay, threshold, rank) for threshold in thresholds)
    judged = carried or (carry(replay, float(np.median(replay.reference)), rank),)
    verdict = max((outcome.verdict for outcome in judged), key=ORDER.index)
    finite = replay.unusable == 0
    return MeasureVerdict(
        measure,
        verdict,
        rank,
        replay.unusable,
        float(np.abs(replay.shift).mean(axis=1).max()) if finite else float("inf"),
        float(replay.largest.max()) if finite else float("inf"),
        carried,
        _reason(judged, verdict),
    )


def carried_retention(table: RetentionTable, verdict: MeasureVerdict) -> RetentionTable | None:
    """Return the table for the new profile; None if the measure is refused.

    Thresholds stay ascending: each is at most those of the levels above it. A level whose threshold would answer none
    of the replayed units is left out, so that the next higher level replaces it.

    Args:
        verdict: verdict whose first thresholds are those of the table.
    """
    if verdict.verdict == "refused":
        return None
    carried = verdict.thresholds[: len(table.levels)]
    lowest = np.minimum.accumulate([threshold.carried for threshold in carried][::-1])[::-1]
    kept = [(level, float(value)) for level, value in zip(table.levels, lowest, strict=True) if np.isfinite(value)]
    if not kept:
        return None
    moved = any(threshold.carried != threshold.threshold or threshold.flips for threshold in carried)
    lost = max(table.lost, max(threshold.lost_limit for threshold in carried)) if moved else table.lost
    levels, thresholds = zip(*kept, strict=True)
    return msgspec.structs.replace(table, levels=levels, thresholds=thresholds, lost=lost)


def carried_values(values: tuple[float, ...], replay: Replayed, verdict: Verdict) -> tuple[float, ...]:
    """Return scores that are not thresholds (in-domain quantiles, knots), unchanged if carried, else mapped."""
    return values if verdict == "carried" else tuple(mapped(replay, np.array(values)).tolist())


def carried_expected_error(table: ExpectedError | None, replay: Replayed, verdict: Verdict) -> ExpectedError | None:
    """Return the expected error as a function of the new score; None if there is none."""
    if table is None:
        return None
    return msgspec.structs.replace(table, knots=carried_values(table.knots, replay, verdict))


def mapped(replay: Replayed, values: Float64) -> Float64:
    """Return the values [m] at the same quantiles of the new scores, averaged over batch sizes.

    The map is linear between the ascending scores of either profile; beyond their ends the difference at the end is
    kept. It is not conservative: use it for quantities that are averaged, not for thresholds.
    """
    ordered, places = replay.ordered, np.sort(replay.scores.astype(np.float64), axis=1).mean(axis=0)
    known, first = np.unique(ordered, return_index=True)
    last = np.append(first[1:], len(ordered)) - 1
    target = (places[first] + places[last]) / 2
    moved = np.interp(values, known, target)
    moved += np.minimum(values - known[0], 0) + np.maximum(values - known[-1], 0)
    return np.asarray(np.maximum.accumulate(moved)) if (np.diff(values) >= 0).all() else moved


def _reason(judged: tuple[CarriedThreshold, ...], verdict: Verdict) -> str:
    if verdict == "carried":
        return ""
    blamed = [outcome for outcome in judged if outcome.verdict == verdict]
    reason = max(blamed, key=lambda threshold: max(threshold.flips, threshold.predicted, threshold.flips_limit)).reason
    return reason if len(blamed) == len(judged) else f"{reason} (at {len(blamed)} of {len(judged)} thresholds)"
