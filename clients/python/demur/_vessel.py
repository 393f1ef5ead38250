"""The vessel task: shaft power of a cargo ship."""

from __future__ import annotations

from demur._answer import Answer, gaussian, join_gaussian
from demur._async_row_service import AsyncRowService
from demur._calls import AsyncCalls, Calls
from demur._describe import Head
from demur._question import RowMessages
from demur._row_service import RowService
from demur.v1.vessel_pb2 import VesselChunk, VesselPredictRequest, VesselPredictResponse, VesselStreamRequest
from demur.v1.vessel_pb2_grpc import VesselServiceStub


class Vessel(RowService[Answer]):
    """Asks about ships, blocking; for any number of threads.

    Answers are shaft power in kW; uncertainties, and ``defer_above``, are in kW².
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls, _MESSAGES)


class AsyncVessel(AsyncRowService[Answer]):
    """Asks about ships, on the running event loop; for any number of its tasks. As :class:`Vessel` otherwise."""

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, _MESSAGES)


def _decode(response: VesselPredictResponse, heads: tuple[Head, ...]) -> Answer:
    return gaussian(response.power, response)


_MESSAGES = RowMessages(
    stub=VesselServiceStub,
    question=VesselPredictRequest,
    frame=VesselStreamRequest,
    chunk=VesselChunk,
    decode=_decode,
    join=join_gaussian,
)
