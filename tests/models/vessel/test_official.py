"""The released baseline's files become an artefact that says what the released code says."""

from pathlib import Path

import numpy as np
import pytest
import torch

from models.artefact import ArtefactError
from models.executors.onnx import OnnxGraph
from models.tasks.vessel.artefact import released as official
from models.tasks.vessel.artefact.ensemble import TrainedEnsemble
from models.tasks.vessel.artefact.export import export
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.inference import scoring
from tests.models.interrupted import TouchingFile
from tests.models.vessel import released_folder
from tests.models.vessel.released_folder import RELEASED, STATE

DRY_DOCK = NAMES.index("timeSinceDryDock")


@pytest.fixture
def released(tmp_path: Path) -> Path:
    return released_folder.write(tmp_path / "in")


def test_scaling_is_the_released_one(released: Path) -> None:
    scaling = official.scaling(released / "stats")
    frame = np.stack([RELEASED["frame"][name] for name in NAMES], axis=1)
    expected = np.stack([RELEASED["normalised"][name] for name in NAMES], axis=1)
    np.testing.assert_allclose((frame - scaling.mean) / scaling.std, expected, rtol=1e-9)
    power = (np.array(RELEASED["frame"]["power"]) - scaling.power_mean) / scaling.power_std
    np.testing.assert_allclose(power, RELEASED["normalised"]["power"], rtol=1e-9)


def test_predictions_without_dropout_are_the_released_ones(released: Path, tmp_path: Path) -> None:
    ensemble = official.load_released(released)
    quiet = TrainedEnsemble("mc_dropout", ensemble.scaling, ensemble.weights, ensemble.seeds, samples=1)
    path = tmp_path / "graph.onnx"
    path.write_bytes(export(quiet))
    rows = np.array(RELEASED["x"]) * ensemble.scaling.std + ensemble.scaling.mean
    mean, variance = scoring.predict_members(OnnxGraph(path), rows)
    expected_mean, expected_std = np.array(RELEASED["official_mean_std"]).T
    scaling = ensemble.scaling
    np.testing.assert_allclose(
        mean[0],
        expected_mean * scaling.power_std + scaling.power_mean,
        rtol=1e-5,
        atol=1e-5 * scaling.power_std,
    )
    np.testing.assert_allclose(variance[0], (expected_std * scaling.power_std) ** 2, rtol=1e-4)


def test_denormalisation_is_the_released_one() -> None:
    normal, expected = np.array(RELEASED["preds_norm"]), np.array(RELEASED["denormalised"])
    mean, std = RELEASED["target_mean"], RELEASED["target_std"]
    np.testing.assert_allclose(normal[..., 0] * std + mean, expected[..., 0], rtol=1e-9)
    np.testing.assert_allclose(normal[..., 1] * std**2, expected[..., 1], rtol=1e-9)


def test_import_makes_a_calibrated_ensemble_with_frozen_masks(released: Path, tmp_path: Path, data) -> None:
    artefact = official.import_released(released, tmp_path / "out", {"dev_in": data["dev_in"]})
    manifest = artefact.manifest
    assert (manifest.family, manifest.members, manifest.samples) == ("mc_dropout", 2, 10)
    assert manifest.heads["power"]["cpu-fp32-stacked"].retention.measure == "tvar"
    predictive = scoring.predict(OnnxGraph(artefact.path("ensemble.onnx")), data["dev_in"].features)
    assert predictive.varm is not None
    assert (predictive.varm > 0).all()


def test_without_data_there_is_no_calibration(released: Path, tmp_path: Path) -> None:
    artefact = official.import_released(released, tmp_path / "out")
    assert artefact.manifest.heads == {"power": {}}
    assert artefact.manifest.quality == {}


def test_foreign_files_are_refused_and_never_unpickled(released: Path, tmp_path: Path) -> None:
    path = released / "member_2" / "best_model.pth"
    torch.save({"linear1.weight": TouchingFile(tmp_path / "harm")}, path)
    with pytest.raises(ArtefactError, match=r"member_2.*not a plain state dict"):
        official.load_released(released)
    assert not (tmp_path / "harm").exists()
    torch.save({"linear1.weight": torch.zeros(3, 3)}, path)
    with pytest.raises(ArtefactError, match="needs tensors"):
        official.load_released(released)
    with pytest.raises(ArtefactError, match="no folder member_1"):
        official.load_released(tmp_path / "nowhere")
    torch.save(STATE, path)
    (released / "stats" / "means.json").write_text('{"stw": 1}')
    with pytest.raises(ArtefactError, match="draft_aft_telegram"):
        official.load_released(released)
