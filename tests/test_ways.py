"""The ways of a request, of a label and of a figure are short: at most 20 modules each."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks import wire
from benchmarks.inputs import rows
from models import artefact
from services.contract_tests.served import artefact_served
from tests.module_recorder import PROJECT, ModuleRecorder
from tests.services.monitor.conftest import Scene, quick_scene
from tests.services.monitor.simulated import label_asked, simulate

__all__ = ["quick_scene"]
MOST_MODULES = 20
NOT_COUNTED = {
    "traces, logs and counts": ("services/tracing/", "services/runtime/logging.py", "services/runtime/histogram.py"),
    "metrics": ("services/request/metrics.py", "services/ledger/metrics.py"),
    "threads and the state of the process": ("services/runtime/offload.py", "services/runtime/lifecycle.py"),
    "what runs at intervals": ("services/labels/periodic_jobs.py", "services/labels/request_expiry.py"),
    "values and their contracts": (
        "services/request/contract.py",
        "services/ledger/contract.py",
        "services/ledger/decided.py",
        "services/ledger/segments.py",
        "services/ledger/unit_ids.py",
        "services/transport/binding.py",
        "services/transport/actor.py",
        "services/access/caller.py",
        "services/qualification/tables.py",
        "services/runtime/errors.py",
        "services/labels/label_types.py",
    ),
    "arithmetic": (
        *(
            "models/schema.py",
            "models/familiarity.py",
            "models/inputs/",
            "models/predictive.py",
            "models/plausibility.py",
        ),
        *("models/uncertainty/", "models/label_errors/", "models/executors/pace.py", "models/calibration.py"),
        *("models/estimation/", "models/drift/", "models/assessment/"),
        *("services/policy/audit_draws.py", "services/transport/http/number_parsing.py"),
    ),
}
"""Modules that a call uses without being handed over to them, by what they do."""

REPETITIONS = 5
PAUSE_SECONDS = 0.3
"""The journal of an earlier request is written by then."""


def counted(modules: list[str]) -> list[str]:
    """Modules that the call is handed over to."""
    prefixes = tuple(path for paths in NOT_COUNTED.values() for path in paths)
    return [module for module in modules if not module.startswith(prefixes)]


def common(records: list[list[str]]) -> list[str]:
    """Modules that every repetition entered: what runs in the background by chance is in some only."""
    return [module for module in records[0] if all(module in record for record in records)]


def checked(name: str, modules: list[str]) -> None:
    passed = counted(modules)
    if os.environ.get("DEMUR_SHOW_WAYS"):
        print(f"{name}: {len(passed)} modules", *passed, "not counted:", *(set(modules) - set(passed)), sep="\n  ")
    assert len(passed) <= MOST_MODULES, passed


@dataclass(frozen=True)
class Served:
    """A vessel service whose calls are recorded."""

    recorder: ModuleRecorder
    body: bytes
    row: dict[str, float]
    predict: Any
    http: Any


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    model = artefact.read(PROJECT / "artefacts" / "vessel" / "dnn-10")
    recorder = ModuleRecorder()
    with recorder.installed():
        async with artefact_served(model, "vessel", tmp_path) as (_, channel, http):
            values = rows(model, 1)
            body = wire.protobuf_body("vessel", model.schema, values)
            row = {name: float(value) for name, value in zip(model.schema.names, values[0], strict=True)}
            predict = channel.unary_unary("/demur.v1.VesselService/Predict")
            await predict(body)
            yield Served(recorder, body, row, predict, http)


def until_the_journal(modules: list[str]) -> list[str]:
    return modules[: modules.index("services/ledger/journal.py") + 1]


async def test_a_row_over_grpc(served: Served) -> None:
    records = []
    for _ in range(REPETITIONS):
        await asyncio.sleep(PAUSE_SECONDS)
        with served.recorder.recorded("ledger") as modules:
            await served.predict(served.body)
        records.append(until_the_journal(modules))
    checked("gRPC, from the bytes to the journal", common(records))


async def test_a_row_over_http(served: Served) -> None:
    records = []
    for _ in range(REPETITIONS):
        await asyncio.sleep(PAUSE_SECONDS)
        with served.recorder.recorded("ledger") as modules:
            await served.http.post("/v1/predict", json={"rows": [served.row]})
        records.append(until_the_journal(modules))
    checked("HTTP, from the bytes to the journal", common(records))


async def test_a_label_until_it_is_durable(served: Served) -> None:
    answer = await served.http.post("/v1/predict", json={"rows": [served.row] * (REPETITIONS + 1)})
    first, *units = answer.json()["power"]["prediction_ids"]
    await served.http.post("/v1/labels", json={"labels": [{"unit": first, "value": 31180}]})  # moves the journal
    records = []
    for unit in units:
        with served.recorder.recorded("ledger-read") as modules:
            taken = await served.http.post("/v1/labels", json={"labels": [{"unit": unit, "value": 31180}]})
            await asyncio.sleep(0)
        assert taken.json()["outcomes"] in (["accepted"], ["orphan"]), json.dumps(taken.json())
        records.append(modules)
    modules = common(records)
    assert "services/ledger/writer.py" in modules
    checked("label, until it is in the ledger", modules)


def test_a_figure_of_the_monitor(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(2000, rate=0.1, seconds=6300))
    book.beat(now + 3)
    watch = quick_scene.watch(now + 3)
    recorder = ModuleRecorder()
    label_asked(book, simulate(200, 2, rate=0.1, start=now, seconds=60))
    book.beat(now + 63)
    with recorder.installed(), recorder.recorded() as modules:
        watch.at(now + 63)
    checked("monitor, from the ledger to the figures", modules)
