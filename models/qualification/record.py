"""Record of a qualification: verdicts, the numbers behind them, and the scores, so that any threshold can be carried.

document = qualify(...)                      # once, after a replay
text = encode(document)                      # JSON, for the model store
document = decode(text)
found = carried(document, "power", calibration)             # HeadVerdict, with a Calibration
at = carried_threshold(document, "power", "tvar", 3e6)      # CarriedThreshold
promise = certificate(document, "power", "tvar", 3e6, json.loads(policy.certificate))
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.calibration import Calibration
from models.profile import Profile
from models.qualification.head import HeadVerdict, judge_head
from models.qualification.intervals import Means, MeansVerdict, judge_means
from models.qualification.measure import ORDER, MeasureVerdict, correlation
from models.qualification.packed import Packed, pack, unpack
from models.qualification.promise import CarriedCertificate, carried_certificate
from models.qualification.replayed import Replayed, replayed
from models.qualification.sentence import sentence
from models.qualification.threshold import CarriedThreshold, Verdict, carry

FORMAT = 1
MEAN = "mean"
"""Name under which a replay has the means of a Gaussian head, beside its measures."""
VARIANCES = ("tvar", "variance", "mvar")
"""Measures that are the variance of a Gaussian prediction; the first that a head has is that of its intervals."""

Scores = Mapping[str, Mapping[str, NDArray[np.float32]]]
"""Head to measure (or ``MEAN``) to [n]."""


class ThresholdRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Threshold of the retention table, or one in force; see ``threshold.CarriedThreshold``."""

    threshold: float
    carried: float | None
    """Threshold to compare with the new scores; None if everything is deferred."""
    verdict: Verdict
    guard: float
    flips: float
    predicted: float
    flips_limit: float
    newly: int
    newly_limit: float
    lost: int
    lost_limit: float


class MeasureRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measure of a head; see ``measure.MeasureVerdict``."""

    verdict: Verdict
    correlation: float | None
    unusable: int
    mean_shift: float | None
    """Mean shift; None if scores are not finite."""
    largest_shift: float | None
    flips: float
    guard: float
    reason: str
    thresholds: tuple[ThresholdRecord, ...]
    scores: Packed


class MeansRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Means of a Gaussian head; see ``intervals.MeansVerdict``. None if a mean is not finite."""

    verdict: Verdict
    mean: float | None
    high: float | None
    largest: float | None
    variance: str
    """Measure that is the variance of the intervals."""
    reason: str
    means: Packed


class HeadRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Verdict on one head."""

    verdict: Verdict
    measure: str
    """Name of the head's own measure."""
    measures: dict[str, MeasureRecord]
    means: MeansRecord | None
    sentence: str
    """Verdict as a sentence, with units."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Verdict on one artefact under one numeric profile, with numbers and scores."""

    format: Literal[1] = 1
    artefact: str
    """Version: hash of its content."""
    tag: str
    profile: Profile
    profile_name: str
    reference_profile: str
    """Name of the profile that the artefact was calibrated under."""
    libraries: dict[str, str]
    driver: str
    cpu: str
    batches: tuple[int, ...]
    units: int
    in_domain: float
    """Least share of the units that are in-domain."""
    inputs: str
    """Name of the replayed file of inputs, which contains its hash."""
    heads: dict[str, HeadRecord]
    verdict: Verdict
    """Worst verdict of the heads."""
    seconds: float
    time: str
    """End of the replay, RFC 3339."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Verdict in sentences: one line for the artefact, then one per head."""
        first = (
            f"{self.tag} under {self.profile_name}: {self.verdict}, from {self.units} units replayed at batch "
            f"{', '.join(map(str, self.batches))} against {self.reference_profile}"
        )
        return (first, *(f"{name}: {head.sentence}" for name, head in self.heads.items()))


def qualify(
    calibrations: Mapping[str, Calibration],
    reference: Scores,
    scores: Sequence[Scores],
    *,
    artefact: str,
    tag: str,
    profile: Profile,
    reference_profile: str,
    batches: Sequence[int],
    libraries: Mapping[str, str],
    driver: str = "",
    cpu: str = "",
    units_of_measure: Mapping[str, str] | None = None,
    thresholds: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    in_domain: float = 1.0,
    inputs: str = "",
    seconds: float = 0.0,
    time: str = "",
) -> Record:
    """Judge all heads.

    Args:
        calibrations: head to calibration under the reference profile.
        reference: head to measure to [n]; Gaussian heads have ``MEAN``, too.
        scores: like ``reference``, at each of the batch sizes.
        units_of_measure: head to the unit of its means, for sentences.
        thresholds: head to measure to thresholds that are in force and not tabulated.
        in_domain: least share of the units that are in-domain.
        inputs: name of the file of inputs.
        time: end of the replay, RFC 3339.

    Raises:
        ValueError: a head or measure is missing, or shapes do not match.
    """
    if len(scores) != len(batches):
        raise ValueError(f"{len(scores)} replays for {len(batches)} batch sizes: must be one each")
    units = units_of_measure or {}
    heads, count = {}, set()
    for name, calibration in calibrations.items():
        measures, means, variance = _arrays(name, reference, scores, in_domain)
        count |= {len(replay) for replay in measures.values()}
        extra = (thresholds or {}).get(name)
        verdict = judge_head(calibration, measures, _means(measures, means, variance), extra)
        heads[name] = _head(verdict, measures, means, variance, units.get(name, ""))
    if len(count) != 1:
        raise ValueError(f"heads and measures have {sorted(count)} units: must be the same number")
    return Record(
        artefact=artefact,
        tag=tag,
        profile=profile,
        profile_name=profile.name,
        reference_profile=reference_profile,
        libraries=dict(libraries),
        driver=driver,
        cpu=cpu,
        batches=tuple(batches),
        units=count.pop(),
        in_domain=in_domain,
        inputs=inputs,
        heads=heads,
        verdict=max((head.verdict for head in heads.values()), key=ORDER.index),
        seconds=seconds,
        time=time,
    )


