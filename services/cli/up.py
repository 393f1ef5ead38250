"""``demur up``: starts every service, waits until they are ready, and says where everything is."""

from __future__ import annotations

import argparse
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

from services.cli.lock import Held, hold
from services.cli.output import CommandError
from services.cli.places import MONITOR, Running, announced
from services.cli.ports import holder
from services.cli.status import monitored, ready, unready
from services.runtime.settings import Settings, address
from services.runtime.system import die_with_parent
from services.tasks import TENANTS

EXAMPLE = "demur up --detach"
START_SECONDS = 120.0
RESTART_SECONDS = 5.0
"""Between two starts of a monitor that does not stay."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detach", action="store_true", help="return when ready; `demur down` stops everything")


def run(given: argparse.Namespace) -> int:
    """Runs until a signal; everything that was started ends with this process."""
    settings = Settings.read()
    home = settings.home
    home.mkdir(parents=True, exist_ok=True)
    if given.detach:
        return _detached(home)
    with _lock(home):
        _refuse_stale(settings)
        supervisor = Supervisor(home, with_monitor=monitored(settings))
        signal.signal(signal.SIGTERM, supervisor.interrupt)
        signal.signal(signal.SIGINT, supervisor.interrupt)
        try:
            supervisor.start()
            supervisor.wait_ready()
            if not supervisor.interrupted:
                _say_where(home)
            return supervisor.watch()
        finally:
            supervisor.stop()


@dataclass(frozen=True)
class Child:
    """A service, or the monitor, that was started, and where its log is."""

    task: str
    process: subprocess.Popen[bytes]
    log: Path


class Supervisor:
    """The parent of the services and their monitor."""

    def __init__(self, home: Path, *, with_monitor: bool = False) -> None:
        self._home = home
        self._with_monitor = with_monitor
        self._children: list[Child] = []
        self._started = 0.0
        self.interrupted = False

    def interrupt(self, *_: object) -> None:
        self.interrupted = True

    def start(self) -> None:
        """Starts one process a task, and the monitor; their output goes to log files."""
        (self._home / "logs").mkdir(parents=True, exist_ok=True)
        self._children = [self._start(task, "serve", task) for task in TENANTS]
        if self._with_monitor:
            self._children.append(self._start(MONITOR, "monitor", "run"))

    def _start(self, name: str, *words: str) -> Child:
        log = self._home / "logs" / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "services.cli", *words],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                preexec_fn=die_with_parent,
                start_new_session=True,
                env=os.environ | {"DEMUR_HOME": str(self._home.resolve())},
            )
        self._started = time.monotonic()
        return Child(name, process, log)

    def wait_ready(self) -> None:
        """Waits for every service.

        Raises:
            CommandError: one ended, or is not ready in time; its last words are quoted.
        """
        begin, qualifying = time.monotonic(), dict[str, float]()
        waiting = {child.task: child for child in self._children}
        print(f"starting {', '.join(waiting)} …", file=sys.stderr, flush=True)
        while waiting and not self.interrupted:
            running = announced(self._home)
            for task, child in list(waiting.items()):
                if child.process.poll() is not None:
                    raise CommandError(f"{task} ended at start:\n{_last_words(child.log)}")
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
                    f"{late.task} is not ready after {seconds:.0f} s; from {late.log}:\n{_last_words(late.log)}"
                )
            time.sleep(0.1)

    def watch(self) -> int:
        """Waits for a signal or for a service that ends by itself. The monitor is started again: it holds nothing that
        it could not read anew, and nobody waits for its answers."""
        while not self.interrupted:
            for place, child in enumerate(self._children):
                if child.process.poll() is None:
                    continue
                if child.task == MONITOR and time.monotonic() - self._started < RESTART_SECONDS:
                    continue
                print(f"{child.task} ended:\n{_last_words(child.log)}", file=sys.stderr, flush=True)
                if child.task != MONITOR:
                    return 1
                self._children[place] = self._start(MONITOR, "monitor", "run")
            time.sleep(0.2)
        return 0

    def stop(self) -> None:
        """Asks every child to drain, and waits."""
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
    """One `up` a home directory.

    Raises:
        CommandError: another one holds it; its process and services are named.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(home))
        except Held as held:
            where = ", ".join(f"{task} on {found.http}" for task, found in announced(home).items()) or "starting"
            raise CommandError(
                f"already up: pid {held.pid or 'unknown'} ({where}); `demur status` shows more, `demur down` stops it"
            ) from held
        yield


def _refuse_stale(settings: Settings) -> None:
    every = {task: Settings.read(task=task) for task in TENANTS}
    ports = [(task, port) for task, own in every.items() for port in (*own.ports, *filter(None, [own.probe_port]))]
    if monitored(settings):
        own = Settings.read(task=MONITOR)
        ports += [(MONITOR, port) for port in (own.monitor_address[1], *filter(None, [own.probe_port]))]
    if len({port for _, port in ports}) < len(ports):
        raise CommandError("two of them have one port; give each its own, such as DEMUR_<TASK>_PROBE_PORT")
    for task, port in ports:
        if (found := holder(settings.host, port)) is not None:
            raise CommandError(
                f"port {port} of {task} is held by {found}: a server of an earlier run or another program; stop it"
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


def _say_where(home: Path) -> None:
    found = announced(home)
    for task, running in found.items():
        if task == MONITOR:
            print(f"{task}: {running.http} shows live retention; metrics at {running.http}/metrics")
            continue
        print(f"{task}: {running.http} and gRPC {running.grpc}, serving {running.model}")
    print(f"logs: {home / 'logs'}")
    print(f"\nTry:\n  .venv/bin/python examples/predict.py{_target(found)}", flush=True)


def _target(found: dict[str, Running]) -> str:
    """What the example must be told to find the default task's service; nothing where it is at the usual place."""
    usual = Settings()
    running = found.get(usual.task)
    target = running.grpc if running else address(usual.host, usual.ports[1])
    return "" if target == address(usual.host, usual.ports[1]) else f" {shlex.quote(target)}"


def _last_words(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
