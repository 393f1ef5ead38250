"""Declarations of a contract test: the task, its artefact and its requests; fixtures that serve it."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from models.artefact import Artefact, read
from services.contract_tests.example import Refusal
from services.contract_tests.served import artefact_served
from services.contract_tests.service import Service
from services.runtime.task_entry import TaskEntry
from services.transport.table_binding import UnitTable

Serve = Callable[..., AbstractContextManager[Service]]
"""Function that serves the artefact with settings by name; ``home`` is the folder of a ledger, and ``artefact`` and
``entry`` replace those of the class.
"""


class Declared:
    """Declarations that a subclass makes, and the fixtures of the tests.

    Two more fixtures of the scope ``class`` or wider are declared beside or in the subclass: ``artefact`` returns the
    artefact or its folder, ``example`` an ``Example``.
    """

    entry: ClassVar[TaskEntry]
    """Entry of the task, which its package registers under ``demur.tasks``."""
    table: ClassVar[UnitTable]
    """Table of the task's answers."""
    refusals: ClassVar[Mapping[str, Refusal]]
    """Requests that the task refuses, by a name for each; at least one."""
    wrong_label: ClassVar[Any] = "no label of this head"
    """Value that is no label of the head."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Settings of the service whose defaults do not suit the tests."""

    @pytest.fixture(scope="class")
    @classmethod
    def served_artefact(cls, artefact: Artefact | Path) -> Artefact:
        """Return the verified artefact."""
        return read(artefact) if isinstance(artefact, Path) else artefact

    @pytest.fixture(scope="class")
    @classmethod
    def serve(cls, served_artefact: Artefact) -> Iterator[Serve]:
        """Return the function that serves the artefact."""
        with asyncio.Runner() as runner:

            @contextmanager
            def serve(
                *, artefact: Artefact = served_artefact, entry: TaskEntry = cls.entry, **settings: Any
            ) -> Iterator[Service]:
                chosen = {"audit_rate": 0.0, **cls.settings, **settings}
                serving = artefact_served(artefact, artefact.manifest.task, entry=entry, **chosen)
                assembled, channel, http = runner.run(serving.__aenter__())
                try:
                    yield Service(runner, assembled, channel, http, cls.table)
                finally:
                    runner.run(serving.__aexit__(None, None, None))

            yield serve

    @pytest.fixture(scope="class")
    @classmethod
    def service(cls, serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
        """Return a service with a ledger, which the tests of the class share."""
        with serve(home=tmp_path_factory.mktemp("ledger")) as service:
            yield service

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run tests that take ``refusal`` for each of ``refusals``."""
        if "refusal" in metafunc.fixturenames:
            if not getattr(self, "refusals", None):
                raise pytest.UsageError(f"{type(self).__name__}.refusals: must have at least one request; add one")
            metafunc.parametrize("refusal", self.refusals.values(), ids=list(self.refusals))
