"""Unary questions over a real socket."""

import threading
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist

import grpc
import numpy as np
import pytest

import demur
from demur._errors import from_call
from demur.v1 import common_pb2 as common
from tests.clients.stand_in import PROFILE


def test_answer_is_the_models(client, rows, model):
    power, uncertainty = model
    batch = rows(200)
    answer = client.vessel.predict(batch)
    total = uncertainty(batch)
    np.testing.assert_array_equal(answer.mean, power(batch))
    np.testing.assert_array_equal(answer.variance, total)
    np.testing.assert_array_equal(answer.total, total)
    np.testing.assert_array_equal(answer.data, total * np.float32(0.75))
    np.testing.assert_array_equal(answer.knowledge, total * np.float32(0.25))
    np.testing.assert_array_equal(answer.deferred, answer.uncertainty > answer.threshold)
    assert 0 < answer.deferred.sum() < 200
    assert (answer.measure, answer.model, answer.policy) == ("tvar", "vessel:1", "p1")
    assert answer.profile == PROFILE
    assert len(answer) == len(answer.prediction_ids) == 200
    assert answer.prediction_ids[3] == "0000000000abcdef-103"
    assert answer.recorded
    assert not answer.answered
    assert answer.member_means is None
    assert "200 rows" in repr(answer)
    assert len(repr(answer)) < 120


def test_columns_and_arrays_agree(client, rows, columns):
    batch = rows(50)
    by_array = client.vessel.predict(batch)
    for form in (columns(batch), batch.astype(np.float64), batch.tolist(), np.asfortranarray(batch)):
        np.testing.assert_array_equal(client.vessel.predict(form).mean, by_array.mean)
    np.testing.assert_array_equal(client.vessel.predict(batch[7]).mean, by_array.mean[7:8])
    np.testing.assert_array_equal(client.vessel.predict(columns(batch[7:8])).mean, by_array.mean[7:8])


def test_arrays_are_read_only_and_float32(client, rows):
    answer = client.vessel.predict(rows(3), members=True)
    arrays = [
        answer.mean,
        answer.total,
        answer.data,
        answer.knowledge,
        answer.uncertainty,
        answer.member_means,
    ]
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}
    assert answer.decisions.dtype == np.uint8
    assert answer.deferred.dtype == answer.shifted.dtype == np.bool_
    for array in (*arrays, answer.decisions, answer.deferred, answer.shifted):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        answer.mean = None


def test_members_on_request(client, rows):
    answer = client.vessel.predict(rows(5), members=True)
    assert answer.member_means.shape == answer.member_variances.shape == (3, 5)
    np.testing.assert_allclose(answer.member_means.mean(axis=0), answer.mean, rtol=1e-6)


def test_shift_has_reasons(client, rows):
    batch = np.tile(rows(1) * 0.01, (4, 1))
    batch[1, 2] = 39  # beyond the trained speed
    batch[2:, 8] = 25  # beyond trained waves, and where members disagree
    answer = client.vessel.predict(batch)
    both = ("outside_training_range", "knowledge_above_reference")
    assert answer.shift_reasons == ((), both[:1], both, both)
    np.testing.assert_array_equal(answer.shifted, [False, True, True, True])


def test_a_caller_can_be_stricter(client, rows):
    batch = np.tile(rows(1) * 0.01, (3, 1))
    batch[:, 8] = [0, 2, 20]
    answer = client.vessel.predict(batch, defer_above=20_000.0)
    np.testing.assert_array_equal(answer.decisions, [1, 3, 2])
    np.testing.assert_array_equal(answer.deferred, [False, True, True])
    assert client.vessel.predict(batch[:1]).answered


def test_purposes_travel(client, vessel, rows):
    for purpose in ("decide", "explore", "replay"):
        client.vessel.predict(rows(1), purpose=purpose)
    assert [question.purpose for question in vessel.questions] == [
        common.PURPOSE_DECIDE,
        common.PURPOSE_EXPLORE,
        common.PURPOSE_REPLAY,
    ]


