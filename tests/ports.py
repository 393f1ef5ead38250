"""Ports of this machine that nobody listens on, so that runs side by side keep out of each other's way."""

import random
import socket
from contextlib import ExitStack, suppress

from services.cli.processes import holder
from services.runtime.registry import default_ports
from services.tasks import TENANTS

HOST = "127.0.0.1"
_CHANCE = random.SystemRandom()  # tests may have seeded the other one


def free_port() -> int:
    """A port that was free a moment ago, of those that the system does not take for outgoing connections."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """So many of those, no two of them the same."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            with suppress(OSError):
                server = socket.create_server((HOST, _CHANCE.randrange(10_000, 32_000)))
                ports.append(int(held.enter_context(server).getsockname()[1]))
        return ports


def free_offset() -> int:
    """An offset (DEMUR_PORT_OFFSET) at which nobody listens on the ports of monitor, console and what is served.

    All its ports lie below 32,768, from which the system takes those of outgoing connections.
    """
    while True:
        offset = _CHANCE.randrange(6_000, 28_000, 10)
        if all(
            holder(HOST, port + offset) is None
            for port in (3000, 3011, *(port for task in TENANTS for port in default_ports(task)))
        ):
            return offset
