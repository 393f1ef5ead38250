"""What several kinds of tests use: real inputs, a database server, and bounded memory of their process."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from services.transport.grpc.polling import use_older_poller
from tests.memory import Memory, most_megabytes
from tests.models.weather.tiny import Tiny
from tests.postgres import Postgres, running_postgres

PROJECT = Path(__file__).resolve().parents[1]
LONG = ("tests/e2e/", "tests/fault/")
"""Folders whose tests all are marked `long`: they start services as processes."""

# Examples are the same in each run, and take as long as they take: a busy machine fails no test.
# `--hypothesis-profile explore` draws others each time.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("explore"), derandomize=True)
settings.load_profile("fixed")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Memory(most_megabytes()), "demur-memory")
    use_older_poller(os.environ)  # servers within the tests' process wait as a service does


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker("long")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several processes (``-n 3``), tests of a module run in one, and so do those that share services."""
    from tests.scheduling import ByModule

    return ByModule(config, log)


@pytest.fixture(autouse=True)
def _torch_draws() -> None:
    """Draws without a generator are the same in any order of tests."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(0)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Real inputs; they are not part of the repository."""
    path = Path(os.environ.get("DEMUR_TEST_DATA", PROJECT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set DEMUR_TEST_DATA")
    return path


@pytest.fixture(scope="session")
def real_scene(test_data: Path) -> Path:
    """A scene of traffic of the Shifts data set."""
    path = test_data / "motion" / "shifts_test_scene.pb"
    if not path.is_file():
        pytest.skip(f"no real scene at {path}")
    return path


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Small weather artefacts; each is trained when a test asks for it first."""
    return Tiny(tmp_path_factory.mktemp("weather"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL server of our own."""
    try:
        with running_postgres() as server:
            yield server
    except LookupError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty ledger, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return request.getfixturevalue("postgres").database()
