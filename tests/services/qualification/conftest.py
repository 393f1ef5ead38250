"""Artefacts that compute under another numeric profile than they were calibrated under, and a process of one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.artefact import Artefact
from services.app import process
from services.runtime.settings import Settings
from tests.ports import free_ports
from tests.services.qualification.variants import replayable, scaled, variant


@pytest.fixture(scope="package")
def source(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """At home on this CPU."""
    return replayable(tmp_path_factory.mktemp("source") / "dnn-10")


@pytest.fixture(scope="package")
def shifted(source: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """The same order of scores on another scale."""
    return variant(source, tmp_path_factory.mktemp("shifted") / "dnn-10", scaled(1.5))


@pytest.fixture
def start(shifted: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts a process under a numeric profile that has to be measured; most of it after its start, by default."""
    monkeypatch.setattr(process.logging, "configure", lambda *_: None)
    monkeypatch.setattr(process.Process, "_chain_signals", lambda _: None)
    monkeypatch.setattr(process, "gc", SimpleNamespace(collect=lambda: None, freeze=lambda: None))
    monkeypatch.setattr(process, "find", lambda *_: shifted)
    monkeypatch.setattr(process, "QUALIFY_AGAIN_SECONDS", 0.01)

    @asynccontextmanager
    async def started(**more: Any) -> AsyncIterator[Any]:
        http, rpc = free_ports(2)
        settings = {"task": "vessel", "lanes": 1, "ledger": "none", "home": tmp_path, "qualify_seconds": 0.0}
        running = process.Process(Settings(**settings | {"http_port": http, "grpc_port": rpc} | more))
        try:
            await running.start()
            yield running
        finally:
            await asyncio.wait_for(running.stop(), 60)

    return started
