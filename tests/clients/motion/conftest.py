"""A stand-in of the motion service, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import demur
from tests.clients.motion.service import (
    MotionStandIn,
    serving,
)


@pytest.fixture
def motion() -> MotionStandIn:
    return MotionStandIn()


@pytest.fixture
def target(motion: MotionStandIn) -> Iterator[str]:
    with serving(motion) as where:
        yield where


@pytest.fixture
def client(target: str) -> Iterator[demur.Client]:
    retry = demur.Retry(initial_seconds=0.01, max_seconds=0.02)
    with demur.connect(target, timeout=10, retry=retry) as opened:
        yield opened
