"""TimeBuckets of time, and what adds up."""

import numpy as np
import pytest

from models.drift.bins import Bins
from models.estimation.edges import Edges
from models.estimation.figures import live_figures
from models.estimation.sketch import Sketch
from models.live.time_buckets import DAY, HOUR, BucketLayout, TimeBuckets
from models.live.units import Labels, Units
from models.live.windows import parse_spans
from tests.services.monitor.simulated import BEGIN, Stream, simulate

NOW = BEGIN + 20 * DAY


def columns(stream: Stream, epoch: int = 1) -> Units:
    sequence = np.arange(len(stream))
    decision = np.where(stream.deferred, 2, 1).astype(np.uint8)
    return Units(*(np.full(len(stream), epoch), sequence, stream.time, stream.uncertainty, decision, stream.propensity))


def labels(stream: Stream, chosen: object) -> Labels:
    units = columns(stream).take(chosen)
    error = stream.error[chosen]
    parts = (units.epoch, units.sequence, units.time, units.uncertainty, units.decision, units.propensity)
    return Labels(*parts, error, units.time + 1)


@pytest.fixture
def layout() -> BucketLayout:
    sample = simulate(5000, 100).uncertainty
    return BucketLayout(Edges.of(sample), 4.0, strict=False, bins=Bins((0.5, 1.0, 2.0)))


def month(n: int = 30_000, seed: int = 1) -> Stream:
    return simulate(n, seed, rate=0.2, start=NOW - 40 * DAY, seconds=40 * DAY)


def counted(buckets: TimeBuckets, start: float) -> tuple[int, int]:
    """Units and labels from a moment on."""
    held = [bucket for _, _, bucket in buckets.since(start)]
    return int(buckets.layout.total(held).units.sum()), int(
        sum(bucket.sketch("requested", buckets.layout).labels.sum() for bucket in held)
    )


def test_each_window_holds_the_units_from_its_start_on(layout: BucketLayout) -> None:
    buckets, stream = TimeBuckets(layout), month()
    buckets.advance(NOW)
    buckets.add_units(columns(stream))
    buckets.add_labels("requested", labels(stream, stream.asked))
    for span in parse_spans("15m,1h,5h,1d,7d,30d"):
        start = span.start(NOW)
        assert span.seconds <= NOW - start < span.seconds + span.step
        truth = int((stream.time >= start).sum()), int((stream.time[stream.asked] >= start).sum())
        assert counted(buckets, start) == truth, span.name


def test_buckets_are_the_same_whether_time_passed_before_or_after(layout: BucketLayout) -> None:
    stream = month(6000)
    at_once, step_by_step = TimeBuckets(layout), TimeBuckets(layout)
    at_once.advance(NOW)
    at_once.add_units(columns(stream))
    at_once.add_labels("requested", labels(stream, stream.asked))
    for begin in np.arange(NOW - 40 * DAY, NOW, 7 * HOUR):
        step_by_step.advance(min(begin + 7 * HOUR, NOW))
        there = (stream.time >= begin) & (stream.time < begin + 7 * HOUR)
        step_by_step.add_units(columns(stream).take(there))
        old = stream.asked[(stream.time[stream.asked] < begin + HOUR) & (stream.time[stream.asked] >= begin - 6 * HOUR)]
        step_by_step.add_labels("requested", labels(stream, old))
    rest = stream.asked[stream.time[stream.asked] >= begin + HOUR]
    step_by_step.add_labels("requested", labels(stream, rest))
    step_by_step.advance(NOW)
    assert len(at_once) == len(step_by_step) < 120 + 48 + 32
    for span in parse_spans("1h,1d,30d"):
        first = {begin: bucket for begin, _, bucket in at_once.since(span.start(NOW))}
        other = {begin: bucket for begin, _, bucket in step_by_step.since(span.start(NOW))}
        assert first.keys() == other.keys()
        for begin, bucket in first.items():
            assert (bucket.units == other[begin].units).all()
            assert (bucket.scores == other[begin].scores).all()
            mine, its = (part.sketch("requested", layout) for part in (bucket, other[begin]))
            assert (mine.labels == its.labels).all()
            np.testing.assert_allclose(mine.sums, its.sums, rtol=1e-9, atol=1e-12)


def test_what_is_removed_leaves_nothing(layout: BucketLayout) -> None:
    buckets, stream = TimeBuckets(layout), month(3000)
    buckets.advance(NOW)
    buckets.add_units(columns(stream))
    buckets.add_labels("requested", labels(stream, stream.asked))
    buckets.remove_labels("requested", labels(stream, stream.asked))
    for _, _, bucket in buckets.since(0):
        sketch = bucket.sketch("requested", layout)
        assert not sketch.labels.any()
        np.testing.assert_allclose(sketch.sums, 0, atol=1e-6)


def test_labels_of_units_older_than_all_buckets_are_late(layout: BucketLayout) -> None:
    buckets, stream = TimeBuckets(layout), month(3000)
    buckets.advance(NOW)
    buckets.add_labels("requested", labels(stream, stream.asked))
    oldest = parse_spans("30d")[0].start(NOW)
    assert buckets.late["requested"] == (stream.time[stream.asked] < oldest).sum() > 0


def test_64_shards_in_any_order_are_one_stream(layout: BucketLayout) -> None:
    """As bytes, as several monitors would send them: counts to the last bit, sums to 1e-9."""
    stream = simulate(50_000, 5, rate=0.2)
    whole = layout.empty_sketch()
    source = np.random.default_rng(3)
    shard = source.integers(0, 64, len(stream))
    sent = []
    for number in (None, *range(64)):
        mine = stream if number is None else stream.take(shard == number)
        sketch = whole if number is None else layout.empty_sketch()
        sketch.add_units(mine.uncertainty, ~mine.deferred)
        requested = mine.asked
        sketch.add_labels(
            mine.uncertainty[requested], ~mine.deferred[requested], mine.error[requested], mine.propensity[requested]
        )
        sent.append(sketch.to_bytes())
    merged = layout.empty_sketch()
    for number in source.permutation(64):
        merged.merge(Sketch.from_bytes(sent[1 + number]))
    assert (merged.units == whole.units).all()
    assert (merged.labels == whole.labels).all()
    assert merged.sampled == whole.sampled
    np.testing.assert_allclose(merged.sums, whole.sums, rtol=1e-9)
    first, other = (live_figures(sketch.view()) for sketch in (merged, whole))
    assert first.r_auc.estimate == pytest.approx(other.r_auc.estimate, rel=1e-9)
    assert first.r_auc.high == pytest.approx(other.r_auc.high, rel=1e-9)


@pytest.mark.parametrize("text", ["x", "0m", "31d", "15", "1w", "15m;1h"])
def test_windows_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number and m, h or d"):
        parse_spans(text)
