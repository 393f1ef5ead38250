"""Bare asyncio gRPC server that echoes, or defers as the prototype does: ``grpc_server.py PORT echo|prototype``."""

import os
import sys
from collections.abc import Callable

import uvloop

from benchmarks import floor
from benchmarks.race.servers.deferring import opened


def main(port: int, kind: str) -> None:
    answer: Callable[[bytes], bytes] = bytes
    if kind == "prototype":
        answer = opened(os.environ["RACE_HOME"], float(os.environ["RACE_THRESHOLD"]))
    uvloop.run(floor.serve(port, answer, os.environ.get("RACE_TASK", "vessel")))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
