"""A whole service in this process, on a real ledger: any request to any of its routes and methods.

Right is an answer with a documented status; what breaks the service for later callers is wrong as well.
"""

import asyncio
import json
import random
from collections.abc import Awaitable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import grpc
from prometheus_client import CollectorRegistry

from demur.v1 import common_pb2, labels_pb2, policy_pb2, vessel_pb2
from models import artefact
from services.app.assembly import Assembled, assemble
from services.request.metrics import Metrics
from services.runtime.lifecycle import Lifecycle
from services.runtime.settings import Settings
from services.transport.grpc.server import GrpcServer
from services.transport.http.app import application
from services.transport.serving import Serving
from tests.fuzz import made, raw, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.tenants import ARTEFACTS, PROJECT, row, settings, tenant, text

STATUSES = {200, 202, 204, 404, 405, 409, 413, 415, 422, 429, 499, 501, 503, 504}
CODES = {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "ABORTED", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
PATIENCE_SECONDS = 0.2
"""After which callers of HTTP go away."""
SECONDS = 20.0
"""Of one case on the wall clock: no caller may wait for ever."""
UNIT = "0123456789abcdef-7"
REQUEST = "0123456789abcdef" * 2
_HEADERS = (
    *("content-type", "accept", "demur-actor", "demur-timeout-seconds", "content-encoding", "content-length"),
    *("expect", "transfer-encoding", "authorization", "x", "host", "range", "origin"),
)
_WORDS = (
    *("", "application/json", "application/protobuf", "application/vnd.bentoml+pickle", "multipart/form-data"),
    *("application/json; charset=utf-16", "text/plain", "*/*", "application/zip", "gzip", "0", "-1", "1e400", "nan"),
    *("1_0", "9" * 5000, "1e-9", "100-continue", "chunked", "\x00", "é", "a" * 9000, " ", "²", "inf", "0x1"),
)

_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "", "X")
_TOKENS = ("/", "?", "%00", "%ff", "..", "//", "%2e%2e/", "é", "a" * 3000, "&", "=", "0", "%", "#", "\0")
_QUERIES = ("?wait=1e400", "?wait=nan", "?wait=-1", "?wait=0.01", "?wait=1&wait=2", "?" + "a=b&" * 900)


class Running:
    """A vessel service; ``http`` and ``grpc`` are its doors."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        chosen = settings("vessel", ledger="sqlite", home=folder, ledger_deadline_seconds=5.0, census="power")
        metrics, lifecycle = Metrics("vessel", CollectorRegistry()), Lifecycle()
        source = artefact.read(PROJECT / "artefacts" / "vessel" / ARTEFACTS["vessel"])
        self._assembled = assemble(source, chosen, metrics)
        self._assembled.tenant.warm_up()
        lifecycle.reason = ""
        self.loop.run_until_complete(self._start(self._assembled, chosen, metrics, lifecycle))

    async def _start(self, assembled: Assembled, chosen: Settings, metrics: Metrics, lifecycle: Lifecycle) -> None:
        await assembled.start()
        serving = Serving(assembled.tenant, chosen, metrics, assembled.label_service, assembled.keeper)
        self._server = GrpcServer(serving)
        await self._server.start("127.0.0.1:0")
        await self._server.ready()
        self._channel = grpc.insecure_channel(f"127.0.0.1:{self._server.port}")
        self._app = application(serving, lifecycle)

    def close(self) -> None:
        self.run(self._stop())
        self._assembled.close()
        self.loop.close()

    async def _stop(self) -> None:
        self._channel.close()
        await self._server.drain(0)
        await self._assembled.stop()

    def run(self, awaited: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(awaited, SECONDS))

    async def http(
        self, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer; the caller goes away after a while."""
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path, errors="replace"),
            "raw_path": path.encode(errors="replace"),
            "query_string": query.encode(errors="replace"),
            "headers": headers,
            "server": ("127.0.0.1", 3005),
            "client": ("127.0.0.1", 1),
        }
        sent: list[Any] = []
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if parts:
                return parts.pop()
            await asyncio.sleep(PATIENCE_SECONDS)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        answer_headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], answer_headers, b"".join(event.get("body", b"") for event in sent[1:])

    async def grpc(self, method: str, contents: list[bytes], streamed: bool) -> str:
        """Name of the status of a call of bytes."""
        return await asyncio.to_thread(self._called, method, contents, streamed)

    def _called(self, method: str, contents: list[bytes], streamed: bool) -> str:
        # grpc.aio sometimes reports INTERNAL instead of the service's status if it writes to a stream that the service
        # has just ended (grpc/grpc#36066). The synchronous client reports the status that was sent.
        try:
            if streamed:
                for _ in self._channel.stream_stream(method)(iter(contents), timeout=5):
                    pass
            else:
                self._channel.unary_unary(method)(contents[0], timeout=5)
        except grpc.RpcError as failed:
            error: Any = failed  # also the call, which knows its status
            return f"{error.code().name}: {error.details()}"
        return "OK"


