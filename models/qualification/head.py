"""Carry the calibration of one head to another numeric profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from models.calibration import Calibration, Measured
from models.qualification.intervals import Means, MeansVerdict, carried_intervals, judge_means
from models.qualification.measure import (
    ORDER,
    MeasureVerdict,
    carried_expected_error,
    carried_retention,
    carried_values,
    judge_measure,
)
from models.qualification.replayed import Replayed
from models.qualification.threshold import Verdict


@dataclass(frozen=True)
class HeadVerdict:
    """Verdict on a head, with its numbers."""

    verdict: Verdict
    """Worse verdict of its own measure and of its means."""
    measure: str
    """Name of the head's own measure."""
    measures: Mapping[str, MeasureVerdict]
    means: MeansVerdict | None
    """Verdict on means; None if the head is not Gaussian."""
    calibration: Calibration | None
    """Calibration for the new profile; None if the head is refused."""

    @property
    def reason(self) -> str:
        """Reason why the head is not carried; empty if it is."""
        reasons = [self.measures[self.measure].reason, "" if self.means is None else self.means.reason]
        return "; ".join(filter(None, reasons))

    def of(self, measure: str) -> Verdict:
        """Return the verdict for policies that defer by this measure."""
        kinds = [self.measures[measure].verdict, *([] if self.means is None else [self.means.verdict])]
        return max(kinds, key=ORDER.index)


def judge_head(
    calibration: Calibration,
    scores: Mapping[str, Replayed],
    means: Means | None = None,
    thresholds: Mapping[str, Sequence[float]] | None = None,
) -> HeadVerdict:
    """Judge each measure of a head and carry its calibration.

    A refused measure is removed from ``others`` and ``reference``: it can be used neither for deferral nor to detect
    unfamiliar units. Others are judged by their own scores.

    Args:
        calibration: calibration under the reference profile.
        scores: scores of the head's own measure, and of the others that it is calibrated for; missing ones are dropped.
        means: means of a Gaussian head.
        thresholds: by measure, further ones that are in force (fixed or certified).

    Raises:
        ValueError: the head's own measure has no scores.
    """
    own = calibration.retention.measure
    if own not in scores:
        raise ValueError(f"scores of the measure {own!r} are missing; replayed were {', '.join(scores) or 'none'}")
    tables = {own: calibration.retention} | {name: each.retention for name, each in calibration.others.items()}
    extra = thresholds or {}
    measures = {
        name: judge_measure(name, replay, [*(tables[name].thresholds if name in tables else ()), *extra.get(name, ())])
        for name, replay in scores.items()
    }
    moved = None if means is None else judge_means(means)
    judged = HeadVerdict(measures[own].verdict, own, measures, moved, None)
    verdict = judged.of(own)
    table = carried_retention(calibration.retention, measures[own])
    if verdict == "refused" or table is None:
        return HeadVerdict("refused", own, measures, moved, None)
    others = {}
    for name, each in calibration.others.items():
        if name in scores and (other := carried_retention(each.retention, measures[name])) is not None:
            error = carried_expected_error(each.expected_error, scores[name], measures[name].verdict)
            others[name] = Measured(other, error)
    intervals = calibration.intervals
    if intervals is not None:
        intervals = None if means is None else carried_intervals(intervals, means)
    error_table = calibration.expected_error
    if error_table is not None and error_table.measure in scores:
        of = error_table.measure
        error_table = carried_expected_error(error_table, scores[of], measures[of].verdict)
    carried = msgspec.structs.replace(
        calibration,
        retention=table,
        reference={
            name: carried_values(values, scores[name], measures[name].verdict)
            for name, values in calibration.reference.items()
            if name in scores and measures[name].verdict != "refused"
        },
        intervals=intervals,
        expected_error=error_table,
        others=others,
    )
    return HeadVerdict(verdict, own, measures, moved, carried)
