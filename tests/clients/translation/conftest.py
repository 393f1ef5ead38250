"""A stand-in of the translation service, which ``client`` asks."""

from collections.abc import Iterator

import pytest

from tests.clients.stand_in import serving
from tests.clients.translation.service import TranslationStandIn


@pytest.fixture
def translation() -> TranslationStandIn:
    return TranslationStandIn()


@pytest.fixture
def target(translation: TranslationStandIn) -> Iterator[str]:
    with serving(translation) as where:
        yield where
