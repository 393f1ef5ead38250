"""What callers say of their traces, and which traces are recorded."""

import random

import pytest

from services.runtime.variables import SettingsError
from services.tracing.context import Parent, parent, request_id
from services.tracing.span_queue import Limits
from services.tracing.tracer import Sampler
from tests.services.tracing.kept import PARENT, SPAN, TRACE, UNSAMPLED


def test_the_callers_span_is_read_from_headers_and_from_metadata() -> None:
    expected = Parent(int(TRACE, 16), int(SPAN, 16), True, "vendor=1")
    headers = {"traceparent": PARENT, "tracestate": "vendor=1"}
    assert parent(lambda: headers) == expected
    assert parent(lambda: (*headers.items(), ("demur-bin", b"\x00"))) == expected
    assert parent(lambda: {"traceparent": UNSAMPLED}) == Parent(int(TRACE, 16), int(SPAN, 16), False)
    later = parent(lambda: {"traceparent": f"cc-{TRACE}-{SPAN}-01-what-comes"})
    assert later is not None, "versions to come begin as this one does"
    assert later.span_id == int(SPAN, 16)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        PARENT.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"{PARENT}-more",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE[:-1]}٣-{SPAN}-01",
        PARENT + "\n",
    ],
)
def test_what_is_malformed_is_as_if_it_were_not_there(text: str) -> None:
    assert parent(lambda: {"traceparent": text, "tracestate": "a=1"}) is None


def test_identities_of_requests_are_no_free_text() -> None:
    assert request_id(lambda: {"x-request-id": "7f-A_b.c:9"}) == "7f-A_b.c:9"
    for text in ("", "two words", "é", "x" * 65, 'a"b'):
        assert request_id(lambda text=text: {"x-request-id": text}) == ""  # type: ignore[misc]


def test_a_long_state_of_other_vendors_is_left_behind() -> None:
    parsed = parent(lambda: {"traceparent": PARENT, "tracestate": "a=" + "x" * 511})
    assert parsed is not None
    assert parsed.state == ""


@pytest.mark.parametrize(
    ("name", "argument", "root", "sampled", "unsampled"),
    [
        ("", "", True, True, False),
        ("always_on", "", True, True, True),
        ("always_off", "", False, False, False),
        ("parentbased_always_off", "", False, True, False),
        ("parentbased_traceidratio", "0", False, True, False),
        ("traceidratio", "1", True, True, True),
    ],
)
def test_samplers(name: str, argument: str, root: bool, sampled: bool, unsampled: bool) -> None:
    sampler = Sampler.read({"OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": argument})
    assert sampler.takes(2**128 - 1, None) is root
    assert sampler.takes(5, Parent(5, 1, True)) is sampled
    assert sampler.takes(5, Parent(5, 1, False)) is unsampled


def test_a_ratio_is_a_share_of_traces_and_the_same_ones_as_elsewhere() -> None:
    from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

    sampler = Sampler.read({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"})
    other = TraceIdRatioBased(0.25)
    generator = random.Random(1)
    identities = [generator.getrandbits(128) for _ in range(2000)]
    taken = [sampler.takes(identity, None) for identity in identities]
    assert 400 < sum(taken) < 600
    assert taken == [other.should_sample(None, identity, "").decision.is_sampled() for identity in identities]


@pytest.mark.parametrize(
    "environment",
    [
        {"OTEL_TRACES_SAMPLER": "jaeger_remote"},
        {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1.5"},
        {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "a tenth"},
    ],
)
def test_samplers_that_are_none_are_refused(environment: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="OTEL_TRACES_SAMPLER"):
        Sampler.read(environment)


def test_limits_of_the_queue_are_the_standard_ones() -> None:
    assert Limits.read({}) == Limits()
    limits = Limits.read(
        {"OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "5", "OTEL_BSP_SCHEDULE_DELAY": "250"}
    )
    assert limits == Limits(10, 5, 0.25)
    with pytest.raises(SettingsError, match="OTEL_BSP_MAX_QUEUE_SIZE = 'many'"):
        Limits.read({"OTEL_BSP_MAX_QUEUE_SIZE": "many"})