def http(folder: Path) -> Decoder:
    """Requests over HTTP: a line of method and target, lines of headers, an empty line, the body."""
    running = Running(folder)

    async def asked(case: bytes) -> tuple[int, dict[str, str], bytes]:
        head, _, body = case.partition(b"\n\n")
        first, *lines = head.decode("latin-1").split("\n")
        method, _, target = first.partition(" ")
        headers = [
            (name.strip().lower().encode("latin-1"), value.strip().encode("latin-1"))
            for name, _, value in (line.partition(":") for line in lines)
        ]
        return await running.http(method, target, headers, body)

    def read(case: bytes) -> None:
        status, headers, body = running.run(asked(case))
        assert status in STATUSES, f"status {status}: {body[:200]!r}"
        if status >= 400 and not case.startswith(b"HEAD"):
            assert headers["content-type"] == "application/json"
            error = json.loads(body)["error"]
            assert error["code"] not in ("internal", "error"), error
            assert error["message"]
        if status == 200 and headers.get("content-type") == "application/json" and not case.startswith(b"HEAD"):
            json.loads(body)
        if case.startswith(b"PUT"):  # nothing that was taken may spoil what others see
            for target in ("/v1/policy", "/v1/policy/power"):
                assert running.run(running.http("GET", target, [], b""))[0] == 200, f"{target} is spoilt"

    return Decoder(_requests(), read, (), _request, most_seconds=5.0, most_bytes=512 << 20, close=running.close)


def calls(folder: Path) -> Decoder:
    """Calls over gRPC: the number of a method, and its messages with their lengths."""
    running = Running(folder)
    methods = _methods()

    def read(case: bytes) -> None:
        method, streamed, _ = methods[case[0] % len(methods) if case else 0]
        status = running.run(running.grpc(method, made.parts(case[1:]), streamed))
        assert status.partition(":")[0] in CODES, f"{method}: {status}"

    def make(rng: random.Random, sample: bytes) -> bytes:
        pieces = made.parts(sample[1:])
        index = rng.randrange(len(pieces))
        pieces[index] = wire.mutated(rng, pieces[index])
        return sample[:1] + made.joined(pieces)

    samples = [
        bytes([number]) + made.joined([message.SerializeToString() for message in messages])
        for number, (_, _, messages) in enumerate(methods)
    ]
    return Decoder(samples, read, (), make, most_seconds=5.0, most_bytes=512 << 20, close=running.close)


def _request(rng: random.Random, sample: bytes) -> bytes:
    head, _, body = sample.partition(b"\n\n")
    kind = rng.random()
    if kind < 0.55:
        body = trees.mutated(rng, body)
    lines = head.decode().split("\n")
    if kind > 0.45:
        for _ in range(rng.choice((1, 1, 2))):
            _change_head(rng, lines)
    content = "\n".join(lines).encode("latin-1", "replace") + b"\n\n" + body
    return raw.mutated(rng, content) if rng.random() < 0.1 else content


def _change_head(rng: random.Random, lines: list[str]) -> None:
    kind = rng.randrange(6)
    if kind <= 1:
        lines.append(f"{rng.choice(_HEADERS)}: {rng.choice(_WORDS)}")
    elif kind == 2:
        lines[0] = f"{rng.choice(_METHODS)} {lines[0].partition(' ')[2]}"
    elif kind == 3:
        at = rng.randrange(len(lines[0]) + 1)
        lines[0] = lines[0][:at] + rng.choice(_TOKENS) + lines[0][at + rng.randrange(2) :]
    elif kind == 4:
        lines[0] += rng.choice(_QUERIES)
    else:
        del lines[rng.randrange(len(lines)) :]
        lines.append("GET /v1/requests") if not lines else None


def _requests() -> list[bytes]:
    rows = {"rows": [row("vessel")]}
    label = {"unit": UNIT, "value": 1.5, "source": "census"}
    bodies: list[tuple[str, Any]] = [
        ("POST /v1/predict", rows | {"purpose": "explore", "members": True}),
        ("POST /v1/jobs", rows),
        ("POST /v1/labels", {"labels": [label]}),
        ("POST /v1/commit", {"units": [UNIT]}),
        ("POST /v1/erase", {"units": [UNIT], "reason": "a"}),
        ("POST /v1/requests/claim", {"count": 2, "seconds": 60, "head": "power"}),
        (f"POST /v1/requests/{REQUEST}/extend", {"lease": "a", "seconds": 60}),
        (f"POST /v1/requests/{REQUEST}/release", {"lease": "a"}),
        (f"POST /v1/requests/{REQUEST}/skip", {"lease": "a", "reason": "b", "unlabelable": True}),
        (f"POST /v1/requests/{REQUEST}/submit", {"lease": "a", "value": 5.5, "observed": 1e9}),
        (f"POST /v1/requests/{REQUEST}/correct", {"lease": "a", "value": 5.5, "seconds": 3.5}),
        (f"POST /v1/requests/{REQUEST}/reveal", {"lease": "a"}),
        (f"POST /v1/requests/{REQUEST}/flag", {"lease": "a", "note": "b"}),
        ("POST /v1/resolutions", {"units": [UNIT], "wait": 0.01}),
        ("POST /v1/resolutions/callbacks", {"units": [UNIT], "url": "http://127.0.0.1/"}),
        ("PUT /v1/policy/power", {"threshold": 5.5, "author": "a", "reason": "b", "certificate": {"model": ""}}),
        ("PUT /v1/policy/power", {"defer_all": True, "expected": "", "audit_rate": 0.5}),
        ("PUT /v1/policy/power", {"target_retention": 0.9, "audits": "stratified", "withhold": False}),
    ]
    seen = [
        *("/v1/schema", "/v1/policy", "/v1/policy/power", "/v1/openapi.json", "/v1/jobs/abc", "/v1/jobs/abc/events"),
        *("/v1/requests", "/v1/requests/waiting?limit=5&after=a", f"/v1/requests/{REQUEST}/input"),
        f"/v1/requests/{REQUEST}/neighbours",
        *(f"/v1/units/{UNIT}/resolution?wait=0", "/metrics", "/v1/nothing"),
    ]
    head = "\ncontent-type: application/json\ndemur-actor: a\n\n"
    return [(line + head).encode() + text(body) for line, body in bodies] + [
        f"GET {path}\n\n".encode() for path in seen
    ]