def test_intervals(client, vessel, rows):
    batch = rows(20)
    answer = client.vessel.predict(batch)
    for level, multiplier in ((0.5, 0.7), (0.9, 2.0), (0.7, 1.35), (0.25, 0.35)):
        low, high = answer.interval(level)
        half = multiplier * np.sqrt(answer.total, dtype=np.float64)
        np.testing.assert_allclose(high - answer.mean, half, rtol=1e-3)
        np.testing.assert_allclose(answer.mean - low, half, rtol=1e-3)
    for level in (0.0, 1.0, -1, 0.95, float("nan")):
        with pytest.raises(demur.InvalidInput, match="level"):
            answer.interval(level)
    vessel.singular = True
    answer = client.vessel.predict(batch)
    assert answer.intervals == demur.Intervals((), ())
    low, high = answer.interval(0.95)
    np.testing.assert_allclose((high - low) / 2, NormalDist().inv_cdf(0.975) * np.sqrt(answer.total), rtol=1e-3)
    assert answer.knowledge is None
    assert answer.data is not None


def test_what_does_not_exist_is_none(client, vessel, rows):
    vessel.singular = True
    answer = client.vessel.predict(rows(2))
    assert answer.knowledge is None
    assert answer.intervals.levels == ()
    assert answer.measure == "mvar"


def test_wrong_columns_send_nothing(client, vessel, rows, columns):
    batch = columns(rows(2))
    client.vessel.describe()
    for broken in (
        {name: values for name, values in batch.items() if name != "stw"},
        {**batch, "speed": batch["stw"]},
        {**batch, "stw": [1.0, 2.0, 3.0]},
        {**batch, "stw": 1e39},
    ):
        with pytest.raises(demur.InvalidInput, match=r"stw|speed"):
            client.vessel.predict(broken)
    assert vessel.calls == ["Describe"]


def test_described_once_a_connection(client, vessel, rows):
    for _ in range(3):
        client.vessel.predict(rows(1))
    assert vessel.calls == ["Describe", "Predict", "Predict", "Predict"]


def test_describe(client):
    described = client.vessel.describe()
    assert described.task == "vessel"
    assert described.names[2] == "stw"
    assert described.units["timeSinceDryDock"] == "min"
    assert described.ranges["stw"] == (0.0, 40.0)
    assert described.heads[0].acceptable == 25e4
    assert described.policy.version == "p1"
    assert described.max_rows == 50_000
    with pytest.raises(AttributeError):
        described.task = "other"


def test_service_refuses_with_the_same_error(client, rows):
    batch = rows(4)
    batch[2, 2] = 400
    with pytest.raises(demur.InvalidInput) as caught:
        client.vessel.predict(batch)
    error = caught.value
    assert (error.code, error.field, error.value, error.unit, error.index) == (
        "out_of_range",
        "stw",
        "400",
        "kn",
        2,
    )
    assert error.allowed == "[0, 40]"
    assert "400 kn" in str(error)


def test_too_many_rows_point_to_stream(client, vessel, rows):
    with pytest.raises(demur.TooLarge, match="stream"):
        client.vessel.predict(rows(50_001))
    assert vessel.calls == ["Describe"]
    vessel.max_rows = 0
    client.vessel.describe()
    with pytest.raises(demur.TooLarge):
        client.vessel.predict(np.zeros((450_000, 10), np.float32))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("INVALID_ARGUMENT", demur.InvalidInput),
        ("OUT_OF_RANGE", demur.InvalidInput),
        ("RESOURCE_EXHAUSTED", demur.Busy),
        ("DEADLINE_EXCEEDED", demur.DeadlineExceeded),
        ("UNAVAILABLE", demur.Unavailable),
        ("CANCELLED", demur.Unavailable),  # a connection that ended; who cancels on purpose says so
        ("NOT_FOUND", demur.NotFound),
        ("UNAUTHENTICATED", demur.AccessDenied),
        ("PERMISSION_DENIED", demur.AccessDenied),
        ("INTERNAL", demur.ServiceFailure),
        ("UNKNOWN", demur.ServiceFailure),
        ("UNIMPLEMENTED", demur.ServiceFailure),
        ("DATA_LOSS", demur.ServiceFailure),
    ],
)
def test_every_status_has_its_error(client, vessel, rows, status, kind):
    client.vessel.describe()
    vessel.faults = [grpc.StatusCode[status]] * 9
    with pytest.raises(demur.DemurError, match="out of order") as caught:
        client.vessel.predict(rows(1))
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, grpc.RpcError)
    assert vessel.calls.count("Predict") == (4 if kind is demur.Unavailable else 1)


