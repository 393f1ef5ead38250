"""The reference artefact, assembled as it is served: self-test, and policies of its own numeric profile."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from models import artefact, npz
from models.artefact import Artefact, ArtefactError
from services.app.assembly import assemble, profile
from services.ledger.database import Database, LedgerRefused
from services.request.contract import Call
from services.request.metrics import Metrics
from services.request.row_task import Packed, RowsRequest
from services.runtime.settings import Settings
from services.tasks import DEFAULT_MODELS
from tests.ledger_reader import Reader

TASK = Settings().task
MODEL = DEFAULT_MODELS[TASK]
SETTINGS = Settings(task=TASK, lanes=1)


def golden(model: Artefact) -> dict[str, np.ndarray]:
    with np.load(model.path(model.manifest.golden)) as arrays:
        return dict(arrays)


def request(rows: np.ndarray) -> RowsRequest:
    return RowsRequest(Packed(len(rows), rows.astype("<f4").tobytes()))


async def test_what_was_recorded_is_answered(reference: Artefact) -> None:
    assembled = assemble(reference, SETTINGS, Metrics(TASK, CollectorRegistry()))
    try:
        assembled.tenant.warm_up()
        recorded = golden(reference)
        rows = recorded["rows"]
        schema = reference.schema
        possible = ((rows >= schema.lower) & (rows <= schema.upper)).all(axis=1)
        (portion,) = await assembled.tenant.pipeline.answer(request(rows[possible]), Call())
        (head,) = portion.predictives
        np.testing.assert_allclose(portion.predictives[head].mean, recorded["mean"][possible], rtol=1e-3)
        assert portion.verdicts[head].policy.mode == "target_retention"
        assert portion.model == reference.tag
        assert assembled.scheduler.active == 0
    finally:
        assembled.close()


def test_thresholds_are_bound_to_the_numeric_profile(reference: Artefact) -> None:
    calibrated = assemble(reference, SETTINGS, Metrics(TASK, CollectorRegistry()))
    calibrated.close()
    (policy,) = calibrated.tenant.pipeline.policies.all()
    assert policy.profile == profile(SETTINGS, reference).name == "cpu-fp32-stacked"
    on_gpu = profile(Settings(provider="cuda", tf32=True, convolution_search="default"), reference)
    assert (on_gpu.provider, on_gpu.precision, on_gpu.layout) == ("cuda", "fp32", "stacked")
    assert on_gpu.name.endswith("-tf32-default")
    assert calibrated.tenant.pipeline.profile == "cpu-fp32-stacked", "as answers name it"
    table = reference.manifest.heads[policy.head][policy.profile].retention
    assert policy.threshold == table.threshold(SETTINGS.target_retention)


def test_a_retention_that_nothing_certifies_defers_all_and_says_so(reference: Artefact, caplog) -> None:
    settings = Settings(task=TASK, lanes=1, target_retention=0.99999)
    assembled = assemble(reference, settings, Metrics(TASK, CollectorRegistry()))
    assembled.close()
    (policy,) = assembled.tenant.pipeline.policies.all()
    assert policy.mode == "defer_all"
    assert "0.99999" in policy.reason
    assert policy.reason in caplog.text
    assert assembled.tenant.grpc.describe is not None
    assert assembled.tenant.grpc.describe().policies[0].reason == policy.reason


def test_what_members_say_is_declared(reference: Artefact) -> None:
    assembled = assemble(reference, SETTINGS, Metrics(TASK, CollectorRegistry()))
    assembled.close()
    task = assembled.tenant.pipeline.task
    rows = golden(reference)["rows"]
    rows = rows[((rows >= reference.schema.lower) & (rows <= reference.schema.upper)).all(axis=1)]
    plain, members = (task.expand(replace(request(rows), members=with_members)) for with_members in (False, True))
    count = reference.manifest.members * reference.manifest.samples
    assert members.nbytes == plain.nbytes * (10 + 2 * count) / 10


def test_a_graph_that_computes_something_else_is_not_served(reference: Artefact, tmp_path: Path) -> None:
    files = {name: reference.path(name).read_bytes() for name in reference.manifest.files}
    arrays = golden(reference)
    arrays["mean"] = arrays["mean"] * np.float32(1.01)
    other = artefact.write(
        tmp_path / "other", reference.manifest, files | {reference.manifest.golden: npz.encode(arrays)}
    )
    assembled = assemble(other, SETTINGS, Metrics(TASK, CollectorRegistry()))
    assembled.close()
    with pytest.raises(ArtefactError, match="does not compute what was calibrated"):
        assembled.tenant.warm_up()


async def test_decisions_are_recorded_with_their_inputs_and_what_is_served(reference: Artefact, tmp_path: Path) -> None:
    settings = replace(SETTINGS, home=tmp_path, fixed_threshold=0.0, audits="stratified")
    metrics = Metrics(TASK, CollectorRegistry())
    assembled = assemble(reference, settings, metrics)
    await assembled.start()
    try:
        rows = golden(reference)["rows"]
        rows = rows[((rows >= reference.schema.lower) & (rows <= reference.schema.upper)).all(axis=1)]
        (portion,) = await assembled.tenant.pipeline.answer(request(rows), Call())
        assert portion.recorded
        (explored,) = await assembled.tenant.pipeline.answer(request(rows), Call(purpose="explore"))
        assert not explored.recorded
        (ids,) = explored.ids.values()
        committed = await assembled.tenant.pipeline.ledger.commit([(ids.epoch, ids.first)])
        assert (committed.units, committed.unknown) == (1, ())
        exported = metrics.text().decode()
        assert f'demur_ledger_recorded_units_total{{task="{TASK}"}} {len(rows) + 1}.0' in exported
        assert f'demur_ledger_up{{task="{TASK}"}} 1.0' in exported
    finally:
        await assembled.stop()
        assembled.close()
    reader = Reader(Database(settings.ledger_url or ""))
    snapshot = reader.read({})
    reader.close()
    assert len(snapshot.items) == len(rows) + 1
    payloads = {item["sequence"]: item["payload"] for item in snapshot.items}  # in the order of their commits, else
    (decided,) = portion.ids.values()
    np.testing.assert_array_equal(np.frombuffer(payloads[decided.first + 1], "<f4"), rows[1])
    (deployment,) = snapshot.deployments
    document = json.loads(deployment["document"])
    assert document["members"] == reference.manifest.members
    assert [feature["name"] for feature in document["schema"]] == [column.name for column in reference.schema.features]
    assert document["calibration"]["expected_error"]["measure"] == document["policy"]["measure"]
    assert (tmp_path / "ledger" / f"{TASK}.db").stat().st_mode & 0o077 == 0


async def test_strata_follow_the_threshold_of_the_policy(reference: Artefact) -> None:
    settings = replace(SETTINGS, audits="stratified", audit_rate=0.02)
    assembled = assemble(reference, settings, Metrics(TASK, CollectorRegistry()))
    assembled.close()
    (policy,) = assembled.tenant.pipeline.policies.all()
    uppers, rates = np.array(policy.audit_strata).T
    assert uppers[-1] == pytest.approx(policy.threshold, rel=0.05)
    assert rates.mean() == pytest.approx(0.02)


def test_without_a_ledger_nothing_is_recorded(reference: Artefact) -> None:
    assembled = assemble(reference, replace(SETTINGS, ledger="none"), Metrics(TASK, CollectorRegistry()))
    assembled.close()
    assert assembled.ledger is None


def test_an_impossible_ledger_is_refused_at_once(reference: Artefact) -> None:
    with pytest.raises(LedgerRefused, match="DEMUR_LEDGER = nonsense"):
        assemble(reference, replace(SETTINGS, ledger="nonsense"), Metrics(TASK, CollectorRegistry()))
