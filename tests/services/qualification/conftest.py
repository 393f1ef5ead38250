"""Artefacts that compute under another numeric profile than they were calibrated under."""

from __future__ import annotations

import pytest

from models.artefact import Artefact
from tests.services.qualification.variants import replayable, scaled, variant


@pytest.fixture(scope="package")
def source(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """At home on this CPU."""
    return replayable(tmp_path_factory.mktemp("source") / "dnn-10")


@pytest.fixture(scope="package")
def shifted(source: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """The same order of scores on another scale."""
    return variant(source, tmp_path_factory.mktemp("shifted") / "dnn-10", scaled(1.5))