@pytest.mark.parametrize(
    ("detail", "kind", "after"),
    [
        ({"code": "queue_full", "retry_after_seconds": 1.5}, demur.Busy, 1.5),
        ({"code": "full_of_work", "retry_after_seconds": 0.5}, demur.Busy, 0.5),
        ({"code": "too_large"}, demur.TooLarge, None),
        ({"code": "too_many_bytes"}, demur.TooLarge, None),
    ],
)
def test_want_of_room_is_told_from_size(client, vessel, rows, refusal, detail, kind, after):
    client.vessel.describe()
    vessel.faults = [refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, message="no room", **detail)]
    with pytest.raises(kind, match="no room") as caught:
        client.vessel.predict(rows(1))
    assert caught.value.retry_after_seconds == after
    assert caught.value.code == detail["code"]
    assert vessel.calls.count("Predict") == 1


@pytest.mark.parametrize("option", [{"purpose": "guess"}, {"defer_above": float("nan")}])
def test_wrong_options_are_named(client, vessel, rows, option):
    with pytest.raises(demur.InvalidInput) as caught:
        client.vessel.predict(rows(1), **option)
    assert caught.value.field == next(iter(option))
    with pytest.raises(demur.InvalidInput):
        client.vessel.stream([rows(1)], **option)
    assert vessel.calls == []


def test_deadline(client, vessel, rows):
    client.vessel.describe()
    vessel.held = threading.Event()
    try:
        with pytest.raises(demur.DeadlineExceeded, match=r"no answer within 0\.1 s"):
            client.vessel.predict(rows(1), timeout=0.1)
    finally:
        vessel.held.set()  # nothing else lets the answer go: the client did not wait for it


def test_retried_while_unavailable(client, vessel, rows):
    client.vessel.describe()
    vessel.faults = [grpc.StatusCode.UNAVAILABLE] * 3
    assert len(client.vessel.predict(rows(2))) == 2
    assert vessel.calls.count("Predict") == 4


def test_retry_can_be_off(service, rows):
    with demur.connect(service.target, retry=demur.Retry(attempts=1)) as client:
        client.vessel.describe()
        service.vessel.faults = [grpc.StatusCode.UNAVAILABLE]
        with pytest.raises(demur.Unavailable):
            client.vessel.predict(rows(1))
    assert service.vessel.calls.count("Predict") == 1


def test_a_restarted_service_is_found_again(service, rows):
    retry = demur.Retry(attempts=12, initial_seconds=0.05, max_seconds=0.3)
    with demur.connect(service.target, retry=retry) as client:
        before = client.vessel.predict(rows(1))
        service.stop()
        timer = threading.Timer(0.4, service.start)
        timer.start()
        after = client.vessel.predict(rows(1), timeout=8)
        timer.join()
    np.testing.assert_array_equal(before.mean, after.mean)


def test_nobody_there(rows):
    with demur.connect("127.0.0.1:1", retry=demur.Retry(attempts=2, initial_seconds=0.01)) as client:
        with pytest.raises(demur.Unavailable) as caught:
            client.vessel.predict(rows(1), timeout=5)
        message = "no service answers at 127.0.0.1:1; start it with `demur up` or check the address"
        assert str(caught.value) == message
        assert not client.ready(0.2)


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("ipv6:%5B::1%5D:4005: Failed to connect to remote host: Connection refused", "[::1]:4005"),
        ("unix:/run/none.sock: connect failed: addr: unix:/run/none.sock error: No such file", "/run/none.sock"),
    ],
)
def test_where_nobody_listens_is_told_for_every_kind_of_address(words, where):
    class Failed(grpc.RpcError):
        code = staticmethod(lambda: grpc.StatusCode.UNAVAILABLE)
        details = staticmethod(lambda: f"failed to connect to all addresses; last error: UNKNOWN: {words}")
        trailing_metadata = staticmethod(lambda: ())

    assert str(from_call(Failed())).startswith(f"no service answers at {where}; ")


