"""Streams over a real socket: order, bounds, failures, cancellation."""

import tracemalloc

import grpc
import numpy as np
import pytest

import demur
from demur.v1 import common_pb2 as common


def test_one_answer_a_batch_in_order(client, vessel, rows, columns, model):
    sizes = [n % 37 for n in range(300)]
    batches = (columns(rows(n)) if n % 2 else rows(n) for n in sizes)
    answers = list(client.vessel.stream(batches))
    assert [len(answer) for answer in answers] == sizes
    for n, answer in zip(sizes, answers, strict=True):
        np.testing.assert_array_equal(answer.mean, model[0](rows(n)))
    assert 1 < vessel.most_unanswered <= vessel.window_chunks
    assert vessel.questions[-1].purpose == common.PURPOSE_EXPLORE
    assert not answers[0].recorded


@pytest.mark.parametrize("window", [1, 2, 100])
def test_window_bounds_what_is_drawn_ahead(client, vessel, rows, window):
    drawn = 0

    def batches():
        nonlocal drawn
        for _ in range(40):
            drawn += 1
            yield rows(3)

    vessel.seconds = 0.002
    bound = min(window, vessel.window_chunks)
    for position, _ in enumerate(client.vessel.stream(batches(), window=window)):
        assert drawn - position <= bound
    assert vessel.most_unanswered <= bound


def test_options_travel(client, vessel, rows):
    stream = client.vessel.stream([rows(2)], purpose="decide", defer_above=5.0, members=True)
    answer = next(stream)
    assert answer.member_means.shape == (3, 2)
    assert (vessel.questions[-1].purpose, vessel.questions[-1].defer_above) == (common.PURPOSE_DECIDE, 5.0)
    assert list(stream) == []


def test_large_batches_are_split_and_put_together(client, rows):
    batch = rows(1000)
    whole = client.vessel.predict(batch, members=True)
    answers = list(client.vessel.stream([batch, batch[:5]], chunk_rows=300, members=True))
    assert [len(answer) for answer in answers] == [1000, 5]
    joined = answers[0]
    for name in ("mean", "total", "data", "knowledge", "uncertainty", "decisions", "shifts", "deferred"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    np.testing.assert_array_equal(joined.member_means, whole.member_means)
    np.testing.assert_array_equal(joined.interval(0.9), whole.interval(0.9))
    assert len(joined.prediction_ids) == 1000
    assert joined.prediction_ids[999] == "0000000000abcdef-2099"
    assert (joined.threshold, joined.policy, joined.measure) == (whole.threshold, whole.policy, whole.measure)
    assert not joined.mean.flags.writeable


def test_more_than_a_message(client, rows, model):
    batch = np.tile(rows(100), (4500, 1))  # 18 MB
    (answer,) = client.vessel.stream([batch])
    np.testing.assert_array_equal(answer.mean, np.tile(model[0](rows(100)), 4500))


def test_single_models_join_too(client, vessel, rows):
    vessel.singular = True
    (answer,) = client.vessel.stream([rows(10)], chunk_rows=3)
    assert answer.knowledge is None
    assert len(answer) == 10


@pytest.mark.parametrize("local", [True, False])
def test_failure_is_raised_at_its_batch(client, vessel, rows, local):
    bad = rows(10)
    bad[7, 2] = 400  # beyond the physical range: the service says so
    batches = iter([rows(1), rows(2), {"stw": 1} if local else bad, rows(3), *[rows(1)] * 50])
    stream = client.vessel.stream(batches, chunk_rows=4)
    assert [len(next(stream)), len(next(stream))] == [1, 2]
    with pytest.raises(demur.InvalidInput) as caught:
        next(stream)
    assert caught.value.__notes__ == ["in batch 2 of the stream"]
    if not local:
        assert (caught.value.field, caught.value.index) == ("stw", 7)
    assert next(batches, None) is not None
    assert vessel.ended.wait(60)
    assert list(stream) == []


def test_failures_can_be_yielded(client, vessel, rows):
    bad = rows(10)
    bad[7, 2] = 400
    batches = [rows(1), bad, {"stw": 1}, rows(2), bad]
    outcomes = list(client.vessel.stream(batches, on_error="yield", chunk_rows=4))
    assert [type(outcome) for outcome in outcomes] == [
        demur.Answer,
        demur.ChunkError,
        demur.ChunkError,
        demur.Answer,
        demur.ChunkError,
    ]
    assert [outcomes[i].position for i in (1, 2, 4)] == [1, 2, 4]
    assert (outcomes[1].error.field, outcomes[1].error.index) == ("stw", 7)
    assert outcomes[2].error.code == "missing_column"


def test_opening_is_retried_and_nothing_later(client, vessel, rows):
    vessel.faults = [grpc.StatusCode.UNAVAILABLE] * 2
    assert len(list(client.vessel.stream([rows(1)] * 3))) == 3
    assert vessel.calls.count("PredictStream") == 3
    vessel.faults = [grpc.StatusCode.INTERNAL]
    with pytest.raises(demur.ServiceFailure):
        list(client.vessel.stream([rows(1)]))


def test_a_lost_service_is_raised(service, client, rows):
    stream = client.vessel.stream(rows(1) for _ in range(10**6))
    next(stream)
    service.stop()
    with pytest.raises(demur.DemurError) as caught:
        list(stream)
    assert isinstance(caught.value, (demur.Unavailable, demur.Cancelled))
    assert service.vessel.calls.count("PredictStream") == 1


def test_closing_cancels(client, vessel, rows):
    def endless():
        while True:
            yield rows(2)

    stream = client.vessel.stream(endless())
    next(stream)
    assert not vessel.ended.is_set()
    stream.close()
    assert vessel.ended.wait(60)
    assert len(client.vessel.predict(rows(1))) == 1


def test_an_error_of_the_callers_own_passes_through(client, vessel, rows):
    def broken():
        yield rows(1)
        raise LookupError("file ended")

    with pytest.raises(LookupError, match="file ended"):
        list(client.vessel.stream(broken()))
    assert vessel.ended.wait(60)


def test_timeout_holds_for_the_stream(client, vessel, rows):
    vessel.seconds = 0.05
    with pytest.raises(demur.DeadlineExceeded, match=r"no answer within 0\.4 s"):
        list(client.vessel.stream((rows(1) for _ in range(1000)), timeout=0.4))


def test_nothing_is_sent_before_it_is_read(client, vessel, rows):
    client.vessel.stream([rows(1)])
    assert vessel.calls == []
    assert list(client.vessel.stream([])) == []


@pytest.mark.parametrize("option", [{"chunk_rows": 0}, {"chunk_rows": 10**9}, {"window": 0}, {"on_error": "log"}])
def test_wrong_options_are_named(client, rows, option):
    with pytest.raises(demur.InvalidInput) as caught:
        list(client.vessel.stream([rows(1)], **option))
    assert caught.value.field == next(iter(option))


def test_a_changed_schema_is_learnt(client, vessel, rows):
    client.vessel.describe()
    vessel.schema_hash = "ffff"
    with pytest.raises(demur.InvalidInput, match="another schema"):
        list(client.vessel.stream([rows(1)]))
    assert len(list(client.vessel.stream([rows(1)]))) == 1


def test_memory_is_bounded(client, rows):
    batch = rows(10_000)  # 0.4 MB there, 0.22 MB back
    batches = (batch.copy() for _ in range(200))
    stream = client.vessel.stream(batches, window=4)
    next(stream)
    tracemalloc.start()
    assert sum(len(answer) for answer in stream) == 199 * 10_000
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()
