"""A built artefact is complete, repeatable, and calibrated by what it serves."""

from pathlib import Path

import numpy as np
import pytest

from models import artefact as artefacts
from models import npz, training_labels
from models.executors.golden import replay
from models.executors.onnx import OnnxGraph
from models.schema import Schema
from models.tasks.vessel.artefact import build
from models.tasks.vessel.artefact.export import export
from models.tasks.vessel.data.table import FEATURES
from models.tasks.vessel.inference import scoring

PROFILE = "cpu-fp32-stacked"
REFERENCE = Path(__file__).parents[3] / "artefacts" / "vessel"


@pytest.fixture(scope="module")
def built(trained, data, tmp_path_factory):
    return build.build(trained("dnn", 3), data, tmp_path_factory.mktemp("artefact") / "dnn-3")


def test_building_twice_gives_the_same_version(built, trained, data, tmp_path) -> None:
    again = build.build(trained("dnn", 3), data, tmp_path / "dnn-3")
    assert again.tag == built.tag
    assert built.tag.startswith("vessel-dnn-3:")


def test_thresholds_retain_what_they_promise_on_the_calibration_data(built, data) -> None:
    calibration = built.manifest.heads["power"][PROFILE]
    predicted = scoring.predict(OnnxGraph(built.path("ensemble.onnx")), data["dev_in"].features)
    scores = np.where(predicted.mean < 0, np.inf, predicted.tvar)
    for level in (0.5, 0.9, 0.95):
        retained = np.mean(scores <= np.float32(calibration.retention.threshold(level)))
        assert level <= retained <= level + 2 / len(scores) + 0.05 * (level not in calibration.retention.levels)


def test_every_knowledge_measure_has_a_reference(built, trained, data, tmp_path) -> None:
    assert set(built.manifest.heads["power"][PROFILE].reference) == {"tvar", "mvar", "varm"}
    single = build.build(trained("dnn", 3).select(slice(0, 1)), data, tmp_path / "dnn-1")
    calibration = single.manifest.heads["power"][PROFILE]
    assert calibration.retention.measure == "mvar"
    assert set(calibration.reference) == {"mvar"}
    assert not single.manifest.ensemble


def test_intervals_cover_and_expected_error_rises(built, data) -> None:
    calibration = built.manifest.heads["power"][PROFILE]
    predictive = scoring.predict(OnnxGraph(built.path("ensemble.onnx")), data["dev_in"].features)
    width = dict(zip(calibration.intervals.levels, calibration.intervals.multipliers, strict=True))[0.9]
    inside = np.abs(data["dev_in"].power - predictive.mean) <= width * np.sqrt(predictive.tvar)
    assert np.mean(inside) == pytest.approx(0.9, abs=0.01)
    assert (np.diff(calibration.expected_error.values) >= 0).all()


def test_golden_replies_repeat_and_reach_the_edge(built) -> None:
    path = built.path(built.manifest.golden)
    assert replay(OnnxGraph(built.path("ensemble.onnx")), path, built.manifest.golden_tolerance) < 1e-6
    with np.load(path) as golden:
        assert set(golden.files) == {"rows", "mean", "mvar", "varm"}
        rows = golden["rows"]
    schema = Schema(FEATURES)
    assert len(rows) >= 60
    assert ((rows == schema.lower) | (rows == schema.upper)).any(axis=1).sum() >= 10, "rows at the edge"


@pytest.mark.parametrize("output", ["mean", "mvar", "varm"])
def test_a_percent_off_in_an_ordinary_row_is_noticed(built, tmp_path, output) -> None:
    with np.load(built.path(built.manifest.golden)) as golden:
        arrays = {name: golden[name].copy() for name in golden.files}
    ordinary = int(np.argsort(np.abs(arrays[output]))[len(arrays[output]) // 2])
    arrays[output][ordinary] *= 1.01
    (tmp_path / "golden.npz").write_bytes(npz.encode(arrays))
    with pytest.raises(artefacts.ArtefactError, match=output):
        replay(OnnxGraph(built.path("ensemble.onnx")), tmp_path / "golden.npz", built.manifest.golden_tolerance)


def test_golden_replies_of_another_member_are_noticed(built, trained, tmp_path) -> None:
    path = tmp_path / "other.onnx"
    path.write_bytes(export(trained("dnn", 3).select(slice(0, 2))))
    with pytest.raises(artefacts.ArtefactError, match="does not compute"):
        replay(OnnxGraph(path), built.path(built.manifest.golden), built.manifest.golden_tolerance)


def test_the_manifest_tells_where_everything_came_from(built, data) -> None:
    manifest = built.manifest
    assert {source.role for source in manifest.sources} == {"training", "calibration and early stopping"}
    assert manifest.sources[0].fingerprint == build.labelled(data["train"]).fingerprint
    assert set(manifest.quality) == {"dev_in", "dev_out", "eval_in", "eval_out"}
    lower, upper = np.array(manifest.training_range.lower), np.array(manifest.training_range.upper)
    inside = (data["train"].features >= lower) & (data["train"].features <= upper)
    assert inside.mean(axis=0).min() > 0.999
    card = built.path("MODEL_CARD.md").read_text()
    assert manifest.sources[0].fingerprint in card
    assert "eval_out" in card


def test_reviewers_see_labels_of_training_rows(built, data) -> None:
    labels = training_labels.decode(built.path(training_labels.FILE).read_bytes(), built.schema)["power"]
    speeds = data["train"].features[:, list(built.schema.names).index("stw")]
    rows = {
        (float(f"{speed:.6g}"), float(f"{power:.6g}")) for speed, power in zip(speeds, data["train"].power, strict=True)
    }
    assert labels.column == "stw"
    assert set(zip(labels.values, labels.labels, strict=True)) <= rows
    assert training_labels.SECTION in built.path("MODEL_CARD.md").read_text()


def test_array_files_hold_no_time(tmp_path) -> None:
    arrays = {"b": np.arange(3.0), "a": np.zeros((2, 2), np.float32)}
    content = npz.encode(arrays)
    assert content == npz.encode(dict(reversed(arrays.items())))
    (tmp_path / "x.npz").write_bytes(content)
    with np.load(tmp_path / "x.npz") as loaded:
        np.testing.assert_array_equal(loaded["b"], arrays["b"])


@pytest.mark.parametrize(
    "folder", sorted(path for path in REFERENCE.iterdir() if path.is_dir()), ids=lambda path: path.name
)
def test_reference_artefacts_are_sound(folder: Path) -> None:
    loaded = artefacts.read(folder, task="vessel")
    assert artefacts.name(loaded.manifest) == f"vessel-{folder.name}"
    assert loaded.schema.hash == Schema(FEATURES).hash
    graph = OnnxGraph(loaded.path(loaded.manifest.executor.file))
    replay(graph, loaded.path(loaded.manifest.golden), loaded.manifest.golden_tolerance)
    assert ("varm" in graph.outputs) == loaded.manifest.ensemble
    assert loaded.manifest.heads["power"][PROFILE].retention.units == 18_108
    assert loaded.manifest.sources[0].rows == 523_190


def test_reference_artefacts_stay_small() -> None:
    assert sum(path.stat().st_size for path in REFERENCE.rglob("*") if path.is_file()) <= 3_000_000
