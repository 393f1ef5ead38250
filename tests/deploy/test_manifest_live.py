"""What manifests ask of a process, asked of a real one that was started with the rendered variables and arguments."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.runtime.settings import TASKS
from tests.deploy.rendered import Object, environment, of_kind, one, rendered
from tests.ports import free_ports

pytestmark = pytest.mark.long

PROJECT = Path(__file__).resolve().parents[2]
OVERLAY = "cpu-dev"
"""Needs neither Secrets nor certificates."""
HOST = "127.0.0.1"
PATIENCE_SECONDS = 90.0
"""Of these tests; kubelet's is longer."""
DRAIN_SECONDS = 600.0
"""More than a test may take: a service that nobody asks anything has nothing to wait for when it ends."""


@dataclass(frozen=True)
class Pod:
    """A process that runs as the container of a pod does, but for its paths, address and ports."""

    process: subprocess.Popen[bytes]
    spec: Object
    ports: dict[str, int]
    """Names of the manifest's ports to those in use."""

    @property
    def container(self) -> Object:
        return dict(self.spec["containers"][0])

    def ask(self, probe: Object) -> str:
        """``ok``, or what is wrong, as kubelet sees it."""
        try:
            if "grpc" in probe:
                (port,) = (p["name"] for p in self.container["ports"] if p["containerPort"] == probe["grpc"]["port"])
                with grpc.insecure_channel(f"{HOST}:{self.ports[port]}") as channel:
                    request = health_pb2.HealthCheckRequest(service=probe["grpc"].get("service", ""))
                    state = health_pb2_grpc.HealthStub(channel).Check(request, timeout=5).status
                    return "ok" if state == health_pb2.HealthCheckResponse.SERVING else str(state)
            answer = self.get(probe["httpGet"]["port"], probe["httpGet"]["path"])
            return "ok" if 200 <= answer.status_code < 400 else f"{answer.status_code}: {answer.text}"
        except (httpx.TransportError, grpc.RpcError) as error:
            return str(error)

    def get(self, port: str, path: str) -> httpx.Response:
        return httpx.get(f"http://{HOST}:{self.ports[port]}{path}", timeout=5)

    def wait_started(self) -> None:
        """Asks the startup probe as often as kubelet would."""
        probe = self.container["startupProbe"]
        end = time.monotonic() + min(PATIENCE_SECONDS, probe["failureThreshold"] * probe["periodSeconds"])
        while (state := self.ask(probe)) != "ok":
            assert self.process.poll() is None, "it ended"
            assert time.monotonic() < end, state
            time.sleep(0.2)


@contextmanager
def pod(name: str, folder: Path, **more: str) -> Iterator[Pod]:
    """The pod of a Deployment; killed at the end where it has not ended."""
    objects = rendered(OVERLAY)
    spec = one(objects, "Deployment", name)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    numbers = dict(zip((port["name"] for port in container["ports"]), free_ports(len(container["ports"])), strict=True))
    variables = {key: value or "" for key, value in environment(objects, container).items()}
    variables |= {
        "DEMUR_HOME": str(folder / "home"),
        "BENTOML_HOME": str(folder / "bentoml"),
        "HOME": str(folder),
        "DEMUR_ARTEFACTS": str(PROJECT / "artefacts"),
        "DEMUR_HOST": HOST,
        "DEMUR_HTTP_PORT": str(numbers["http"]),
        "DEMUR_MONITOR_PORT": str(numbers["http"]),
        "DEMUR_REVIEW_PORT": str(numbers["http"]),
        "DEMUR_GRPC_PORT": str(numbers.get("grpc", 0)),
    }
    bare = {key: value for key, value in os.environ.items() if not key.startswith("DEMUR_")}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", *container["args"]],
            cwd=PROJECT,
            env=bare | variables | more,
            stdout=log,
            stderr=log,
        )
    try:
        yield Pod(process, spec, numbers)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pods")


def test_probes_metrics_and_the_end_of_a_service_and_its_monitor(folder: Path) -> None:
    """One story, because a start is long: started, ready, alive, read by Prometheus, ended by a signal.

    That the time until the next signal is enough for a whole drain, test_manifest_pods.py adds up.
    """
    with pod("demur-vessel", folder, DEMUR_DRAIN_SECONDS=str(DRAIN_SECONDS)) as service:
        service.wait_started()
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert service.ask(service.container[probe]) == "ok", probe
        text = service.get("http", "/metrics").text
        for scaler in of_kind(rendered("gpu-prod"), "HorizontalPodAutoscaler"):
            for metric in scaler["spec"]["metrics"]:
                assert f'\n{metric["pods"]["metric"]["name"]}{{task="vessel"}} ' in text
        with pod("demur-monitor", folder) as monitor:
            monitor.wait_started()
            assert monitor.ask(monitor.container["livenessProbe"]) == "ok"
            end = time.monotonic() + 60
            while (state := monitor.ask(monitor.container["readinessProbe"])) != "ok":
                assert time.monotonic() < end, state
                time.sleep(0.2)
            assert "\ndemur_monitor_last_success_timestamp_seconds " in monitor.get("http", "/metrics").text
            _ends(monitor)
        _ends(service)


def test_probes_and_the_end_of_the_review_console(folder: Path) -> None:
    """It is ready without any service, and names those that it does not reach."""
    with pod("demur-review", folder) as console:
        console.wait_started()
        for probe in ("readinessProbe", "livenessProbe"):
            assert console.ask(console.container[probe]) == "ok", probe
        assert "<html" in console.get("http", "/").text
        url = f"http://{HOST}:{console.ports['http']}"
        with httpx.Client(base_url=url, headers={"x-demur-review": "1"}, timeout=30) as reviewer:
            assert reviewer.post("/api/session", json={"name": "anna"}).status_code == 200
            tasks = reviewer.get("/api/tasks").json()["tasks"]
        assert {task["name"]: task["ready"] for task in tasks} == dict.fromkeys(TASKS, False)
        assert all("does not answer" in task["reason"] for task in tasks)
        _ends(console)


def test_a_service_that_kubernetes_told_of_a_service_named_like_a_setting_would_not_start(folder: Path) -> None:
    """Why service links are off: the variable is a setting, and an address is no port."""
    with pod("demur-monitor", folder, DEMUR_MONITOR_PORT="tcp://10.96.0.7:3000") as monitor:
        assert monitor.process.wait(PATIENCE_SECONDS) == 1
    assert b"DEMUR_MONITOR_PORT" in (folder / "demur-monitor.log").read_bytes()


def _ends(pod: Pod) -> None:
    """By the signal that kubelet sends first, not the one that cannot be heard."""
    pod.process.send_signal(signal.SIGTERM)
    assert pod.process.wait(PATIENCE_SECONDS) in (0, -signal.SIGTERM)
