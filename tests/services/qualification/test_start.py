"""What a process does about a numeric profile that its artefact was not calibrated under: other graphs on this CPU."""

import asyncio
import gc
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from models import replay
from models.artefact import Artefact
from models.executors.failures import OUT_OF_MEMORY_KIND, DeviceFailed
from models.profile import Profile
from models.qualification.packed import unpack
from models.qualification.record import MEAN
from models.replay import Replayer
from services.app import assembly
from services.app.assembly import assemble, profile, qualify
from services.ledger.database import Database
from services.policy.changes import PolicyChange
from services.policy.decision import Decision
from services.policy.sync import QUALIFICATION
from services.qualification.metrics import QualificationMetrics
from services.qualification.records import Records
from services.qualification.standing import model_document
from services.qualification.start import NotQualified, Qualification
from services.qualification.verdict import ROUNDING, agrees
from services.request.contract import Call
from services.request.metrics import Metrics
from services.request.row_task import Packed, RowsRequest
from services.runtime.settings import Settings
from tests.ledger_reader import Reader
from tests.services.qualification.variants import disordered, not_finite, rounded, scaled, variant

SETTINGS = Settings(task="vessel", lanes=1, ledger="none")


def measured(model: Artefact, folder: Path, settings: Settings = SETTINGS) -> Qualification:
    qualification = qualify(model, settings, folder)
    qualification.settle()
    qualification.measure()
    return qualification


def test_an_artefact_is_at_home_under_its_own_profile(source: Artefact, tmp_path: Path) -> None:
    qualification = qualify(source, SETTINGS, tmp_path)
    tables = qualification.settle()
    assert tables.origin == "artefact"
    assert tables.reason == ""
    assert not qualification.pending
    assert tables.by_head["power"] == source.manifest.heads["power"]["cpu-fp32-stacked"]
    assert not list(tmp_path.iterdir())


def test_rounding_in_the_last_digits_is_carried_with_a_guard_band(source: Artefact, tmp_path: Path) -> None:
    model = variant(source, tmp_path / "dnn-10", rounded(19))
    assert profile(SETTINGS, model).name == "cpu-fp16-stacked"
    tables = measured(model, tmp_path / "records").standing.tables
    assert tables.origin == "carried"
    own = source.manifest.heads["power"]["cpu-fp32-stacked"].retention
    carried = tables.by_head["power"].retention
    assert carried.levels == own.levels
    below = np.subtract(own.thresholds, carried.thresholds)
    assert (below >= 0).all()
    assert below.max() > 0
    np.testing.assert_allclose(carried.thresholds, own.thresholds, rtol=1e-3)
    assert "rank correlation" in tables.reason


def test_another_scale_is_mapped_to_the_same_quantiles(source: Artefact, shifted: Artefact, tmp_path: Path) -> None:
    tables = measured(shifted, tmp_path).standing.tables
    assert tables.origin == "mapped"
    own = source.manifest.heads["power"]["cpu-fp32-stacked"].retention
    carried = tables.by_head["power"].retention
    ratio = np.divide(carried.thresholds, own.thresholds)
    np.testing.assert_allclose(ratio, 1.5, rtol=0.05)


@pytest.mark.parametrize("change", [disordered, not_finite, rounded(2)])
def test_other_scores_are_refused_and_everything_is_deferred(source: Artefact, tmp_path: Path, change) -> None:
    model = variant(source, tmp_path / "dnn-10", change)
    tables = measured(model, tmp_path / "records").standing.tables
    assert tables.origin == "refused"
    assert tables.by_head == {"power": None}
    assert Records(tmp_path / "records").all()[0].verdict == "refused"
    assembled = assemble(model, SETTINGS, Metrics("vessel", CollectorRegistry()), tables)
    assembled.close()
    (policy,) = assembled.tenant.pipeline.policies.all()
    assert policy.mode == "defer_all"
    assert policy.reason == tables.reason


