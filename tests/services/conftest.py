"""Fixtures of several folders of tests of the services."""

import warnings
from types import ModuleType

import pytest

from models import artefact
from models.artefact import Artefact
from services.app.reference import folder
from services.runtime.settings import Settings
from services.tasks import DEFAULT_MODELS


@pytest.fixture(scope="session")
def bento() -> ModuleType:
    """The host of the service, which warns of its own libraries while it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from services.app import bento

    return bento


@pytest.fixture(scope="session")
def reference() -> Artefact:
    """Artefact that is served by default."""
    task = Settings().task
    return artefact.read(folder(DEFAULT_MODELS[task]), task)
