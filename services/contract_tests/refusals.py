"""Contract of refusals: typed errors that help the caller, and no harm to the service or to other callers."""

from typing import Any

import pytest

from services.contract_tests.declared import Declared, Serve
from services.contract_tests.example import Example, Refusal
from services.contract_tests.service import PROTOCOLS, Outcome, Service

_REFUSED = {"422", "413", "415", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"}
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_MALFORMED: dict[str, tuple[str, bytes]] = {
    "empty": (_JSON, b""),
    "empty object": (_JSON, b"{}"),
    "no JSON": (_JSON, b"\xff{"),
    "cut off": (_JSON, b'{"a": [[['),
    "a list": (_JSON, b"[]"),
    "a number": (_JSON, b"1e999"),
    "deep": (_JSON, b"[" * 100_000),
    "unknown field": (_JSON, b'{"no field of this task": 1}'),
    "no message": (_PROTOBUF, b"\xff\xff\xff\xff"),
    "empty message": (_PROTOBUF, b""),
    "another type": ("text/csv", b"a,b\n1,2\n"),
}
"""Content type and body of requests that no task answers."""


class RefusalContract(Declared):
    """Tests of requests that cannot be answered."""

    def test_refusals_name_field_value_and_remedy(self, service: Service, example: Example, refusal: Refusal) -> None:
        """The error has code and field; its message names field and value and says what must be."""
        outcomes = [service.of_http(service.post("/v1/predict", json=refusal.json))]
        if refusal.message is not None:
            outcomes += service.together([service.sent(refusal.message.SerializeToString())])
        for outcome in outcomes:
            _check_typed(outcome)
            error = outcome.error
            assert (error["code"], error.get("field")) == (refusal.code, refusal.field), error["message"]
            assert error.get("value"), f"value: must be the value that is refused; {error['message']}"
            assert refusal.field in error["message"], f"message: must name {refusal.field}; {error['message']}"
            assert "must" in error["message"] or ";" in error["message"], (
                f"message: must say what is allowed or what to do; {error['message']}"
            )
        service.answer("http", example)

    @pytest.mark.parametrize("case", _MALFORMED)
    def test_malformed_bodies_are_refused(self, service: Service, example: Example, case: str) -> None:
        """Bodies that are no request get a typed error, and the service goes on."""
        content_type, content = _MALFORMED[case]
        outcome = service.of_http(service.post("/v1/predict", content=content, headers={"content-type": content_type}))
        _check_typed(outcome)
        service.answer("http", example)

    def test_malformed_messages_are_refused(self, service: Service, example: Example) -> None:
        """The same over gRPC and the Open Inference Protocol."""
        calls = [send(content) for content in (b"\xff\xff\xff", b"") for send in (service.sent, service.sent_oip)]
        for outcome in service.together(calls):
            _check_typed(outcome, also={"NOT_FOUND"})  # an empty ModelInfer names no model
        service.answer("grpc", example)

    def test_too_large_requests_are_refused(self, serve: Serve, service: Service, example: Example) -> None:
        """More units or bytes than one call may have are ``TooLarge``."""
        limits: list[dict[str, Any]] = [{"max_rows": len(example.labels) - 1}, {"max_message_bytes": 64}]
        for settings in limits:
            with serve(**settings) as limited:
                outcome = limited.of_http(limited.post("/v1/predict", json={**example.json, "purpose": "decide"}))
                assert outcome.code == "413", f"{settings}: must refuse the example; {outcome.code} {outcome.error}"
                assert outcome.error["code"]

    def test_bad_requests_leave_their_neighbours_unharmed(self, service: Service, example: Example) -> None:
        """Requests beside bad ones are answered as if they were alone."""
        expected = service.answer("http", example)
        bad = [service.sent(b"\xff\xff\xff") for _ in range(4)]
        bad += [
            service.http.post("/v1/predict", content=content, headers={"content-type": content_type})  # type: ignore[misc]
            for content_type, content in _MALFORMED.values()
        ]
        bad += [service.http.post("/v1/predict", json=refusal.json) for refusal in self.refusals.values()]  # type: ignore[misc]
        good = [service.ask(protocol, example, {}) for protocol in PROTOCOLS]
        outcomes = service.together([*bad, *good])[len(bad) :]
        assert [outcome.decisions for outcome in outcomes] == [expected.decisions] * len(good)
        assert service.assembled.scheduler.active == 0, "requests are left in the scheduler"


def _check_typed(outcome: Outcome, also: set[str] | None = None) -> None:
    """Check that an outcome is a refusal with code and message."""
    assert outcome.code in _REFUSED | (also or set()), f"must be refused; got {outcome.code}: {dict(outcome.error)}"
    assert outcome.error.get("code"), f"error: must have a code; got {dict(outcome.error)}"
    assert outcome.error.get("message"), f"error: must have a message; got {dict(outcome.error)}"