def test_a_record_is_used_again_while_the_scores_are_the_same(shifted: Artefact, tmp_path: Path, monkeypatch) -> None:
    first = measured(shifted, tmp_path).standing.tables
    again = qualify(shifted, SETTINGS, tmp_path)
    assert again.settle().record == first.record
    assert not again.pending
    assert again.standing.tables.by_head == first.by_head

    (path,) = tmp_path.iterdir()
    record = Records(tmp_path).all()[0]
    other = msgspec.structs.replace(record, libraries=record.libraries | {"onnxruntime": "0.1"})
    Records(tmp_path).put(other)
    changed = qualify(shifted, SETTINGS, tmp_path)
    changed.settle()
    assert changed.pending, "another version of a library: measured again"

    path.write_text("{")
    damaged = qualify(shifted, SETTINGS, tmp_path)
    damaged.settle()
    assert damaged.pending


def test_a_record_of_other_scores_is_not_believed(source: Artefact, shifted: Artefact, tmp_path: Path, caplog) -> None:
    record = measured(shifted, tmp_path / "records").standing.tables.record
    assert record is not None
    other = variant(source, tmp_path / "dnn-10", scaled(1.6))
    Records(tmp_path / "others").put(msgspec.structs.replace(record, artefact=other.version, tag=other.tag))
    qualification = qualify(other, SETTINGS, tmp_path / "others")
    qualification.settle()
    assert qualification.pending
    assert "the first inputs no longer give the recorded scores" in caplog.text


