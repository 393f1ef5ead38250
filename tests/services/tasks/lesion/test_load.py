"""What scans cost a process: nothing large on the event loop, and no memory that nobody declared or that stays."""

import base64
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.artefact import Artefact
from models.tasks.lesion.artefact import recipe
from models.tasks.lesion.inference import members
from services.request.contract import Units
from services.tasks.lesion import presentation, task
from services.tasks.lesion.request import ScanRequest
from services.tasks.lesion.task import LesionTask
from tests.models.lesion.heads import head, packed
from tests.services.tasks.lesion.conftest import serving
from tests.services.tasks.served_task import threads_of

PLAIN = packed(head())


async def test_however_small_a_file_is_it_is_unpacked_and_answered_beside_the_event_loop(
    three: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kB unpack to many MB, and answers are larger than what they answer."""
    threads = threads_of(monkeypatch, (LesionTask, "_read"), (presentation, "files"))
    small = packed(np.where(head() > 0, np.where(head() > 150, 200, 100), 0).astype(np.uint8))
    assert len(small) < 1 << 14
    async with serving(three) as served:
        await served.answer(small)
        await served.message(small)
        text = {"flair": base64.b64encode(small).decode()}
        assert (await served.http.post("/v1/predict", json=text)).status_code == 200
        await served.job({"flair": ("x", small)})
    for name, workers in threads.items():
        assert workers, name
        assert threading.main_thread() not in workers, name


def made(artefact: Artefact) -> tuple[LesionTask, ScanRequest]:
    lesion_task = LesionTask(members.members(artefact), recipe.read(artefact), task.Pace(), lanes=1, keeps_inputs=False)
    return lesion_task, ScanRequest(PLAIN)


def test_a_fine_scan_declares_its_own_voxels_and_the_maps_on_its_grid(three: Artefact) -> None:
    """Voxels of 0.5 mm are 8 times as many as the networks see, and all maps are answered on them."""
    served, _ = made(three)
    coarse, fine = head((60, 60, 60)), head((120, 120, 120))
    plain = served.expand(ScanRequest(packed(coarse))).nbytes
    declared = served.expand(ScanRequest(packed(fine.astype(np.float64), np.diag((0.5, 0.5, 0.5, 1))))).nbytes
    assert declared - plain > fine.size * (8 + 4 * 6) - coarse.size * 4


async def test_a_large_scan_that_waits_is_not_kept_unpacked_and_answered_all_the_same(
    three: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "WAITING_BYTES", 0)
    lesion_task, request = made(three)
    assert lesion_task.expand(request).payload.scan is None
    async with serving(three) as served:
        again = await served.answer(PLAIN, maps="mask")
    monkeypatch.undo()
    assert lesion_task.expand(request).payload.scan is not None
    async with serving(three) as served:
        plain = await served.answer(PLAIN, maps="mask")
    assert again["files"] == plain["files"]


async def test_explored_scans_are_counted_by_what_they_hold_and_hold_no_input(
    three: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    voxels = head().size
    expanded: list[Units[Any]] = []
    expand = LesionTask.expand

    def noting(self: LesionTask, request: ScanRequest) -> Units[Any]:
        expanded.append(expand(self, request))
        return expanded[-1]

    monkeypatch.setattr(LesionTask, "expand", noting)
    async with serving(three, tmp_path) as served:
        ledger = served.assembled.ledger
        assert ledger is not None
        ids = []
        for number in range(1, 4):
            answer = await served.answer(PLAIN, maps="mask", purpose="explore")
            ids.append(answer["prediction_id"])
            assert number * voxels < ledger.explored.nbytes < number * (voxels + 10_000)
        assert [(units.payload.request, units.payload.scan) for units in expanded] == [(None, None)] * 3
        reply = await served.http.post("/v1/commit", json={"units": ids})
        assert (reply.status_code, reply.json()["units"]) == (200, 3), reply.text
