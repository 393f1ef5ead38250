"""Examples go through the real pipeline before ready, in each shape that serves, and leave no trace of decisions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from models.artefact import Artefact
from models.executors.onnx import RowGraph
from services.app import warming
from services.app.assembly import assemble
from services.request.metrics import Metrics
from services.request.row_task import Packed, RowsRequest
from tests.services.app.test_assembly import SETTINGS, TASK


async def test_every_shape_that_serves_runs_before_ready(
    reference: Artefact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, home=tmp_path)
    metrics = Metrics(TASK, CollectorRegistry())
    assembled = assemble(reference, settings, metrics)
    sizes: set[int] = set()
    run = RowGraph.__call__

    def seen(self: RowGraph, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        sizes.add(len(rows))
        return run(self, rows)

    monkeypatch.setattr(RowGraph, "__call__", seen)
    try:
        await assembled.warm()
    finally:
        assembled.close()
    assert {1, 7, 64, 1024} <= sizes
    assert "demur_units_total{" not in metrics.text().decode(), "no decision is counted"
    assert not list(tmp_path.rglob("*")), "nothing is recorded"


async def test_an_example_that_the_model_refuses_does_not_keep_it_from_serving(
    reference: Artefact, caplog: pytest.LogCaptureFixture
) -> None:
    assembled = assemble(reference, SETTINGS, Metrics(TASK, CollectorRegistry()))
    wrong = RowsRequest(Packed(1, np.full(len(reference.schema), 1e30, "<f4").tobytes()))
    try:
        await warming.warm(assembled.tenant, assembled.scheduler, assembled.offload, [wrong])
    finally:
        assembled.close()
    assert "no request of this model" in caplog.text
