"""A stand-in of the motion service, which ``client`` asks."""

from collections.abc import Iterator

import pytest

from tests.clients.motion.service import MotionStandIn
from tests.clients.stand_in import serving


@pytest.fixture
def motion() -> MotionStandIn:
    return MotionStandIn()


@pytest.fixture
def target(motion: MotionStandIn) -> Iterator[str]:
    with serving(motion) as where:
        yield where
