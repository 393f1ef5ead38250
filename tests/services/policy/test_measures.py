"""The measure to defer by, chosen at start: its own thresholds, its own stream, and clear words where it cannot be."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import select

from demur.v1 import common_pb2
from models import artefact as artefacts
from models import uncertainty
from models.artefact import Artefact
from models.tasks.weather.artefact.build import MEASURES
from models.tasks.weather.inference import scoring
from models.tasks.weather.inference import serving as opening
from models.tasks.weather.spec import HEADS
from services.app.assembly import assemble, profile
from services.app.policies import profile_with_measures
from services.ledger.database import Database
from services.ledger.tables import deployment
from services.policy.decision import Policy
from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError
from tests.models.weather.tiny import Tiny, table
from tests.services.tasks.live import watched
from tests.services.weather import numbers, serving


def policies(artefact: Artefact, **settings: object) -> dict[str, Policy]:
    """Head to the policy that settings amount to."""
    chosen = Settings(**({"task": "weather", "lanes": 1, "ledger": "none"} | settings))  # type: ignore[arg-type]
    assembled = assemble(artefact, chosen, Metrics("weather", CollectorRegistry()))
    assembled.close()
    return {policy.head: policy for policy in assembled.tenant.pipeline.policies.all()}


@pytest.mark.parametrize(
    "text",
    ["temperature", "=varm", "temperature=", "temperature=varm,temperature=epkl", "temperature=varm;x=y,=", "varm,mi"],
)
def test_what_is_no_head_and_measure_is_refused_when_settings_are_read(text: str) -> None:
    with pytest.raises(SettingsError, match=r"DEMUR_MEASURES = .*one head=measure for each head .*temperature=varm"):
        Settings.read({"DEMUR_MEASURES": text})


def test_spaces_and_ends_do_not_matter() -> None:
    parsed = Settings.read({"DEMUR_MEASURES": " temperature = varm , precipitation=mi, "})
    assert parsed.measure_by_head == {"temperature": "varm", "precipitation": "mi"}
    assert Settings.read({"DEMUR_MEASURES": ""}).measure_by_head == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("power=varm", r"names the head 'power'; this model has temperature, precipitation"),
        ("temperature=mi", r"was not calibrated for temperature=mi; use one of epkl, mvar, tvar, varm"),
        ("precipitation=tvar", r"use one of confidence, entropy, epkl, mi, rmi"),
        ("temperature=nonsense", r"weather-catboost-3:.* was not calibrated for temperature=nonsense"),
        ("temperature=nll", "not calibrated"),
    ],
)
def test_a_measure_that_was_not_calibrated_is_refused_at_start(tiny: Tiny, text: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        policies(tiny.trees, measures=text)


def test_an_artefact_that_names_other_measures_only_by_itself_serves_its_own(tiny: Tiny, tmp_path: Path) -> None:
    """As artefacts were before there was a choice."""
    known = tiny.trees.manifest
    bare = {
        head: {name: msgspec.structs.replace(calibration, others={}) for name, calibration in profiles.items()}
        for head, profiles in known.heads.items()
    }
    files = {name: tiny.trees.path(name) for name in known.files}
    old = artefacts.write(tmp_path / "old", msgspec.structs.replace(known, heads=bare), files)
    assert policies(old)["temperature"].measure == "tvar"
    assert policies(old, measures="temperature=tvar")["temperature"].mode == "target_retention"
    with pytest.raises(SettingsError, match=r"not calibrated for temperature=varm; use one of tvar$"):
        policies(old, measures="temperature=varm")


def test_one_threshold_for_two_heads_is_refused(tiny: Tiny) -> None:
    with pytest.raises(SettingsError, match=r"DEMUR_FIXED_THRESHOLD = 2 does not say for which of temperature, precip"):
        policies(tiny.trees, fixed_threshold=2.0)
    (policy,) = policies(tiny.dry, fixed_threshold=2.0).values()
    assert (policy.mode, policy.threshold) == ("fixed", 2.0)


@pytest.mark.parametrize("several", [True, False])
def test_every_calibrated_measure_has_thresholds_of_its_own_scores(tiny: Tiny, several: bool) -> None:
    """Retention of the calibration rows is the target, or more where scores tie."""
    artefact = tiny.trees if several else tiny.single
    dev = tiny.data["dev_in"]
    predictions = scoring.predict(opening.members(artefact), HEADS, dev.features, ensemble=several)
    for head in HEADS:
        for measure in MEASURES[head.kind, several]:
            policy = policies(artefact, measures=f"{head.name}={measure}", target_retention=0.8)[head.name]
            assert (policy.measure, policy.mode, policy.calibration_units) == (measure, "target_retention", len(dev))
            scores = uncertainty.score(predictions[head.name], measure)
            retained = float(np.mean(scores <= np.float32(policy.threshold)))
            ties = float(np.mean(scores == np.float32(policy.threshold)))
            assert 0.8 <= retained <= 0.8 + 2 / len(dev) + ties


def test_single_models_defer_by_measures_of_their_own(tiny: Tiny) -> None:
    by_head = policies(tiny.single)
    assert {head: policy.measure for head, policy in by_head.items()} == {
        "temperature": "variance",
        "precipitation": "entropy",
    }
    assert all(policy.knowledge_measure is None for policy in by_head.values())
    assert policies(tiny.single, measures="precipitation=confidence")["precipitation"].measure == "confidence"
    with pytest.raises(SettingsError, match=r"precipitation=mi; use one of confidence, entropy"):
        policies(tiny.single, measures="precipitation=mi")


def test_naming_a_heads_own_measure_changes_nothing(tiny: Tiny) -> None:
    """Else streams would be torn apart, and what an operator set would be lost."""
    named = policies(tiny.trees, measures="temperature=tvar,precipitation=confidence")
    assert {head: policy.version for head, policy in named.items()} == {
        head: policy.version for head, policy in policies(tiny.trees).items()
    }


@pytest.mark.parametrize("kind", ["trees", "combined"])
def test_the_measure_is_part_of_what_policies_are_bound_to(tiny: Tiny, kind: str) -> None:
    artefact: Artefact = getattr(tiny, kind)
    numeric = profile(Settings(), artefact).name
    assert policies(artefact)["temperature"].profile == numeric
    by_head = policies(artefact, measures="precipitation=entropy,temperature=varm")
    assert {policy.profile for policy in by_head.values()} == {f"{numeric},precipitation=entropy,temperature=varm"}
    assert len(by_head["temperature"].profile) <= 64, "PostgreSQL cuts nothing, it refuses"


def test_a_profile_that_is_too_long_is_told_by_its_hash() -> None:
    numeric = "cuda-int8-trees+stacked+stacked+stacked"
    measures = [{"temperature": measure, "precipitation": "entropy"} for measure in ("varm", "epkl", "mvar")]
    names = {profile_with_measures(numeric, spec) for spec in measures}
    assert len(names) == 3
    assert all(len(name) <= 64 and name.startswith(f"{numeric},") for name in names)


@pytest.mark.parametrize("measures", ["", "temperature=varm,precipitation=mi", "temperature=epkl,precipitation=rmi"])
async def test_the_measure_in_force_is_told_everywhere_and_decides(tiny: Tiny, measures: str) -> None:
    wished = {"temperature": "tvar", "precipitation": "confidence"} | Settings(measures=measures).measure_by_head
    async with serving(tiny.trees, measures=measures, target_retention=0.8) as served:
        answer = await served.answer(tiny.rows)
        message = await served.message(tiny.rows)
        described = await served.stub.Describe(common_pb2.DescribeRequest())
        listed = (await served.http.get("/v1/policy")).json()["policies"]
        predictions = scoring.predict(opening.members(tiny.trees), HEADS, tiny.rows, ensemble=True)
        assert {spec.name: spec.measure for spec in described.heads} == wished
        assert {spec.head: spec.measure for spec in described.policies} == wished
        assert {document["head"]: document["measure"] for document in listed} == wished
        for head, measure in wished.items():
            over_http, over_grpc = answer[head], getattr(message, head).deferral
            assert over_http["measure"] == over_grpc.measure == measure
            scores = uncertainty.score(predictions[head], measure)
            np.testing.assert_array_equal(np.float32(over_http["uncertainty"]), scores)
            np.testing.assert_array_equal(numbers(over_grpc.uncertainty), scores)
            limit = np.float32(over_http["threshold"])
            assert over_http["deferred"] == (scores > limit).tolist()
            assert 0.65 < np.mean(scores <= limit) < 0.95


def deployments(home: Path) -> list[tuple[str, str, str, str]]:
    """(head, model, profile, measure) of all in the ledger."""
    engine = Database(f"sqlite:///{home / 'ledger' / 'weather.db'}").reading()
    with engine.connect() as connection:
        rows = connection.execute(select(deployment)).all()
    engine.dispose()
    return [(row.head, row.model, row.profile, json.loads(row.document)["policy"]["measure"]) for row in rows]


async def asked(tiny: Tiny, home: Path, seed: int, measures: str) -> dict[str, object]:
    """One start of the service: rows under a census of temperatures, and all their labels."""
    rows = table(60, seed)
    async with serving(tiny.trees, home, measures=measures, census="temperature") as served:
        answer = await served.answer(np.asarray(rows.features, np.float32))
        assert answer["recorded"] is True
        labels = [
            {"unit": unit, "head": "temperature", "value": float(value), "source": "census"}
            for unit, value in zip(answer["temperature"]["prediction_ids"], rows.labels["temperature"], strict=True)
        ]
        response = await served.http.post("/v1/labels", json={"labels": labels})
        assert response.status_code == 200, response.text
    return answer["temperature"]


async def test_streams_of_two_measures_are_never_mixed(tiny: Tiny, tmp_path: Path) -> None:
    """Three starts on one ledger: the first and the last by the head's own measure, the second by another."""
    starts = [
        await asked(tiny, tmp_path, seed, measures)
        for seed, measures in ((21, ""), (22, "temperature=varm"), (23, "temperature=tvar"))
    ]
    tag = tiny.trees.tag
    assert {(model, measure) for head, model, _, measure in deployments(tmp_path) if head == "temperature"} == {
        (tag, "tvar"),
        (f"{tag}@varm", "varm"),
    }
    assert {model for head, model, _, _ in deployments(tmp_path) if head == "precipitation"} == {tag}
    published = watched("weather", tmp_path)
    states = {stream.key.model: stream for stream in published.streams if stream.key.head == "temperature"}
    assert {model: state.measure for model, state in states.items()} == {tag: "tvar", f"{tag}@varm": "varm"}
    for model, parts in ((tag, (starts[0], starts[2])), (f"{tag}@varm", (starts[1],))):
        (window,) = [
            result
            for result in published.windows
            if (result.key.head, result.key.model, result.window, result.source)
            == ("temperature", model, "1d", "census")
        ]
        assert (window.units, window.labels) == (60 * len(parts), 60 * len(parts))
        deferred = sum(sum(part["deferred"]) for part in parts)  # type: ignore[misc, call-overload]
        assert window.units - window.answered == deferred


