"""Shared parts of the stand-ins: a socket to listen on, labels, streams, refusals and decisions."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import grpc
import numpy as np

from demur.v1 import common_pb2 as common
from demur.v1 import labels_pb2 as labels
from demur.v1.labels_pb2_grpc import LabelServiceServicer, add_LabelServiceServicer_to_server

Registration = Callable[[Any, Any], None]
PROFILE = "cpu-fp32-stacked"
"""Numeric profile that every answer names."""


@dataclass
class LabelStandIn(LabelServiceServicer):
    """Commits and labels are taken and kept for the test to see."""

    register: ClassVar[Registration]
    """Adds the stand-in of a task to a server."""
    commits: list[Any] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    """Labels."""

    def Commit(self, request, context):
        self.commits.append(request)
        return labels.CommitResponse(units=sum(run.count for run in request.units))

    def Submit(self, request, context):
        self.given.extend(request.labels)
        return labels.SubmitLabelsResponse(outcomes=bytes([labels.LABEL_OUTCOME_ACCEPTED] * len(request.labels)))


@dataclass
class UnitStandIn(LabelStandIn):
    """Stand-in of a task whose units are answered one by one, with what tests observe and set.

    Every other unit is too uncertain, and outside the training range.
    """

    task: ClassVar[str]
    epoch: ClassVar[int]
    threshold: ClassVar[float]
    head: ClassVar[common.HeadSpec]
    withhold: bool = False
    window: int = 2
    seconds: float = 0.0
    """Spent on every question."""
    faults: list[grpc.StatusCode] = field(default_factory=list)
    """Statuses with which the next calls are refused, one each."""
    begins: list[Any] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    most_unanswered: int = 0
    """Largest number of questions of a stream that were received and not answered."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when the last stream is over, however it ended."""

    def Describe(self, request, context):
        return common.DescribeResponse(
            task=self.task,
            model=f"{self.task}:1",
            heads=[self.head],
            policies=[common.PolicySpec(head=self.head.name, version="p1", threshold=self.threshold)],
        )

    def accepted(self) -> common.StreamAccepted:
        return common.StreamAccepted(model=f"{self.task}:1", profile=PROFILE, window_chunks=self.window)

    def begun(self, requests: Iterator[Any], context: Any) -> Any:
        """Refuse a stream, or return its first frame's ``begin``."""
        self.ended.clear()
        context.add_callback(self.ended.set)
        self.fail(context)
        self.begins.append(next(requests).begin)
        return self.begins[-1]

    def fail(self, context: Any) -> None:
        if self.faults:
            context.abort(self.faults.pop(0), "out of order")

    def unanswered(self, questions: int) -> None:
        self.most_unanswered = max(self.most_unanswered, questions)

    def deferral(self, first: int, uncertainty: np.float32, shift: int, manner: Any) -> common.Deferral:
        """Decision on one unit, as the threshold and the caller's ``defer_above`` want it."""
        decision = common.DECISION_ANSWER if uncertainty <= np.float32(self.threshold) else common.DECISION_DEFER
        if decision == common.DECISION_ANSWER and manner.HasField("defer_above"):
            stricter = uncertainty > np.float32(manner.defer_above)
            decision = common.DECISION_CALLER_DEFERRED if stricter else decision
        return common.Deferral(
            ids=common.UnitIds(epoch=self.epoch, first=first, count=1),
            policy="p1",
            measure=self.head.measure,
            threshold=self.threshold,
            uncertainty=uncertainty.tobytes(),
            decisions=bytes([decision]),
            shifts=bytes([shift * (first % 2)]),
        )

    def withheld(self, deferral: common.Deferral) -> bool:
        return self.withhold and deferral.decisions != bytes([common.DECISION_ANSWER])


class Refused(Exception):
    """Refusal of a whole question."""

    def __init__(self, code: str, message: str, field: str = "", value: str = "", index: int = -1) -> None:
        super().__init__(message)
        self.detail = common.ErrorDetail(code=code, message=message, field=field, value=value, index=index)


def refuse(context: Any, status: grpc.StatusCode, detail: common.ErrorDetail) -> None:
    """Ends the call with an error in the form of the contract."""
    context.set_trailing_metadata((("demur-error-bin", detail.SerializeToString()),))
    context.abort(status, detail.message)


@contextmanager
def serving(stand_in: LabelStandIn) -> Iterator[str]:
    """Serve a stand-in with its labels, and yield its address."""
    server = grpc.server(
        ThreadPoolExecutor(8),
        options=[("grpc.max_receive_message_length", 16 * 2**20), ("grpc.so_reuseport", 0)],
    )
    stand_in.register(stand_in, server)
    add_LabelServiceServicer_to_server(stand_in, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()
