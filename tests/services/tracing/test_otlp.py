"""Traces end to end: a service under BentoML as users start it, and a real receiver of OTLP."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import numpy as np
import pytest
from prometheus_client import CollectorRegistry

import demur
from services.runtime.settings import Settings
from services.tracing.factory import tracing
from tests.contract.serving import serving
from tests.contract.toys import rows
from tests.ports import HOST, free_ports
from tests.services.tracing.collector import Collector, Seen, collecting
from tests.services.tracing.kept import PARENT, SPAN, TRACE

pytestmark = pytest.mark.long

PROJECT = Path(__file__).resolve().parents[3]
WAY = ["decode", "expand", "queue", "infer", "uncertainty", "policy", "ledger", "encode"]


@dataclass
class Service:
    """A vessel service in a process of its own."""

    process: subprocess.Popen[str]
    http: httpx.Client
    target: str
    log: Path

    def end(self) -> None:
        """SIGTERM, and wait until it is gone."""
        self.process.terminate()
        assert self.process.wait(60) == 0

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextmanager
def vessel(home: Path, **environment: str) -> Iterator[Service]:
    http_port, grpc_port = free_ports(2)
    ports = {"DEMUR_HTTP_PORT": str(http_port), "DEMUR_GRPC_PORT": str(grpc_port)}
    own = {"DEMUR_HOME": str(home), "OTEL_BSP_SCHEDULE_DELAY": "50", "DEMUR_LOG_LEVEL": "DEBUG"} | ports
    command = [sys.executable, "-m", "services.cli", "serve", "vessel"]
    log = home / "log"
    with log.open("w") as lines:
        process = subprocess.Popen(
            command, stdout=lines, stderr=subprocess.STDOUT, text=True, cwd=PROJECT, env=os.environ | own | environment
        )
    try:
        with httpx.Client(base_url=f"http://{HOST}:{http_port}", timeout=30) as http:
            end = time.monotonic() + 240
            while not _ready(http):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.05)
            yield Service(process, http, f"{HOST}:{grpc_port}", log)
    finally:
        process.kill()
        process.wait()


def exporting(collector: Collector) -> dict[str, str]:
    """Settings of a service that sends its spans to a collector."""
    return {"DEMUR_TRACING": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint}


def _ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def row(service: Service) -> dict[str, float]:
    features = service.http.get("/v1/schema").json()["features"]
    return {feature["name"]: (feature["lower"] + feature["upper"]) / 2 for feature in features}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def service(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with vessel(
        tmp_path_factory.mktemp("traced"), **exporting(collector), OTEL_RESOURCE_ATTRIBUTES="k8s.pod.name=a-0"
    ) as running:
        yield running


def server_span(collector: Collector, name: str, parent: str) -> Seen:
    """The call of a caller's span."""

    def found() -> list[Seen]:
        return [
            candidate for candidate in collector.named(name) if candidate.parent_id == parent and candidate.kind == 2
        ]

    collector.until(found)
    (span,) = found()
    return span


def test_a_call_over_http_continues_the_callers_trace(service: Service, collector: Collector) -> None:
    headers = {"traceparent": PARENT, "tracestate": "vendor=1", "x-request-id": "r-77"}
    body = {"rows": [row(service)] * 3}
    answer = service.http.post("/v1/predict", json=body, headers=headers)
    assert answer.status_code == 200
    assert not {"traceparent", "tracestate", "traceresponse"} & set(answer.headers)
    span = server_span(collector, "POST /v1/predict", SPAN)
    assert (span.trace_id, span.state, span.error) == (TRACE, "vendor=1", None)
    assert [child.name for child in collector.children(span)] == WAY
    assert span.attributes["demur.units"] == 3
    assert span.attributes["demur.model"] == "vessel-dnn-10"
    assert abs(span.end / 1e9 - time.time()) < 60
    expected = {"service.name": "demur-vessel", "k8s.pod.name": "a-0", "demur.task": "vessel"}
    assert expected.items() <= span.resource.items()
    values = [str(value) for value in body["rows"][0].values()]
    assert not any(value in str(span.attributes.values()) for value in values if len(value) > 4)
    assert not any(name.encode() in sent for name in body["rows"][0] for sent in collector.bodies)
    calls = [line for line in service.lines if line.get("request_id") == "r-77"]
    assert [(line["event"], line["trace_id"], line["span_id"]) for line in calls] == [("call", TRACE, span.span_id)]


