"""A built weather artefact: what it holds, what it was calibrated by, and what is refused when it is opened."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from models import artefact as artefacts
from models import uncertainty
from models.artefact import MANIFEST, Artefact, ArtefactError
from models.building import training_range
from models.executors.golden import replay
from models.executors.reduced import Reduced
from models.manifest import Executor, Manifest, numeric_profile
from models.tasks.weather.artefact import build
from models.tasks.weather.artefact.build import MEASURES
from models.tasks.weather.artefact.ensemble import join
from models.tasks.weather.inference import scoring, serving
from models.tasks.weather.spec import HEADS
from tests.models.weather.tiny import SCHEMA, Tiny

KINDS = ("trees", "single", "virtual", "combined")
PROFILES = {kind: "cpu-fp32-trees" for kind in KINDS} | {"combined": "cpu-fp32-trees+split"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_artefact_is_read_opened_and_repeats_its_golden_replies(tiny: Tiny, kind: str) -> None:
    built: Artefact = getattr(tiny, kind)
    again = artefacts.read(built.directory, "weather")
    assert again.schema == SCHEMA
    assert again.schema.metadata == SCHEMA.metadata
    assert serving.heads(again) == HEADS
    members = serving.members(again)
    manifest = again.manifest
    outputs = members(tiny.rows[:5])
    passes = manifest.members * manifest.samples
    assert {head: values.shape for head, values in outputs.items()} == {
        "temperature": (passes, 5, 2),
        "precipitation": (passes, 5, 9),
    }
    reduced = Reduced(members, HEADS, ensemble=manifest.ensemble)
    assert replay(reduced, again.path(manifest.golden), manifest.golden_tolerance) <= 1e-5
    with np.load(again.path(manifest.golden)) as arrays:
        rows = arrays["rows"]
        assert "temperature.mean" in arrays
        assert "precipitation.probabilities" in arrays
    assert rows.dtype == np.float32
    assert np.isnan(rows).any(), "missing values are replayed, too"
    assert (rows == -9999).any()
    assert {numeric_profile(manifest.executors)} == set(manifest.heads["temperature"])
    assert set(manifest.heads["precipitation"]) == {PROFILES[kind]}


@pytest.mark.parametrize("kind", KINDS)
def test_each_measure_has_the_thresholds_of_its_own_scores(tiny: Tiny, kind: str) -> None:
    built: Artefact = getattr(tiny, kind)
    several = built.manifest.ensemble
    dev = tiny.data["dev_in"]
    predictions = scoring.predict(serving.members(built), HEADS, dev.features, ensemble=several)
    for head in HEADS:
        calibration = built.manifest.heads[head.name][PROFILES[kind]]
        measures = MEASURES[head.kind, several]
        assert {calibration.retention.measure, *calibration.others} == set(measures) == set(calibration.reference)
        assert calibration.retention.measure == head.own_measure(several) not in calibration.others
        for measure in measures:
            scores = uncertainty.score(predictions[head.name], measure)
            chosen = calibration.by(measure)
            assert chosen.retention.measure == measure
            assert chosen.expected_error is not None
            assert chosen.expected_error.measure == measure
            for level in (0.5, 0.8, 0.95):
                retained = float(np.mean(scores <= np.float32(chosen.retention.threshold(level))))
                assert level <= retained
                assert retained <= level + 2 / len(scores) or len(np.unique(scores)) < len(scores)
            assert chosen.reference_limit(measure, 1.0) == pytest.approx(float(scores.max()))
        assert (calibration.intervals is None) == (head.kind == "categorical")


def test_ensembles_know_and_single_models_do_not(tiny: Tiny) -> None:
    for kind in KINDS:
        manifest = getattr(tiny, kind).manifest
        assert manifest.ensemble == (kind != "single")
        knowledge = manifest.heads["precipitation"][PROFILES[kind]].reference.get("mi")
        assert (knowledge is None) == (kind == "single")


def test_the_joined_ensemble_is_both(tiny: Tiny) -> None:
    manifest = tiny.combined.manifest
    assert (manifest.family, manifest.members, manifest.samples) == ("combined", 5, 1)
    assert [executor.kind for executor in manifest.executors] == ["catboost", "onnx"]
    both, trees = serving.members(tiny.combined), serving.members(tiny.trees)
    for head, values in trees(tiny.rows[:20]).items():
        np.testing.assert_array_equal(both(tiny.rows[:20])[head][:3], values)
    assert any(name.startswith("ft_transformer.") for name in manifest.training)


def test_joining_an_ensemble_with_itself_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ValueError, match=r"both ensembles have the files \['precipitation-1.cbm'"):
        join(tiny.boosted, tiny.boosted)


def test_virtual_members_count_as_samples(tiny: Tiny) -> None:
    assert tiny.virtual.tag.startswith("weather-catboost_virtual-1x10:")
    assert tiny.virtual.manifest.executor.virtual == 10


def test_a_head_alone_is_an_artefact(tiny: Tiny) -> None:
    assert [head.name for head in serving.heads(tiny.dry)] == ["temperature"]
    assert set(tiny.dry.manifest.heads) == {"temperature"}
    assert all(name.startswith("temperature") for name in tiny.dry.manifest.quality["dev_in"])


def test_without_calibration_rows_there_is_no_calibration(tiny: Tiny, tmp_path: Path) -> None:
    bare = build.build(tiny.boosted, {}, tmp_path / "bare", schema=SCHEMA)
    assert bare.manifest.heads == {"temperature": {}, "precipitation": {}}
    assert bare.manifest.training_range is None
    assert bare.manifest.quality == {}
    assert "Not measured" in bare.path("MODEL_CARD.md").read_text()


def test_the_training_range_knows_no_missing_values(tiny: Tiny) -> None:
    limits = tiny.trees.manifest.training_range
    assert limits is not None
    soil = SCHEMA.position["soil_temperature"]
    assert limits.lower[soil] > -60
    columns = tiny.data["train"].features.copy()
    columns[:, soil] = np.where(np.arange(len(columns)) % 2 == 0, np.nan, -9999)
    nothing = training_range(columns, SCHEMA)
    assert (nothing.lower[soil], nothing.upper[soil]) == (-90, 70), "without values there is the physical range"


def test_quality_is_that_of_other_data_too(tiny: Tiny) -> None:
    quality = tiny.trees.manifest.quality
    assert set(quality) == {"dev_in", "dev_out"}
    assert set(quality["dev_in"]) == set(quality["dev_out"])
    assert quality["dev_out"]["temperature_rmse_celsius"] > quality["dev_in"]["temperature_rmse_celsius"]
    assert quality["dev_in"]["precipitation_accuracy"] > 0.8


def test_the_card_says_what_it_is_and_is_not_for(tiny: Tiny) -> None:
    text = tiny.trees.path("MODEL_CARD.md").read_text()
    for words in (
        "# weather: catboost, 3 member(s)",
        "an error up to 1 °C² is acceptable",
        "Not for warnings",
        "| dev_in |",
    ):
        assert words in text
    assert "3 member(s) x" not in text
    assert "1 member(s) x 10 frozen samples" in tiny.virtual.path("MODEL_CARD.md").read_text()


class TestRefusals:
    """What a manifest may say that its files do not hold."""

    @pytest.fixture
    def copy(self, tiny: Tiny, tmp_path: Path) -> Callable[[Manifest], Artefact]:
        known = tiny.combined
        files = {name: known.path(name) for name in known.manifest.files}
        return lambda manifest: artefacts.write(tmp_path / "copy", manifest, files)

    CHANGES: ClassVar[dict[str, tuple[Callable[[Manifest], dict[str, Any]], str]]] = {
        "no heads": (lambda m: {"heads": {}}, "none of the heads temperature, precipitation"),
        "foreign heads": (lambda m: {"heads": {"power": {}}}, "none of the heads temperature, precipitation"),
        "no models of a head": (
            lambda m: {"executor": msgspec.structs.replace(m.executor, models={"temperature": ("temperature-1.cbm",)})},
            "no CatBoost models of precipitation",
        ),
        "no models": (
            lambda m: {"executor": msgspec.structs.replace(m.executor, models={})},
            "no CatBoost models of temperature, precipitation",
        ),
        "heads swapped": (
            lambda m: {
                "executor": msgspec.structs.replace(
                    m.executor,
                    models={
                        "temperature": m.executor.models["precipitation"],
                        "precipitation": m.executor.models["temperature"],
                    },
                )
            },
            "trained with loss MultiClass, head 'temperature' needs RMSEWithUncertainty",
        ),
        "other members": (lambda m: {"members": 3}, "5 members of temperature, the manifest says 3"),
        "a part left out": (lambda m: {"joined": ()}, "3 members of temperature, the manifest says 5"),
        "a graph that is none": (lambda m: {"joined": (Executor("onnx", "golden.npz"),)}, "cannot load the graph"),
        "too many virtual members": (
            lambda m: {"executor": msgspec.structs.replace(m.executor, virtual=500)},
            "cannot be cut into 500 virtual members",
        ),
        "no features": (lambda m: {"schema": ()}, "declares no features"),
    }

    @pytest.mark.parametrize("change", CHANGES)
    def test_what_does_not_fit_is_refused(self, tiny: Tiny, copy: Callable[[Manifest], Artefact], change: str) -> None:
        alter, reason = self.CHANGES[change]
        manifest = tiny.combined.manifest
        altered = copy(msgspec.structs.replace(manifest, **alter(manifest)))
        with pytest.raises(ArtefactError, match=reason):
            serving.members(altered)

    FILES = ("temperature-2.cbm", "precipitation-3.cbm", "transformer.onnx")

    @pytest.mark.parametrize("file", FILES)
    def test_files_of_every_executor_are_verified(
        self, tiny: Tiny, copy: Callable[[Manifest], Artefact], file: str
    ) -> None:
        path = copy(tiny.combined.manifest).directory / file
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(ArtefactError, match=f"{file}: corrupt: sha256"):
            artefacts.read(path.parent)
        path.unlink()
        with pytest.raises(ArtefactError, match=f"{file}: cannot be read"):
            artefacts.read(path.parent)

    @pytest.mark.parametrize("file", FILES)
    def test_files_that_no_hash_vouches_for_are_refused(
        self, tiny: Tiny, copy: Callable[[Manifest], Artefact], file: str
    ) -> None:
        path = copy(tiny.combined.manifest).directory / MANIFEST
        content = json.loads(path.read_text())
        del content["files"][file]
        path.write_text(json.dumps(content))
        with pytest.raises(ArtefactError, match=rf"uses \['{file}'\] without listing"):
            artefacts.read(path.parent)

    def test_a_path_out_of_the_folder_is_refused(self, tiny: Tiny, copy: Callable[[Manifest], Artefact]) -> None:
        path = copy(tiny.combined.manifest).directory / MANIFEST
        content = json.loads(path.read_text())
        content["executor"]["models"]["temperature"][0] = "../temperature-1.cbm"
        content["files"]["../temperature-1.cbm"] = content["files"]["temperature-1.cbm"]
        path.write_text(json.dumps(content))
        with pytest.raises(ArtefactError, match="not a plain file name"):
            artefacts.read(path.parent)

    def test_another_models_file_is_refused_when_golden_replies_differ(self, tiny: Tiny, tmp_path: Path) -> None:
        """Well-formed, listed and of the right kind, but not what was calibrated."""
        known = tiny.trees
        files = {name: known.path(name) for name in known.manifest.files}
        files["temperature-1.cbm"] = tiny.single.path("temperature-1.cbm")
        files["temperature-2.cbm"] = files["temperature-1.cbm"]
        swapped = artefacts.write(tmp_path / "other", known.manifest, files)
        reduced = Reduced(serving.members(swapped), HEADS, ensemble=True)
        with pytest.raises(ArtefactError, match="does not compute what was calibrated"):
            replay(reduced, swapped.path(swapped.manifest.golden), swapped.manifest.golden_tolerance)

    def test_an_ensemble_of_other_features_is_refused_when_built(self, tiny: Tiny, tmp_path: Path) -> None:
        features = list(SCHEMA.features)
        features[0], features[1] = features[1], features[0]
        with pytest.raises(ArtefactError, match="feature 0 is 'gfs_temperature', the schema has 'wrf_temperature'"):
            build.build(tiny.boosted, {}, tmp_path / "other", schema=replace(SCHEMA, features=tuple(features)))
        assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("kind", ["trees", "combined"])
def test_with_other_figures_nothing_else_of_an_artefact_changes(tiny: Tiny, kind: str, tmp_path: Path) -> None:
    built: Artefact = getattr(tiny, kind)
    shutil.copytree(built.directory, tmp_path / "copy")
    before = artefacts.read(tmp_path / "copy")
    quality = {"dev_in": {"temperature_rmse_celsius": 1.5}, "elsewhere": {"temperature_rmse_celsius": 1.25}}
    after = build.with_quality(before, quality)
    assert artefacts.read(tmp_path / "copy").version == after.version != before.version
    assert after.manifest.quality == quality
    same: dict[str, Any] = {"quality": {}, "files": {}}
    assert msgspec.structs.replace(after.manifest, **same) == msgspec.structs.replace(before.manifest, **same)
    changed = {name for name, value in after.manifest.files.items() if before.manifest.files.get(name) != value}
    assert changed == {"MODEL_CARD.md"}
    assert set(after.manifest.files) == set(before.manifest.files)
    card = after.path("MODEL_CARD.md").read_text()
    assert "\n| elsewhere | 1.25 |\n" in card
    assert "dev_out" not in card
    assert build.with_quality(after, quality).version == after.version
