"""The vessel task: shaft power of a cargo ship."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from demur._answer import Answer, gaussian, join_gaussian
from demur._async_row_service import AsyncRowService
from demur._calls import AsyncCalls, Calls
from demur._describe import Head
from demur._errors import wrong_argument
from demur._question import DeferAbove, Purpose, RowMessages
from demur._row_service import RowService
from demur._rows import Rows, Units
from demur.v1.vessel_pb2 import VesselChunk, VesselPredictRequest, VesselPredictResponse, VesselStreamRequest
from demur.v1.vessel_pb2_grpc import VesselServiceStub


class Vessel(RowService[Answer]):
    """Asks about ships, blocking; for any number of threads.

    Answers are shaft power in kW; uncertainties, and ``defer_above``, are in kW².
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls, _MESSAGES)

    def cost(
        self,
        rows: Rows,
        k: float = 2.0,
        *,
        purpose: Purpose = "explore",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        units: Units = None,
    ) -> NDArray[np.float64]:
        """Return what an optimiser minimises: mean + k standard deviations in kW, infinite where the row is deferred.

        Args:
            rows: as for :meth:`predict`.
            k: standard deviations of the predictive that are added; 0 for the mean alone.
            purpose: ``explore`` by default, unlike :meth:`predict`: an optimiser asks about far more than is sailed,
                and what is explored is neither audited nor labelled. :meth:`predict` the chosen rows to act on them.
            timeout: as for :meth:`predict`.
            defer_above: as for :meth:`predict`.
            units: as for :meth:`predict`.

        Returns:
            Float64 [N], in the order of the rows.

        Raises:
            InvalidInput: ``k`` is no finite number from 0 up, or as for :meth:`predict`.
            DemurError: as for :meth:`predict`.
        """
        _check(k)
        answer = self.predict(rows, purpose=purpose, timeout=timeout, defer_above=defer_above, units=units)
        return _cost(answer, k)


class AsyncVessel(AsyncRowService[Answer]):
    """Asks about ships, on the running event loop; for any number of its tasks. As :class:`Vessel` otherwise."""

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, _MESSAGES)

    async def cost(
        self,
        rows: Rows,
        k: float = 2.0,
        *,
        purpose: Purpose = "explore",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        units: Units = None,
    ) -> NDArray[np.float64]:
        """As :meth:`Vessel.cost`."""
        _check(k)
        answer = await self.predict(rows, purpose=purpose, timeout=timeout, defer_above=defer_above, units=units)
        return _cost(answer, k)


def _check(k: float) -> None:
    if not isinstance(k, (int, float, np.number)) or not 0.0 <= k < math.inf:
        raise wrong_argument("k", k, "a finite number from 0 up, of standard deviations")


def _cost(answer: Answer, k: float) -> NDArray[np.float64]:
    """Mean + k standard deviations, kW, float64 [N]; infinite where a row is deferred."""
    upper = np.asarray(answer.mean, np.float64) + k * np.sqrt(np.asarray(answer.total, np.float64))
    return np.where(answer.deferred, np.inf, upper)


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
