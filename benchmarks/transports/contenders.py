"""Transports of the race, each in an environment of its own, and how they are started."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.race.contenders import Command, Ports, started
from benchmarks.race.environments import python_of
from benchmarks.service import Service
from benchmarks.transports.contract import Options, Target

HERE = Path(__file__).parent
SERVERS, REQUIREMENTS = HERE / "servers", HERE / "requirements"


@dataclass(frozen=True)
class Transport:
    """Server library with the script that echoes by it."""

    name: str
    script: str
    environment: str | None = None
    """Name of its requirements; None: this interpreter's environment."""
    arguments: tuple[str, ...] = ()

    def command(self, options: Options) -> Command:
        """Return the command of a server with these options."""

        def command(ports: Ports, home: Path) -> list[str]:
            python = sys.executable if self.environment is None else python_of(self.environment, described=REQUIREMENTS)
            script = str(SERVERS / self.script)
            return [str(python), script, "--port", str(ports.grpc), *self.arguments, *options.arguments()]

        return command

    def serve(self, cores: set[int]) -> AbstractContextManager[Service]:
        """Run a server with its own defaults on some cores."""
        return started(self.command(Options()))(cores)

    @contextmanager
    def start(self, options: Options) -> Iterator[Target]:
        """Run a server with these options on all cores."""
        with started(self.command(options))(os.sched_getaffinity(0)) as service:
            yield Target(service.grpc_port, service.process)


def all_transports() -> tuple[Transport, ...]:
    """Return all transports; the first is Demur's."""
    return (
        Transport("grpcio", "grpc_server.py"),
        Transport("pygrpc-native", "grpc_server.py", "pygrpc", ("--library", "pygrpc_native.aio")),
        Transport("connectrpc on pyvoy", "connect_server.py", "connect"),
        Transport("grpclib", "grpclib_server.py", "grpclib"),
    )
