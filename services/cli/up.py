"""``demur up``: starts every service, waits until they are ready, and says where everything is."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from services.cli.options import Options, command, switch
from services.cli.output import CommandError
from services.cli.processes import COMPANIONS, MONITOR, REVIEW, Held, Running, announced, hold, holder
from services.cli.status import keeps_inputs, monitored, ready, unready
from services.runtime.addresses import address
from services.runtime.ports import monitor_address, review_address
from services.runtime.row_models import place as variable_place
from services.runtime.row_models import row_models
from services.runtime.settings import Settings
from services.runtime.system import die_with_parent
from services.tasks import STARTED

START_SECONDS = 120.0
RESTART_SECONDS = 5.0
"""Shortest time between two starts of the same service."""


@command("up", example="demur up --detach")
@switch("--detach", help="Return when the services are ready; `demur down` stops them.")
def up(options: Options) -> int:
    """Start every service, wait until they are ready, and print where they are."""
    settings = Settings.read()
    home = settings.home
    home.mkdir(parents=True, exist_ok=True)
    if options.detach:
        return _detached(home)
    with _lock(home):
        _check_ports(settings)
        supervisor = Supervisor(home, with_companions=monitored(settings))
        signal.signal(signal.SIGTERM, supervisor.interrupt)
        signal.signal(signal.SIGINT, supervisor.interrupt)
        try:
            supervisor.start()
            supervisor.wait_ready()
            if not supervisor.interrupted:
                _print_addresses(home)
            return supervisor.watch()
        finally:
            supervisor.stop()


def started_names(home: Path) -> tuple[str, ...]:
    """Return the names of the tasks and enabled row models that ``demur up`` starts."""
    return (*STARTED, *(name for name, model in row_models(home).items() if model.enabled))


@dataclass(frozen=True)
class Child:
    """A started process, and its log."""

    task: str
    process: subprocess.Popen[bytes]
    log: Path
    started: float
    """Start by the monotonic clock, s."""


class Supervisor:
    """Parent process of the services, their monitor and the review console."""

    def __init__(self, home: Path, *, with_companions: bool = False) -> None:
        """Initialise without starting; monitor and console are started ``with_companions``."""
        self._home = home
        self._with_companions = with_companions
        self._children: list[Child] = []
        self.interrupted = False

    def interrupt(self, *_: object) -> None:
        self.interrupted = True

    def start(self) -> None:
        """Start a process per task, the monitor and the console; their output goes to log files."""
        (self._home / "logs").mkdir(parents=True, exist_ok=True)
        names = [*started_names(self._home), *(COMPANIONS if self._with_companions else [])]
        self._children = [self._start(name, "wb") for name in names]

    def _start(self, name: str, mode: Literal["wb", "ab"]) -> Child:
        words = COMPANIONS.get(name, ("serve", name))
        log = self._home / "logs" / f"{name}.log"
        with log.open(mode) as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "services.cli", *words],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                preexec_fn=die_with_parent,
                start_new_session=True,
                env=os.environ | {"DEMUR_HOME": str(self._home.resolve())},
            )
        return Child(name, process, log, time.monotonic())

    def wait_ready(self) -> None:
        """Wait until every service is ready.

        Raises:
            CommandError: a service ended, or is not ready in time; the message ends with its last log lines.
        """
        begin, qualifying = time.monotonic(), dict[str, float]()
        waiting = {child.task: child for child in self._children}
        print(f"starting {', '.join(waiting)} …", file=sys.stderr, flush=True)
        while waiting and not self.interrupted:
            running = announced(self._home)
            for task, child in list(waiting.items()):
                if child.process.poll() is not None:
                    raise CommandError(f"{task} ended at start:\n{_last_lines(child.log)}")
                if task not in running:
                    continue
                if ready(running[task]):
                    del waiting[task]
                elif (reason := unready(running[task])).startswith("failed to start"):
                    raise CommandError(f"{task} {reason}")
                elif "is being qualified" in reason and task not in qualifying:
                    qualifying[task] = Settings.read(task=task).qualify_seconds
                    print(f"{task}: {reason}", file=sys.stderr, flush=True)
            seconds = START_SECONDS + max(qualifying.values(), default=0.0)  # side by side
            if waiting and time.monotonic() > begin + seconds:
                late = next(iter(waiting.values()))
                raise CommandError(
                    f"{late.task} is not ready after {seconds:.0f} s; from {late.log}:\n{_last_lines(late.log)}"
                )
            time.sleep(0.1)

    def watch(self) -> int:
        """Wait for a signal, and start again what ends meanwhile; return the exit code.

        A service that crashed has lost no answer that it gave: its next process reads the journal of the last one.
        """
        while not self.interrupted:
            for place, child in enumerate(self._children):
                if child.process.poll() is None or time.monotonic() - child.started < RESTART_SECONDS:
                    continue
                print(
                    f"{child.task} ended and is started again:\n{_last_lines(child.log)}", file=sys.stderr, flush=True
                )
                self._children[place] = self._start(child.task, "ab")
            time.sleep(0.5)
        return 0

    def stop(self) -> None:
        """Send SIGTERM to every child and wait until it has drained."""
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        for child in self._children:
            try:
                child.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(child.process.pid, signal.SIGKILL)


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Hold the lock of the home directory, which allows one `demur up`.

    Raises:
        CommandError: another process holds it; the message names the process and its services.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(home))
        except Held as held:
            where = ", ".join(f"{task} on {running.http}" for task, running in announced(home).items()) or "starting"
            raise CommandError(
                f"already up: pid {held.pid or 'unknown'} ({where}); `demur status` shows more, `demur down` stops it"
            ) from held
        yield


def _check_ports(settings: Settings) -> None:
    every = {task: Settings.read(task=task) for task in started_names(settings.home)}
    ports = [(task, port) for task, own in every.items() for port in (*own.ports, *filter(None, [own.probe_port]))]
    if monitored(settings):
        for name, address_of in ((MONITOR, monitor_address), (REVIEW, review_address)):
            own = Settings.read(task=name)
            ports += [(name, port) for port in (address_of(own)[1], *filter(None, [own.probe_port]))]
    if len({port for _, port in ports}) < len(ports):
        raise CommandError("two services have the same port; give each its own, as with DEMUR_<TASK>_PROBE_PORT")
    for task, port in ports:
        if (process := holder(settings.host, port)) is not None:
            raise CommandError(
                f"port {port} of {task} is in use by {process}: a server of an earlier run or another program; stop it"
            )


def _detached(home: Path) -> int:
    log = home / "up.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "up"],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    while b"\nTry" not in log.read_bytes():
        if process.poll() is not None:
            print(log.read_text(), end="", file=sys.stderr)
            return 1
        time.sleep(0.1)
    print(log.read_text(), end="")
    return 0


def _print_addresses(home: Path) -> None:
    services = announced(home)
    for task, running in services.items():
        if task == MONITOR:
            print(f"{task}: {running.http} shows live retention; metrics at {running.http}/metrics")
            continue
        if task == REVIEW:
            print(f"{task}: {running.http} is where people label what was deferred{_without_inputs(services)}")
            continue
        print(f"{task}: {running.http} and gRPC {running.grpc}, serving {running.model}")
    print(f"logs: {home / 'logs'}")
    print(f"\nTry:\n  .venv/bin/python examples/predict.py{_target(services)}", flush=True)


def _without_inputs(services: dict[str, Running]) -> str:
    """Return the setting of each service that keeps no inputs for reviewers; empty where all do."""
    settings = [
        f"DEMUR_{variable_place(task)}_KEEP_PAYLOAD=on"
        for task, running in services.items()
        if task not in COMPANIONS and keeps_inputs(running) is False
    ]
    return f"\n        without inputs, unless started with {' '.join(settings)}" if settings else ""


def _target(services: dict[str, Running]) -> str:
    """Return the argument with which the example finds the default task's service; empty at the default address."""
    usual = Settings()
    running = services.get(usual.task)
    target = running.grpc if running else address(usual.host, usual.ports[1])
    return "" if target == address(usual.host, usual.ports[1]) else f" {shlex.quote(target)}"


def _last_lines(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