def _methods() -> list[tuple[str, bool, list[Any]]]:
    """Path, whether it is a stream, and messages."""
    labels, units = "/demur.v1.LabelService/", {"epoch": 5, "first": 7, "count": 2}
    columns = [common_pb2.NamedColumn(name=name, values=[value]) for name, value in row("vessel").items()]
    rows = common_pb2.Rows(named=common_pb2.NamedColumns(columns=columns))
    label = labels_pb2.Label(unit=UNIT, value=labels_pb2.LabelValue(number=2.5), head="power", source=2)
    batch = labels_pb2.SubmitLabelsRequest(labels=[label])
    stream: Any = vessel_pb2.VesselStreamRequest
    frames = [stream(begin=common_pb2.StreamBegin(purpose=1)), stream(chunk={"sequence": 1, "rows": rows})]
    assert tenant("vessel")
    return [
        ("/demur.v1.VesselService/Predict", False, [vessel_pb2.VesselPredictRequest(rows=rows, purpose=2)]),
        ("/demur.v1.VesselService/Describe", False, [common_pb2.DescribeRequest()]),
        ("/demur.v1.VesselService/PredictStream", True, frames),
        (f"{labels}Submit", False, [batch]),
        (f"{labels}SubmitStream", True, [batch, batch]),
        (f"{labels}Claim", False, [labels_pb2.ClaimRequest(count=2, head="power", seconds=60)]),
        (f"{labels}Claim", False, [labels_pb2.ClaimRequest(queue=3, requests={"requests": [REQUEST]})]),
        (f"{labels}ListWaiting", False, [labels_pb2.ListWaitingRequest(head="power", limit=5, after="a")]),
        (f"{labels}GetInput", False, [labels_pb2.GetInputRequest(request=REQUEST, lease="a")]),
        (f"{labels}GetNeighbours", False, [labels_pb2.GetNeighboursRequest(request=REQUEST, lease="a")]),
        (f"{labels}Extend", False, [labels_pb2.ExtendRequest(request=REQUEST, lease="a", seconds=60)]),
        (f"{labels}Release", False, [labels_pb2.ReleaseRequest(request=REQUEST, lease="a")]),
        (f"{labels}Skip", False, [labels_pb2.SkipRequest(request=REQUEST, lease="a", reason="b")]),
        (
            f"{labels}SubmitClaimed",
            False,
            [labels_pb2.SubmitClaimedRequest(request=REQUEST, lease="a", value=label.value)],
        ),
        (
            f"{labels}Correct",
            False,
            [labels_pb2.SubmitClaimedRequest(request=REQUEST, lease="a", value=label.value, seconds=3.5)],
        ),
        (f"{labels}Reveal", False, [labels_pb2.RevealRequest(request=REQUEST, lease="a")]),
        (f"{labels}Flag", False, [labels_pb2.FlagRequest(request=REQUEST, lease="a", note="b")]),
        (f"{labels}CountRequests", False, [labels_pb2.CountRequestsRequest()]),
        (f"{labels}Resolve", False, [labels_pb2.ResolveRequest(units=[UNIT], wait_seconds=0.01)]),
        (f"{labels}Commit", False, [labels_pb2.CommitRequest(units=[units])]),
        (f"{labels}Erase", False, [labels_pb2.EraseRequest(units=[units], reason="a")]),
        ("/demur.v1.PolicyService/Show", False, [policy_pb2.ShowPoliciesRequest()]),
        ("/demur.v1.PolicyService/Set", False, [policy_pb2.SetPolicyRequest(head="power", threshold=5.5, author="a")]),
        ("/demur.v1.PolicyService/History", False, [policy_pb2.PolicyHistoryRequest(head="power", most=3)]),
    ]


TARGETS: dict[str, Target] = {"served-http": Target(1_200, http), "served-grpc": Target(1_000, calls)}
