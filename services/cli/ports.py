"""Who holds a port: a stale server is found and named, not stumbled over."""

from __future__ import annotations

import socket

import psutil


def holder(host: str, port: int) -> str | None:
    """The process that listens on a port, as ``pid 123 (command)``; None where the port is free."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            return None
        except OSError:
            pass
    try:
        for connection in psutil.net_connections("tcp"):
            port_here = getattr(connection.laddr, "port", None)  # an unbound socket has an empty address
            if connection.status == psutil.CONN_LISTEN and port_here == port and connection.pid:
                command = " ".join(psutil.Process(connection.pid).cmdline())
                return f"pid {connection.pid} ({command[:120]})"
    except psutil.Error:
        pass
    return "a process of another user"
