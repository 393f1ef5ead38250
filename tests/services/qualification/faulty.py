"""Replayers that fail, or wait, when a test tells them to."""

import asyncio
from collections.abc import Callable

import pytest

from models import replay
from models.artefact import Artefact
from models.executors.device import Device
from models.replay import Replayer, Scores

PASSES = len(replay.BATCHES)
"""Calls of a replayer for one piece of the replay set; the first piece is measured before the service is ready."""


class Faulty:
    """The real replayer of an artefact, which fails when it is told to."""

    def __init__(self, inner: Replayer, fault: Callable[[int], Exception | None]) -> None:
        self._inner, self._fault = inner, fault
        self.calls = 0
        self.units, self.most_batch = inner.units, inner.most_batch

    def __call__(self, first: int, count: int, batch: int) -> Scores:
        self.calls += 1
        if (error := self._fault(self.calls)) is not None:
            raise error
        return self._inner(first, count, batch)


def install(monkeypatch: pytest.MonkeyPatch, fault: Callable[[int], Exception | None]) -> None:
    """Puts faults before each pass of a replay set: 1 is the first call of the process."""

    def faulty(model: Artefact, device: Device) -> Replayer:
        return Faulty(replay.replayer(model, device), fault)

    monkeypatch.setattr("services.app.assembly.replayer", faulty)


async def until(reached: Callable[[], object]) -> None:
    """Waits a minute at most."""
    async with asyncio.timeout(60):
        while not reached():
            await asyncio.sleep(0.01)
