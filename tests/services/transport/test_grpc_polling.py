"""A service chooses the poller of its gRPC server, unless the operator has."""

import os
import subprocess
import sys

from services.transport.grpc.polling import OLDER_POLLER, VARIABLE, use_older_poller

SERVER = """
import asyncio, os, sys
from services.runtime import logging, settings
from services.transport.grpc.polling import use_older_poller

assert "grpc" not in sys.modules
use_older_poller(os.environ)
import grpc.aio

async def main():
    server = grpc.aio.server()
    assert server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await server.stop(0)

asyncio.run(main())
"""


def test_the_operators_choice_stays() -> None:
    chosen, others = {VARIABLE: "monitoring_experiment"}, {"PATH": "/bin"}
    use_older_poller(chosen)
    use_older_poller(others)
    assert chosen == {VARIABLE: "monitoring_experiment"}
    assert others == {"PATH": "/bin", VARIABLE: OLDER_POLLER}


def test_the_choice_comes_before_the_library_which_knows_it() -> None:
    """It would log an unknown one."""
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run([sys.executable, "-c", SERVER], env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "experiment" not in done.stderr.lower()
