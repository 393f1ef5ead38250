"""What the stand-ins of services share: a socket to listen on, and labels that are taken."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from demur.v1 import common_pb2 as common
from demur.v1 import labels_pb2 as labels
from demur.v1.labels_pb2_grpc import LabelServiceServicer, add_LabelServiceServicer_to_server

Registration = Callable[[Any, Any], None]
PROFILE = "cpu-fp32-stacked"
"""Numeric profile that every answer names."""


@dataclass
class LabelStandIn(LabelServiceServicer):
    """Commits and labels are taken and kept for the test to see."""

    commits: list[Any] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    """Labels."""

    def Commit(self, request, context):
        self.commits.append(request)
        return labels.CommitResponse(units=sum(run.count for run in request.units))

    def Submit(self, request, context):
        self.given.extend(request.labels)
        return labels.SubmitLabelsResponse(outcomes=bytes([labels.LABEL_OUTCOME_ACCEPTED] * len(request.labels)))


def refuse(context: Any, status: grpc.StatusCode, detail: common.ErrorDetail) -> None:
    """Ends the call with an error in the form of the contract."""
    context.set_trailing_metadata((("demur-error-bin", detail.SerializeToString()),))
    context.abort(status, detail.message)


@contextmanager
def listening(stand_in: LabelServiceServicer, register: Registration) -> Iterator[str]:
    """Where a stand-in listens, with its labels."""
    server = grpc.server(
        ThreadPoolExecutor(8),
        options=[("grpc.max_receive_message_length", 16 * 2**20), ("grpc.so_reuseport", 0)],
    )
    register(stand_in, server)
    add_LabelServiceServicer_to_server(stand_in, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()
