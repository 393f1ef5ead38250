# Generated from demur/_async/tasks.py by tests/regenerate_blocking_client.py. Edit that file instead.
"""The tasks, policies and label requests of a client, as its attributes."""

from types import TracebackType
from typing import Self

from demur._connection import Reconnecting
from demur._sync.calls import Calls
from demur._sync.lesion import BrainScans
from demur._sync.motion import Motion
from demur._sync.policies import Policies
from demur._sync.requests import Requests
from demur._sync.rows import RowModel, Vessel, Weather
from demur._sync.translation import Translator


class Tasks(Reconnecting):
    """Base class of a client: a connection, and the services of tasks behind it."""

    vessel: Vessel
    """Shaft power of a cargo ship."""
    weather: Weather
    """Air temperature and precipitation class."""
    lesion: BrainScans
    """Multiple sclerosis lesions in brain scans."""
    motion: Motion
    """Positions of vehicles in the next seconds."""
    translation: Translator
    """English to Russian."""
    policies: Policies
    """Policies that decide which units are answered."""
    requests: Requests
    """Requests for labels."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._row_models: dict[str, RowModel] = {}
        self.vessel = Vessel(calls)
        self.weather = Weather(calls)
        self.lesion = BrainScans(calls)
        self.motion = Motion(calls)
        self.translation = Translator(calls)
        self.policies = Policies(calls)
        self.requests = Requests(calls)

    def rows(self, name: str = "") -> RowModel:
        """Return the service of a model of your own.

        Args:
            name: name that it is served under, which the first call compares with what is served; empty for any.
        """
        if name not in self._row_models:
            self._row_models[name] = RowModel(self._calls, name)
        return self._row_models[name]

    def ready(self, timeout: float = 30.0) -> bool:
        """Wait until the service reports that it is serving; False if it has not within this many seconds.

        Raises:
            WrongAddress: it is an HTTP port.
            DemurError: it answered, but not about its health.
        """
        return self._calls.ready(timeout)

    def close(self) -> None:
        """Close the connection and cancel calls that are not finished."""
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