def test_a_connection_that_ends_under_a_call_is_asked_again(client, vessel, rows):
    client.vessel.describe()
    vessel.faults = [grpc.StatusCode.CANCELLED]
    assert len(client.vessel.predict(rows(1))) == 1
    assert vessel.calls.count("Predict") == 2


def test_a_call_that_the_service_cancels_in_words_or_this_side_closes_is_not(service, vessel, rows, refusal):
    with demur.connect(service.target) as client:
        client.vessel.describe()
        vessel.faults = [refusal(grpc.StatusCode.CANCELLED, code="cancelled", message="the request was cancelled")]
        with pytest.raises(demur.Cancelled, match="the request was cancelled"):
            client.vessel.predict(rows(1))
        vessel.seconds = 0.5
        timer = threading.Timer(0.1, client.close)
        timer.start()
        with pytest.raises(demur.Cancelled):
            client.vessel.predict(rows(1))
        timer.join()
    assert vessel.calls.count("Predict") == 2


def test_ready_waits_for_serving(service, client):
    assert client.ready()
    service.health.status = 2
    assert not client.ready(0.15)
    timer = threading.Timer(0.2, lambda: setattr(service.health, "status", 1))
    timer.start()
    assert client.ready(5)
    timer.join()


def test_a_changed_schema_is_learnt(client, vessel, rows):
    client.vessel.predict(rows(1))
    vessel.schema_hash = "ffff"
    with pytest.raises(demur.InvalidInput, match="another schema"):
        client.vessel.predict(rows(1))
    assert len(client.vessel.predict(rows(1))) == 1


def test_threads_share_a_client(client, rows, model):
    def ask(n):
        return n, client.vessel.predict(rows(n)).mean

    with ThreadPoolExecutor(8) as pool:
        for n, mean in pool.map(ask, range(1, 60)):
            np.testing.assert_array_equal(mean, model[0](rows(n)))


def test_a_closed_client_says_so(service, rows):
    with demur.connect(service.target) as client:
        assert client.ready()
    for ask in (client.ready, client.vessel.describe, lambda: list(client.vessel.stream([rows(1)]))):
        with pytest.raises(RuntimeError, match="closed"):
            ask()


def test_token_and_agent_travel(service, rows):
    with demur.connect(service.target, token="secret") as client:
        client.vessel.predict(rows(1))
    assert service.vessel.metadata["authorization"] == "Bearer secret"
    assert service.vessel.metadata["user-agent"].startswith(f"demur-python/{demur.__version__} ")


@pytest.mark.parametrize("target", ["vessel:4005", "dns:///10.0.0.1:4005", "127.0.0.1.example.org:4005"])
def test_token_stays_out_of_clear_text(target):
    with pytest.raises(ValueError, match="clear text"):
        demur.connect(target, token="secret")
    demur.connect(target, token="secret", tls=False).close()
    demur.connect(target, token="secret", tls=True).close()


@pytest.mark.parametrize("target", ["localhost:1", "127.0.0.1:1", "[::1]:1", "ipv4:127.0.0.1:1", "unix:/run/x"])
def test_token_may_stay_on_this_machine(target):
    demur.connect(target, token="secret").close()


def test_no_rows_give_an_empty_answer(client, rows):
    answer = client.vessel.predict(rows(0))
    assert len(answer) == len(answer.prediction_ids) == len(answer.mean) == 0
    assert answer.answered
    assert answer.shift_reasons == ()


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_timeout_that_is_no_time_is_refused(client, rows, seconds):
    with pytest.raises(demur.InvalidInput, match="above 0") as refused:
        client.vessel.predict(rows(1), timeout=seconds)
    assert (refused.value.field, refused.value.unit) == ("timeout", "s")
