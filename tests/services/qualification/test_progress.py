"""A long measurement before a service is ready: what it says meanwhile, to callers, `demur status` and `demur up`."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from services.cli import main, up
from services.cli.output import CommandError
from services.cli.processes import Running, announce
from services.cli.processes import started as started_at
from services.qualification.measure import PIECE_UNITS
from tests.ports import free_port
from tests.services.qualification.faulty import PASSES, install, until

PENDING = "the numeric profile cpu-fp16-stacked is being qualified"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until it is set, no more than the first piece of the replay set is measured."""
    proceed = threading.Event()

    def wait(call: int) -> None:
        if call > PASSES:
            proceed.wait(300)

    install(monkeypatch, wait)
    return proceed


@pytest.fixture
def running(start: Any, tmp_path: Path, measured: threading.Event, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process on real ports, in the run files of a home, and after its first piece."""
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path))
    monkeypatch.setenv("DEMUR_LEDGER", "none")

    @asynccontextmanager
    async def found(seconds: float) -> AsyncIterator[Any]:
        async with start(qualify_seconds=seconds, probe_port=free_port()) as process, listening(process):
            http, rpc = process.settings.ports
            here = Running("vessel", os.getpid(), "127.0.0.1", http, rpc, "vessel-dnn-10:0", started_at(os.getpid()))
            announce(tmp_path, Running(**vars(here) | {"probe_port": process.settings.probe_port}))
            try:
                yield process
            finally:
                measured.set()

    return found


@asynccontextmanager
async def listening(process: Any) -> AsyncIterator[None]:
    """Serves the routes of a process, as BentoML does."""
    config = uvicorn.Config(
        process, port=process.settings.ports[0], lifespan="off", ws="none", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment] - pytest's stay
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    try:
        yield
    finally:
        server.should_exit = True
        await serving


async def status(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What `demur status` prints."""
    capsys.readouterr()
    await asyncio.to_thread(main, ["status", *options])
    return capsys.readouterr().out


async def test_the_share_that_is_done_is_told_before_the_service_is_ready(
    running: Any, measured: threading.Event, shifted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    share = f"{PIECE_UNITS / shifted.manifest.replay.units:.0%}"
    assert share != "0%"
    async with running(300.0) as process:
        await until(lambda: share in process.lifecycle.reason)
        message = f"{PENDING}: {share} of the replay set"
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{process.settings.ports[0]}") as http:
            for path in ("/v1/model", "/v1/predict", "/v2/health/ready"):
                refused = await http.get(path)
                assert refused.status_code == 503, path
                assert message in refused.text, path
            assert (await http.get("/v1/model")).json()["error"]["code"] == "not_ready"
            probe = await http.get(f"http://127.0.0.1:{process.settings.probe_port}/readyz")
            assert probe.status_code == 503
            document = json.loads(await status(capsys, "--json"))["services"]["vessel"]
            assert (document["ready"], document["reason"]) == (False, message)
            printed = (await status(capsys)).splitlines()
            at = next(number for number, line in enumerate(printed) if line.startswith("vessel"))
            assert "not ready" in printed[at]
            assert printed[at + 1].strip() == message

            measured.set()
            await until(lambda: process.ready)
            assert (await http.get("/v1/model")).json()["qualification"]["done"] == 1
            document = json.loads(await status(capsys, "--json"))["services"]["vessel"]
            assert document["ready"] is True
            assert document["reason"].startswith("cpu-fp16-stacked: mapped: power: mapped")


async def test_the_share_is_told_while_the_rest_is_measured_beside_the_service(
    running: Any, capsys: pytest.CaptureFixture[str], shifted: Any
) -> None:
    async with running(0.0) as process:
        await until(lambda: process.ready)
        document = json.loads(await status(capsys, "--json"))["services"]["vessel"]
        assert document["ready"] is True
        share = f"{PIECE_UNITS / shifted.manifest.replay.units:.0%}"
        assert document["reason"] == f"cpu-fp16-stacked: qualifying, {share} measured: {PENDING}"


class Clock:
    """Time that stands still until a service has said that it is being qualified, and is late after the next nap."""

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.naps, self._seconds, self._told = 0.0, 0, seconds, False
        whole = up.unready

        def unready(service: Running) -> str:
            reason = whole(service)
            self._told |= "is being qualified" in reason
            return reason

        monkeypatch.setattr(up, "unready", unready)
        monkeypatch.setattr(up, "time", self)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(0.01)
        if self._told:
            self.now, self.naps = self._seconds, self.naps + 1


@pytest.fixture
def supervisor(tmp_path: Path) -> Any:
    """`demur up` with a service that was started before."""
    instance = up.Supervisor(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (tmp_path / "vessel.log").write_text("the last words of the service")
    instance._children = [up.Child("vessel", child, tmp_path / "vessel.log", 0.0)]
    yield instance
    child.kill()
    child.communicate()


async def test_up_waits_longer_for_a_task_that_is_measured(
    running: Any,
    measured: threading.Event,
    supervisor: up.Supervisor,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(up.START_SECONDS + 299, monkeypatch)
    monkeypatch.setenv("DEMUR_QUALIFY_SECONDS", "0")
    monkeypatch.setenv("DEMUR_VESSEL_QUALIFY_SECONDS", "300")
    async with running(300.0) as process:
        await until(lambda: "is being qualified" in process.lifecycle.reason)
        waiting = asyncio.create_task(asyncio.to_thread(supervisor.wait_ready))
        await until(lambda: clock.naps > 3 or waiting.done())
        assert not waiting.done()
        measured.set()
        await asyncio.wait_for(waiting, 60)
        lines = capsys.readouterr().err.splitlines()
        assert [line for line in lines if line.startswith(f"vessel: {PENDING}: ")] == lines[1:], "once"


async def test_up_waits_no_longer_than_the_task_may_take(
    running: Any, supervisor: up.Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(up.START_SECONDS + 6, monkeypatch)
    monkeypatch.setenv("DEMUR_VESSEL_QUALIFY_SECONDS", "5")
    async with running(300.0) as process:
        await until(lambda: "is being qualified" in process.lifecycle.reason)
        with pytest.raises(CommandError, match=r"vessel is not ready after 125 s; from .*\n.*the last words"):
            await asyncio.to_thread(supervisor.wait_ready)
