"""Contenders of the race: how each is started, and the ways into it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import psutil

from benchmarks.processes import PROJECT
from benchmarks.race import bodies
from benchmarks.race.bodies import Lane
from benchmarks.race.courses import Course, environment, vessel
from benchmarks.race.environments import LeftOut, python_of
from benchmarks.service import HOST, Service, running
from tests.ports import free_port

SERVERS = Path(__file__).parent / "servers"
START_SECONDS = 90.0
_STOP_SECONDS = 20.0
Group = Literal["demur", "floor", "peer"]
"""Role of a contender in the ratios: this project, a bare transport, a prototype, or another server."""
Start = Callable[[set[int]], AbstractContextManager[Service]]


@dataclass(frozen=True)
class Contender:
    """Server that takes part in the race."""

    name: str
    group: Group
    start: Start
    """Context manager that runs the server on some cores."""
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Ports:
    """Free ports, of which a server takes those that it needs."""

    http: int
    grpc: int
    metrics: int


Command = Callable[[Ports, Path], list[str]]
"""Command of a server with these ports; the folder is its own, and empty."""


def all_contenders(course: Course | None = None) -> tuple[Contender, ...]:
    """Return all contenders on a course, by default the vessel task, in the order of the table."""
    course = vessel() if course is None else course
    ways = (bodies.OWN_GRPC, bodies.OWN_PROTOBUF, bodies.OWN_JSON, bodies.OIP_GRPC, bodies.OIP_JSON)
    own = bodies.lanes_of(course, ways)
    oip, grpc, asgi, plain = own[3:], own[:1], own[1:2], (bodies.PLAIN_JSON,)

    def run(command: Command) -> Start:
        return started(command, course)

    return (
        Contender("Demur", "demur", _demur(course, "sqlite"), own),
        Contender("Demur, no ledger", "demur", _demur(course, "none"), own),
        Contender("echo, gRPC", "floor", run(_grpc_server("echo")), grpc),
        Contender("prototype, gRPC", "floor", run(_grpc_server("prototype")), grpc),
        Contender("echo, ASGI", "floor", run(_asgi_server("echo")), asgi),
        Contender("prototype, ASGI", "floor", run(_asgi_server("prototype")), asgi),
        Contender("MLServer", "peer", run(_mlserver(course)), oip),
        Contender("KServe", "peer", run(_script("kserve", "http", "grpc")), oip),
        Contender("Triton, Python backend", "peer", run(_script("triton", "http", "grpc", "metrics")), oip),
        Contender("BentoML", "peer", run(_bentoml), plain),
        Contender("LitServe", "peer", run(_script("litserve", "http")), plain),
    )


def asgi_echo(cores: set[int]) -> AbstractContextManager[Service]:
    """Run the bare ASGI application, which echoes, on some cores."""
    return started(_asgi_server("echo"), vessel())(cores)


def _demur(course: Course, ledger: str) -> Start:
    @contextmanager
    def start(cores: set[int]) -> Iterator[Service]:
        settings = {"ledger": ledger, "fixed_threshold": repr(course.threshold), **course.settings}
        with running(cores, course.task, environment=course.environment, **settings) as service:
            yield service

    return start


def _grpc_server(kind: str) -> Command:
    return lambda ports, _: [sys.executable, "-m", "benchmarks.race.servers.grpc_server", str(ports.grpc), kind]


def _asgi_server(kind: str) -> Command:
    def command(ports: Ports, _: Path) -> list[str]:
        application = f"benchmarks.race.servers.asgi:{kind}"
        options = ["--factory", "--host", HOST, "--port", str(ports.http), "--log-level", "warning", "--no-access-log"]
        return [sys.executable, "-m", "uvicorn", application, *options]

    return command


def _script(name: str, *ports: str) -> Command:
    def command(free: Ports, _: Path) -> list[str]:
        script = SERVERS / f"{name}_server.py"
        return [str(python_of(name)), str(script), *(str(getattr(free, port)) for port in ports)]

    return command


def _mlserver(course: Course) -> Command:
    def command(ports: Ports, home: Path) -> list[str]:
        settings: dict[str, object] = {"http_port": ports.http, "grpc_port": ports.grpc, "metrics_port": ports.metrics}
        settings |= {"host": HOST, "parallel_workers": 0, "debug": False}
        model = {"name": course.name, "implementation": "mlserver_runtime.GraphRuntime"}
        (home / "settings.json").write_text(json.dumps(settings))
        (home / "model-settings.json").write_text(json.dumps(model))
        return [str(python_of("mlserver").parent / "mlserver"), "start", str(home)]

    return command


def _bentoml(ports: Ports, _: Path) -> list[str]:
    service = ["bento_server:GraphService", "--working-dir", str(SERVERS)]
    return [sys.executable, "-m", "bentoml", "serve", *service, "--host", HOST, "--port", str(ports.http)]


def started(command: Command, course: Course | None = None) -> Start:
    """Return the start of a command as a process group of its own, ready when one of its ports is open.

    Args:
        course: what the command serves; None for the vessel task.
    """
    course = vessel() if course is None else course

    @contextmanager
    def start(cores: set[int]) -> Iterator[Service]:
        ports = Ports(free_port(), free_port(), free_port())
        with TemporaryDirectory(prefix="demur-race-") as home:
            arguments, log = command(ports, Path(home)), Path(home) / "server.log"
            with log.open("wb") as output:
                child = subprocess.Popen(
                    arguments,
                    cwd=home,
                    env=os.environ | _environment(course, arguments[0], home),
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: os.sched_setaffinity(0, cores),
                )
            try:
                _wait(child, (ports.http, ports.grpc), log)
                yield Service(psutil.Process(child.pid), ports.http, ports.grpc, course.task)
            finally:
                _stop(child)

    return start


def _environment(course: Course, python: str, home: str) -> dict[str, str]:
    own = [str(PROJECT), str(PROJECT / "clients/python")] if python == sys.executable else []
    return {
        "PYTHONPATH": os.pathsep.join([*own, str(SERVERS)]),
        "RACE_HOME": home,
        **environment(course),
    }


def _wait(child: subprocess.Popen[bytes], ports: tuple[int, ...], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and child.poll() is None:
        if any(_open(port) for port in ports):
            return
        time.sleep(0.2)
    last = (log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
    raise LeftOut(f"does not start: {last}")


def _open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the command and all that it started, politely at first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(_STOP_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