def encode(record: Record) -> bytes:
    """Return the record as JSON."""
    return msgspec.json.encode(record)


def decode(text: bytes | str) -> Record:
    """Return the record of ``encode``.

    Raises:
        ValueError: not a record of this format, or scores that cannot be unpacked.
    """
    try:
        record = msgspec.json.decode(text, type=Record)
        for head in record.heads.values():
            for measure in head.measures.values():
                unpack(measure.scores)
            if head.means is not None:
                unpack(head.means.means)
            if head.measure not in head.measures:
                raise ValueError(f"the head's own measure {head.measure!r} is missing")
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(f"qualification record: {error}") from error
    return record


def carried(
    record: Record, head: str, calibration: Calibration, thresholds: Mapping[str, Sequence[float]] | None = None
) -> HeadVerdict:
    """Return the head's calibration for the record's profile, from its scores; deterministic.

    Raises:
        KeyError: the record has no such head.
    """
    head_record = record.heads[head]
    measures = {name: unpack(measure.scores, record.in_domain) for name, measure in head_record.measures.items()}
    return judge_head(calibration, measures, _recorded_means(head_record), thresholds)


def carried_threshold(record: Record, head: str, measure: str, threshold: float) -> CarriedThreshold:
    """Return any threshold of a measure, tabulated or not, for the record's profile.

    If the head's means are refused, so is the threshold; if they are worse than carried, it is at best mapped.

    Raises:
        KeyError: the record has no such head or measure.
        ValueError: the threshold is NaN.
    """
    head_record = record.heads[head]
    replay = unpack(head_record.measures[measure].scores, record.in_domain)
    at = carry(replay, threshold, correlation(replay))
    means = _recorded_means(head_record)
    moved = None if means is None else judge_means(means)
    if moved is None or ORDER.index(moved.verdict) <= ORDER.index(at.verdict):
        return at
    return _worsened(at, moved)


def certificate(
    record: Record, head: str, measure: str, threshold: float, text: Mapping[str, Any]
) -> CarriedCertificate:
    """Return the certificate of a threshold for the record's profile; see ``promise``."""
    means = _recorded_means(record.heads[head])
    return carried_certificate(
        text,
        carried_threshold(record, head, measure, threshold),
        profile=record.profile_name,
        reference_profile=record.reference_profile,
        means=None if means is None else judge_means(means),
    )


def _arrays(
    head: str, reference: Scores, scores: Sequence[Scores], in_domain: float
) -> tuple[dict[str, Replayed], Replayed | None, str]:
    """Return measures, means and the name of the variance of a head."""
    try:
        measures = {
            name: replayed(values, np.stack([each[head][name] for each in scores]), in_domain)
            for name, values in reference[head].items()
        }
    except KeyError as error:
        raise ValueError(f"head {head}: {error.args[0]!r} is missing in a replay") from error
    means = measures.pop(MEAN, None)
    variance = next((name for name in VARIANCES if name in measures), "")
    if means is not None and not variance:
        raise ValueError(f"head {head}: means need a variance, one of {', '.join(VARIANCES)}")
    return measures, means, variance


def _means(measures: Mapping[str, Replayed], means: Replayed | None, variance: str) -> Means | None:
    if means is None:
        return None
    return Means(means.reference, measures[variance].reference, means.scores, measures[variance].scores)


def _recorded_means(head: HeadRecord) -> Means | None:
    if head.means is None:
        return None
    return _means(
        {head.means.variance: unpack(head.measures[head.means.variance].scores)},
        unpack(head.means.means),
        head.means.variance,
    )


def _head(
    head: HeadVerdict, measures: Mapping[str, Replayed], means: Replayed | None, variance: str, unit: str
) -> HeadRecord:
    moved = None
    if means is not None and head.means is not None:
        means_verdict = head.means
        moved = MeansRecord(
            means_verdict.verdict,
            _finite(means_verdict.mean),
            _finite(means_verdict.high),
            _finite(means_verdict.largest),
            variance,
            means_verdict.reason,
            pack(means),
        )
    return HeadRecord(
        head.verdict,
        head.measure,
        {name: _measure(measure, measures[name]) for name, measure in head.measures.items()},
        moved,
        sentence(head, unit),
    )


def _measure(measure: MeasureVerdict, replay: Replayed) -> MeasureRecord:
    return MeasureRecord(
        measure.verdict,
        measure.correlation,
        measure.unusable,
        _finite(measure.mean_shift),
        _finite(measure.largest_shift),
        measure.flips,
        measure.guard,
        measure.reason,
        tuple(_threshold(threshold) for threshold in measure.thresholds if np.isfinite(threshold.threshold)),
        pack(replay),
    )


def _threshold(threshold: CarriedThreshold) -> ThresholdRecord:
    return ThresholdRecord(
        threshold.threshold,
        _finite(threshold.carried),
        threshold.verdict,
        threshold.guard,
        threshold.flips,
        threshold.predicted,
        threshold.flips_limit,
        threshold.newly,
        threshold.newly_limit,
        threshold.lost,
        threshold.lost_limit,
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _worsened(at: CarriedThreshold, moved: MeansVerdict) -> CarriedThreshold:
    """Lower the verdict to that of the means."""
    carried = -np.inf if moved.verdict == "refused" else at.carried
    return replace(at, verdict=moved.verdict, carried=float(carried), reason=moved.reason)
