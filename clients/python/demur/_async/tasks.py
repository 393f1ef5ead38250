"""The tasks, policies and label requests of a client, as its attributes."""

from types import TracebackType
from typing import Self

from demur._async.calls import AsyncCalls
from demur._async.lesion import AsyncBrainScans
from demur._async.motion import AsyncMotion
from demur._async.policies import AsyncPolicies
from demur._async.requests import AsyncRequests
from demur._async.rows import AsyncRowModel, AsyncVessel, AsyncWeather
from demur._async.translation import AsyncTranslator
from demur._connection import Reconnecting


class AsyncTasks(Reconnecting):
    """Base class of a client: a connection, and the services of tasks behind it."""

    vessel: AsyncVessel
    """Shaft power of a cargo ship."""
    weather: AsyncWeather
    """Air temperature and precipitation class."""
    lesion: AsyncBrainScans
    """Multiple sclerosis lesions in brain scans."""
    motion: AsyncMotion
    """Positions of vehicles in the next seconds."""
    translation: AsyncTranslator
    """English to Russian."""
    policies: AsyncPolicies
    """Policies that decide which units are answered."""
    requests: AsyncRequests
    """Requests for labels."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls
        self._row_models: dict[str, AsyncRowModel] = {}
        self.vessel = AsyncVessel(calls)
        self.weather = AsyncWeather(calls)
        self.lesion = AsyncBrainScans(calls)
        self.motion = AsyncMotion(calls)
        self.translation = AsyncTranslator(calls)
        self.policies = AsyncPolicies(calls)
        self.requests = AsyncRequests(calls)

    def rows(self, name: str = "") -> AsyncRowModel:
        """Return the service of a model of your own.

        Args:
            name: name that it is served under, which the first call compares with what is served; empty for any.
        """
        if name not in self._row_models:
            self._row_models[name] = AsyncRowModel(self._calls, name)
        return self._row_models[name]

    async def ready(self, timeout: float = 30.0) -> bool:
        """Wait until the service reports that it is serving; False if it has not within this many seconds.

        Raises:
            WrongAddress: it is an HTTP port.
            DemurError: it answered, but not about its health.
        """
        return await self._calls.ready(timeout)

    async def close(self) -> None:
        """Close the connection and cancel calls that are not finished."""
        await self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
