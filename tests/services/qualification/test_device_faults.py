"""A device that fails while the replay set is measured: health, probes and another attempt, in service and command."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from models.artefact import Artefact
from models.executors.failures import DeviceFailed
from services.app.model_store import Store as ModelStore
from services.cli.models_qualify import qualify_command
from services.cli.output import CommandError
from tests.services.qualification.faulty import PASSES, install, until

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


async def get(process: Any, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(process), base_url="http://vessel") as http:
        return await http.get(path)


async def reported(process: Any) -> int:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{process.settings.ports[1]}") as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        return int(answer.status)


async def test_a_device_that_fails_in_the_measurement_is_probed_and_measured_again(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proceed = threading.Event()

    def fault(call: int) -> Exception | None:
        if call > PASSES:
            proceed.wait(60)
        return DeviceFailed("EPFail") if PASSES < call <= PASSES + 3 else None

    install(monkeypatch, fault)
    async with start() as process:
        await until(lambda: process.ready)
        health = process._assembled.health
        health.first_seconds = 1e-3
        probed = asyncio.Event()
        probe = health._probe

        async def held() -> None:
            await probed.wait()
            await probe()

        health.probe_with(held)
        proceed.set()
        await until(lambda: health.reason)
        assert not process.ready
        assert process.lifecycle.reason == "", "it has started"
        assert (await get(process, "/v2/health/ready")).status_code == 503
        metrics = (await get(process, "/metrics")).text
        assert 'demur_device_healthy{task="vessel"} 0.0' in metrics
        assert await reported(process) == NOT_SERVING
        assert (await get(process, "/v1/model")).json()["qualification"]["verdict"] == "qualifying"

        probed.set()
        await until(lambda: process._qualifying.done())
        assert (await get(process, "/v1/model")).json()["qualification"]["verdict"] == "mapped"
        (policy,) = process._assembled.tenant.pipeline.policies.all()
        assert policy.mode != "defer_all", "the verdict is in force"
        assert health.failures == {"EPFail": 3}
        assert health.probes["passed"] == 3, "each attempt waits for a probe"
        assert process.ready
        assert await reported(process) == SERVING


async def test_a_device_that_fails_before_the_start_is_judged_by_the_self_test(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda call: DeviceFailed("OutOfMemory") if call == 1 else None)
    async with start() as process:
        await until(lambda: process._qualifying.done())
        assert process.ready
        assert (await get(process, "/v1/model")).json()["qualification"]["verdict"] == "mapped"
        assert not process._assembled.health.failures


async def test_a_stop_does_not_wait_for_a_device_that_stays_away(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda call: DeviceFailed("EPFail") if call > PASSES else None)

    async def fails() -> None:
        raise DeviceFailed("EPFail")

    async with start() as process:
        await until(lambda: process._assembled and process._assembled.health.reason)
        process._assembled.health.probe_with(fails)
        await asyncio.wait_for(process.stop(), 60)
        assert process._qualifying.done()


async def test_another_error_in_the_measurement_leaves_everything_deferred_with_the_reason(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda call: OSError("the disk is gone") if call > PASSES else None)
    async with start() as process:
        await until(lambda: process._qualifying.done())
        assert process.ready, "it answers, and defers everything"
        document = (await get(process, "/v1/model")).json()["qualification"]
        assert (document["verdict"], "the disk is gone" in document["reason"]) == ("unqualified", True)
        (policy,) = process._assembled.tenant.pipeline.policies.all()
        assert policy.mode == "defer_all"
        assert "the disk is gone" in policy.reason


def test_the_command_names_a_device_that_failed(
    shifted: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda call: DeviceFailed("OutOfMemory"))
    store = ModelStore(tmp_path)
    store.add(shifted.directory)
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path))
    with pytest.raises(CommandError, match="the device failed: OutOfMemory; nothing was recorded"):
        qualify_command.main([shifted.tag])
    assert not list(store.qualifications.glob("*.json"))