async def test_what_an_operator_set_for_one_measure_does_not_hold_for_another(tiny: Tiny, tmp_path: Path) -> None:
    async with serving(tiny.trees, tmp_path) as served:
        change = {"threshold": 3.5, "author": "ada"}
        assert (await served.http.put("/v1/policy/temperature", json=change)).status_code == 200
    async with serving(tiny.trees, tmp_path, measures="temperature=varm") as served:
        (policy,) = [p for p in served.assembled.tenant.pipeline.policies.all() if p.head == "temperature"]
        assert (policy.measure, policy.mode) == ("varm", "target_retention")
        change = {"target_retention": 0.7, "author": "ada"}
        response = await served.http.put("/v1/policy/temperature", json=change)
        table_of_varm = tiny.trees.manifest.heads["temperature"]["cpu-fp32-trees"].by("varm").retention
        assert response.json()["policy"]["threshold"] == table_of_varm.threshold(0.7)
    async with serving(tiny.trees, tmp_path) as served:
        assert served.assembled.keeper is not None
        await served.assembled.keeper.refresh()
        (policy,) = [p for p in served.assembled.tenant.pipeline.policies.all() if p.head == "temperature"]
        assert (policy.measure, policy.threshold) == ("tvar", 3.5)


def test_stratified_audits_follow_the_chosen_measure(tiny: Tiny) -> None:
    stratified = policies(tiny.trees, measures="temperature=varm", audits="stratified", audit_rate=0.05)["temperature"]
    uppers = [upper for upper, _ in stratified.audit_strata]
    assert uppers
    assert uppers[-1] <= stratified.threshold * 1.05