def test_a_call_over_grpc_and_its_failure(service: Service, collector: Collector) -> None:
    parent = "1" * 16
    metadata = (("traceparent", f"00-{TRACE}-{parent}-01"),)
    with grpc.insecure_channel(service.target) as channel:
        predict = channel.unary_unary("/demur.v1.VesselService/Predict")
        with pytest.raises(grpc.RpcError):
            predict(b"", metadata=metadata)
    span = server_span(collector, "demur.v1.VesselService/Predict", parent)
    assert span.trace_id == TRACE
    assert span.attributes["rpc.response.status_code"] == "INVALID_ARGUMENT"
    assert (span.attributes["error.type"], span.error) == ("no_rows", None), "a refusal is no fault of the service"


def test_callers_that_share_a_pass_are_linked(service: Service, collector: Collector) -> None:
    width = len(row(service))
    values = np.array([list(row(service).values())] * 2000, np.float32).reshape(-1, width)

    def shared() -> list[Seen]:
        return [candidate for candidate in collector.named("pass") if len({link[0] for link in candidate.links}) > 1]

    with demur.connect(service.target) as client, ThreadPoolExecutor(8) as threads:
        end = time.monotonic() + 60
        while not shared() and time.monotonic() < end:
            list(threads.map(lambda size: client.vessel.predict(values[:size]), [2000, *[300] * 7]))
            time.sleep(0.1)
    pass_span = shared()[0]
    for trace_id, span_id in pass_span.links:
        collector.until(lambda: any(span.span_id == span_id for span in collector.of(trace_id)))  # noqa: B023
        (infer,) = (span for span in collector.of(trace_id) if span.span_id == span_id)
        assert (infer.name, (pass_span.trace_id, pass_span.span_id) in infer.links) == ("infer", True)


def test_a_stream_has_a_span_a_chunk(service: Service, collector: Collector) -> None:
    values = np.array([list(row(service).values())] * 5, np.float32)
    with demur.connect(service.target) as client:
        assert sum(len(answer) for answer in client.vessel.stream(values for _ in range(3))) == 15
    collector.until(lambda: collector.named("demur.v1.VesselService/PredictStream"))
    (stream,) = collector.named("demur.v1.VesselService/PredictStream")
    chunks = collector.children(stream)
    assert [chunk.attributes["demur.chunk"] for chunk in chunks] == [0, 1, 2]
    for chunk in chunks:
        assert [child.name for child in collector.children(chunk)] == WAY[1:]


def test_the_end_of_a_service_flushes(collector: Collector, tmp_path: Path) -> None:
    parent = "2" * 16
    with vessel(tmp_path, **exporting(collector)) as service:
        service.http.get("/v1/policy", headers={"traceparent": f"00-{TRACE}-{parent}-01"})
        text = service.http.get("/metrics").text
        assert 'demur_trace_spans_total{outcome="queue_full",task="vessel"} 0.0' in text
        service.end()
    assert server_span(collector, "GET /v1/policy", parent).attributes["http.route"] == "/v1/policy"
    events = [line["event"] for line in service.lines]
    assert {"ready", "draining", "drained"} < set(events)
    assert all({"ts", "level", "event", "task"} <= set(line) for line in service.lines), "every line, also BentoML's"


async def test_a_dead_collector_delays_neither_answers_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter waits ten minutes for it: an answer or an end that waited too would outlast the test."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    with socket.create_server((HOST, 0)) as silent:  # takes connections and never answers
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{HOST}:{silent.getsockname()[1]}")
        limits = {"OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_SCHEDULE_DELAY": "10"}
        settings, registry = Settings(task="vessel", tracing="otlp"), CollectorRegistry()
        opened = tracing(settings, "toy:1", registry, limits)
        async with serving(rows.TOY, tracer=opened.tracer) as served:
            for _ in range(100):
                assert (await served.ask("http", rows.TOY.good)).code == "OK"
        opened.stop(0.5)
    counts = {
        name: registry.get_sample_value("demur_trace_spans_total", {"task": "vessel", "outcome": name})
        for name in ("exported", "queue_full", "at_the_end")
    }
    assert counts["exported"] == 0
    assert counts["queue_full"] > 500
    assert counts["at_the_end"] > 0
