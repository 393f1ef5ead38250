"""Ports of this machine that nobody listens on, so that runs side by side keep out of each other's way."""

from __future__ import annotations

import random
import socket

from services.cli.ports import holder
from services.settings import default_ports
from services.tasks import TENANTS

HOST = "127.0.0.1"


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server((HOST, 0)) as found:
        return int(found.getsockname()[1])


def free_offset() -> int:
    """An offset (DEMUR_PORT_OFFSET) at which nobody listens on the ports of the monitor and of what is served.

    All its ports lie below 32,768, from which the system takes those of outgoing connections.
    """
    while True:
        offset = random.randrange(6_000, 28_000, 10)
        if all(
            holder(HOST, port + offset) is None
            for port in (3000, *(port for task in TENANTS for port in default_ports(task)))
        ):
            return offset