@pytest.mark.parametrize("mode", ["auto", "require"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_record_of_other_inputs_holds_with_and_without_a_replay_set(
    shifted: Artefact, tmp_path: Path, mode: Literal["auto", "require"], stored: bool
) -> None:
    """As `demur models qualify --data` makes it, for data that stay where they are."""
    record = measured(shifted, tmp_path / "first").standing.tables.record
    assert record is not None
    assert shifted.manifest.replay is not None
    assert record.inputs == shifted.manifest.replay.inputs
    few = msgspec.structs.replace(record, inputs="replay-0123456789abcdef.npz", units=40)
    Records(tmp_path / "own").put(few)
    manifest = shifted.manifest if stored else replay.replaced(shifted.manifest, None)
    qualification = qualify(replace(shifted, manifest=manifest), replace(SETTINGS, qualify=mode), tmp_path / "own")
    tables = qualification.settle()
    assert (tables.origin, tables.record, qualification.pending) == ("mapped", few, False)
    assert tables.by_head["power"] is not None
    assert qualification.standing.done == 1


def test_what_was_not_measured_says_so(shifted: Artefact, tmp_path: Path) -> None:
    registry = CollectorRegistry()
    off = qualify(shifted, replace(SETTINGS, qualify="off"), tmp_path)
    QualificationMetrics("vessel", registry, lambda: off.standing)
    off.settle()
    assert off.standing.done == 0
    assert "demur_qualification_done_ratio" not in generate_latest(registry).decode()
    assert 'verdict="unqualified"' in generate_latest(registry).decode()


def test_modes(shifted: Artefact, tmp_path: Path) -> None:
    required = replace(SETTINGS, qualify="require")
    with pytest.raises(NotQualified, match="demur models qualify"):
        qualify(shifted, required, tmp_path).settle()
    measured(shifted, tmp_path)
    assert qualify(shifted, required, tmp_path).settle().origin == "mapped"
    off = qualify(shifted, replace(SETTINGS, qualify="off"), tmp_path).settle()
    assert off.origin == "unqualified"
    assert "DEMUR_QUALIFY=off" in off.reason


def test_an_artefact_without_a_replay_set_defers_and_says_so(shifted: Artefact, tmp_path: Path) -> None:
    manifest = replay.replaced(shifted.manifest, None)
    bare = replace(shifted, manifest=manifest)
    tables = qualify(bare, SETTINGS, tmp_path).settle()
    assert tables.origin == "unqualified"
    assert "no replay set" in tables.reason


def test_a_measurement_is_bounded_and_goes_on(shifted: Artefact, tmp_path: Path) -> None:
    qualification = qualify(shifted, SETTINGS, tmp_path)
    qualification.settle()
    shares: list[float] = []
    assert qualification.measure(0.0, progress=shares.append).origin == "qualifying"
    assert 0 < qualification.standing.done < 1
    assert shares == [qualification.standing.done]
    assert model_document(shifted, qualification.standing).qualification.done == round(shares[0], 4)
    assert qualification.measure(stopped=lambda: True).origin == "qualifying"
    assert qualification.measure().origin == "mapped"
    document = model_document(shifted, qualification.standing)
    assert document.qualification.verdict == "mapped"
    assert document.qualification.calibrated_under == "cpu-fp32-stacked"
    assert document.profile.name == "cpu-fp16-stacked"


async def test_a_verdict_that_comes_late_ends_the_deferring(shifted: Artefact, tmp_path: Path) -> None:
    qualification = qualify(shifted, SETTINGS, tmp_path)
    qualification.settle()
    registry = CollectorRegistry()
    QualificationMetrics("vessel", registry, lambda: qualification.standing)
    assembled = assemble(shifted, SETTINGS, Metrics("vessel", CollectorRegistry()), qualification.standing.tables)
    with np.load(shifted.path(shifted.manifest.golden)) as golden:
        rows = golden["rows"]
    rows = rows[((rows >= shifted.schema.lower) & (rows <= shifted.schema.upper)).all(axis=1)]
    request = RowsRequest(Packed(len(rows), rows.astype("<f4").tobytes()))
    labels = {"task": "vessel", "profile": "cpu-fp16-stacked"}
    try:
        assembled.tenant.warm_up()
        (portion,) = await assembled.tenant.pipeline.answer(request, Call())
        assert (portion.verdicts["power"].decisions == Decision.DEFER).all()
        assert "being qualified" in portion.verdicts["power"].policy.reason
        assert registry.get_sample_value("demur_qualification", {**labels, "verdict": "qualifying"}) == 1

        qualification.measure()
        assembled.adopt(qualification.standing.tables)
        (portion,) = await assembled.tenant.pipeline.answer(request, Call())
        assert (portion.verdicts["power"].decisions == Decision.ANSWER).any()
        assert portion.profile == "cpu-fp16-stacked"
        assert registry.get_sample_value("demur_qualification", {**labels, "verdict": "mapped"}) == 1
        assert registry.get_sample_value("demur_qualification_done_ratio", labels) == 1
    finally:
        assembled.close()


def test_a_device_without_memory_for_the_replay_is_tried_again(
    shifted: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict stays open: memory that another process holds now may be free later."""
    qualification = qualify(shifted, SETTINGS, tmp_path)
    qualification.settle()

    def crowded(*_: object) -> None:
        raise DeviceFailed(OUT_OF_MEMORY_KIND)

    with monkeypatch.context() as patch:
        patch.setattr("services.app.assembly.replayer", crowded)
        with pytest.raises(DeviceFailed):
            qualification.measure()
    assert qualification.pending
    assert qualification.measure().origin == "mapped"

    with monkeypatch.context() as patch:
        patch.setattr("services.app.assembly.replayer", crowded)
        checked = qualify(shifted, SETTINGS, tmp_path)
        checked.settle()
        assert checked.pending, "neither believed nor thrown away"
        with pytest.raises(DeviceFailed):
            qualify(shifted, replace(SETTINGS, qualify="require"), tmp_path).settle()
    assert checked.measure().origin == "mapped"


def test_a_verdict_gives_the_second_copy_of_the_model_back(
    shifted: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[weakref.ref[Replayer]] = []
    opened = assembly.replayer

    def watched(*arguments: Any) -> Replayer:
        replayer = opened(*arguments)
        made.append(weakref.ref(replayer))
        return replayer

    monkeypatch.setattr(assembly, "replayer", watched)
    qualification = qualify(shifted, SETTINGS, tmp_path)
    qualification.settle()
    qualification.measure(0.0)
    gc.collect()
    assert made[0]() is not None, "the measurement goes on with it"
    assert qualification.measure().origin == "mapped"
    gc.collect()
    assert [reference() for reference in made] == [None]


def test_a_record_is_believed_within_its_guard_band(source: Artefact, tmp_path: Path) -> None:
    """A difference that would pass the self-test of the start may move more units than the thresholds allow for."""
    tables = measured(variant(source, tmp_path / "dnn-10", rounded(19)), tmp_path / "records").standing.tables
    assert tables.record is not None
    kept = tables.record.heads["power"]
    assert kept.means is not None
    scores = {name: unpack(measure.scores).scores[-1:, :64] for name, measure in kept.measures.items()}
    means = {MEAN: unpack(kept.means.means).scores[-1:, :64]}
    middle = float(np.median(unpack(kept.measures["tvar"].scores).scores[-1]))
    worst = max(threshold.guard / (threshold.threshold + middle) for threshold in kept.measures["tvar"].thresholds)
    assert ROUNDING < worst < source.manifest.golden_tolerance
    for factor, believed in ((1.0, True), (1 + worst / 4, True), (1 + 3 * worst, False)):
        again = scores | means | {"tvar": (scores["tvar"] * np.float32(factor))}
        assert agrees({"power": again}, tables.record) == believed
    assert not agrees({"power": scores | {MEAN: means[MEAN] * np.float32(1.0001)}}, tables.record)


def test_heads_have_units_in_sentences(shifted: Artefact, tmp_path: Path) -> None:
    from models.tasks.vessel.spec import HEADS

    (head,) = HEADS
    record = measured(shifted, tmp_path).standing.tables.record
    assert record is not None
    assert f" {head.unit}" in record.heads[head.name].sentence


async def test_a_deployed_policy_goes_along_to_another_profile(source: Artefact, tmp_path: Path, monkeypatch) -> None:
    """The same artefact under a second profile, as on another device: the operator's policy becomes an event there."""
    settings = replace(SETTINGS, home=tmp_path, ledger="sqlite")
    before = assemble(source, settings, Metrics("vessel", CollectorRegistry()))
    await before.start()
    assert before.keeper is not None
    set_here = await before.keeper.set(PolicyChange("power", threshold=2e6, author="ada"))
    await before.stop()
    before.close()

    other = Profile(provider="cuda", version="1.0", architecture="sm_90")
    monkeypatch.setattr("services.app.assembly.described", lambda device: other)
    qualification = measured(source, tmp_path / "records", settings)
    tables = qualification.standing.tables
    assert tables.origin == "carried"
    after = assemble(source, settings, Metrics("vessel", CollectorRegistry()), tables)
    await after.start()
    try:
        assert after.keeper is not None
        while (event := (await after.keeper.history("power"))[0]).number == set_here.number:
            await asyncio.sleep(0.01)
        assert event.author == QUALIFICATION
        assert set_here.policy.version in event.reason
        assert event.policy.profile == "cuda-1.0-fp32-stacked-sm_90-notf32-heuristic"
        assert event.policy.mode == "fixed"
        assert 2e6 * 0.999 < event.policy.threshold <= 2e6
    finally:
        await after.stop()
        after.close()
    assert settings.ledger_url is not None
    reader = Reader(Database(settings.ledger_url))
    streams = {row["profile"]: row["model"] for row in reader.read({}).deployments}
    reader.close()
    assert streams == {
        "cpu-fp32-stacked": source.tag,
        event.policy.profile: f"{source.tag}@{event.policy.profile}",
    }, "units of another profile are a stream of their own"
