"""Cost of the transport alone: a bare asyncio gRPC server that returns fixed bytes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import psutil
import uvloop

from benchmarks.processes import child
from benchmarks.service import HOST, Service
from benchmarks.wire import predict as path_of
from tests.ports import free_port


@contextmanager
def bare(cores: set[int], answer_bytes: int, task: str = "vessel") -> Iterator[Service]:
    """Run a bare server in a process of its own, without HTTP."""
    port = free_port()
    with child(["-m", "benchmarks.floor", str(port), str(answer_bytes), task], cores) as process:
        with grpc.insecure_channel(f"{HOST}:{port}") as channel:
            grpc.channel_ready_future(channel).result(20)
        yield Service(psutil.Process(process.pid), 0, port, task)


async def serve(port: int, answer: Callable[[bytes], bytes], task: str) -> None:
    """Answer the task's unary method with ``answer`` of the request's bytes, until the process ends."""

    async def predict(request: bytes, context: Any) -> bytes:
        return answer(request)

    service, _, method = path_of(task)[1:].partition("/")
    server = grpc.aio.server()
    handlers = {method: grpc.unary_unary_rpc_method_handler(predict)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"{HOST}:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    fixed = bytes(int(sys.argv[2]))
    uvloop.run(serve(int(sys.argv[1]), lambda request: fixed, sys.argv[3]))
