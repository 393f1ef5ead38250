"""Every test that takes ``toy`` runs on all toys, every one that takes ``protocol`` on both protocols."""

import pytest

from tests.contract.serving import PROTOCOLS, Protocol
from tests.contract.toys import TOYS
from tests.contract.toys.toy import Toy


@pytest.fixture(params=TOYS, ids=lambda toy: toy.name)
def toy(request: pytest.FixtureRequest) -> Toy:
    return request.param


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return request.param
