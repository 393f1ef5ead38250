"""From labelled scans to an artefact that can be served, and what its recipe says of calibration scans."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from models import artefact, building
from models.artefact import Artefact, ArtefactError
from models.building import Provenance
from models.evaluation.unit_errors import BadFile
from models.executors import golden
from models.predictive import Volumes
from models.tasks.lesion.artefact import build, calibration, recipe, released
from models.tasks.lesion.artefact.calibration import ComparedScan
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.inference import members
from models.tasks.lesion.inference.burden import Burden, quantity
from models.tasks.lesion.inference.segment import segment
from models.tasks.lesion.networks.settings import UNetSizes
from models.tasks.lesion.training import train
from tests.models.lesion import toys
from tests.models.lesion.test_released import saved, state

pytestmark = pytest.mark.long

Data = dict[str, list[toys.Case]]
PROVENANCE = Provenance("toy balls", "none")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    folder = tmp_path_factory.mktemp("scans")
    return {
        "train": [toys.case(folder, seed) for seed in range(3)],
        "dev_in": [toys.case(folder, seed) for seed in (10, 11)],
        "calibration": [toys.case(folder, seed) for seed in range(20, 24)],
    }


@pytest.fixture(scope="module")
def trained(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    out = tmp_path_factory.mktemp("made") / "unet-2"
    progress: list[float] = []
    built = train.train_artefact(
        "unet",
        data,
        out,
        members=2,
        seed=1,
        preset="tiny",
        jobs=2,
        provenance=PROVENANCE,
        progress=lambda done, what: progress.append(done),
    )
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert not out.with_name("unet-2.parts").exists()
    return built


def test_a_trained_artefact_says_how_it_came_to_be(trained: Artefact) -> None:
    manifest = trained.manifest
    assert artefact.name(manifest) == "lesion-unet-2"
    assert manifest.executor.layout == "separate"
    assert manifest.seeds == (1000, 1001)
    assert [(source.role, source.rows, source.licence) for source in manifest.sources] == [
        ("train", 3, "none"),
        ("tuning of the threshold", 2, "none"),
        ("calibration", 4, "none"),
    ]
    assert set(manifest.quality) == {"calibration", "dev_in"}
    assert set(manifest.quality["dev_in"]) == {"scans", "ndsc", "ndsc_se", "dice", "lesion_f1", "voxel_r_aac"}
    assert manifest.quality["calibration"]["scans"] == 4
    text = trained.path("MODEL_CARD.md").read_text()
    assert "**Research software, not a medical device.**" in text
    assert "toy balls; 3 scans" in text


def test_its_members_answer_the_golden_window_again(trained: Artefact) -> None:
    networks = members.members(trained)
    assert len(networks) == 2
    assert golden.replay(networks, trained.path(trained.manifest.golden), trained.manifest.golden_tolerance) < 1e-5


def test_its_recipe_is_complete_and_segments(trained: Artefact, data: Data) -> None:
    plan = recipe.read(trained)
    assert plan.window == (32, 32, 32)
    assert plan.threshold == trained.manifest.training["tuned_threshold"]
    assert plan.volume is not None
    assert plan.volume.units == 4
    assert plan.count is not None
    assert plan.voxel_trust is not None
    assert plan.lesion_trust is not None
    scan, _ = examples.read(data["dev_in"][0], plan.channels)
    segmentation = segment(scan, members.members(trained), plan)
    assert set(plan.typical) == set(segmentation.appearance)
    assert "advice" in segmentation.maps


def test_the_calibration_holds_structural_uncertainty_and_knowledge(trained: Artefact) -> None:
    (known,) = trained.manifest.heads["lesions"].values()
    assert list(trained.manifest.heads["lesions"]) == ["cpu-fp32-separate"]
    assert known.retention.measure == "scan_structural_uncertainty"
    assert known.retention.units == 4
    assert known.expected_error is not None
    assert {"mi", "rmi", "entropy"} <= set(known.reference)
    assert known.by("mi").retention.measure == "mi"


def test_the_tuned_threshold_is_the_best_for_what_is_served(trained: Artefact, data: Data) -> None:
    plan, served = recipe.read(trained), members.members(trained)
    best = build.judged(data["dev_in"], served, plan)
    own = np.mean([scan.scores["ndsc"] for scan in best])
    assert own == pytest.approx(trained.manifest.training["tuned_ndsc"], abs=1e-3)
    for other in (plan.threshold - 0.1, plan.threshold + 0.1):
        if 0 < other < 1:
            moved = msgspec.structs.replace(plan, threshold=other)
            assert np.mean([scan.scores["ndsc"] for scan in build.judged(data["dev_in"], served, moved)]) <= own + 1e-9


@pytest.mark.slow
def test_without_calibration_scans_training_scans_calibrate_crosswise(
    data: Data, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[str, ...]] = []
    once = train.train

    def told(family: str, scans: Data, parts: Path, **rest: Any) -> Ensemble:
        trained.append(tuple(case.id for case in scans["train"]))
        return once(family, scans, parts, **rest)

    monkeypatch.setattr(train, "train", told)
    official = {"train": data["train"][:2], "dev_in": data["dev_in"]}
    built = train.train_artefact("unet", official, tmp_path / "crosswise", members=1, seed=1, preset="tiny", jobs=1)
    names = {case.id for case in official["train"]}
    assert set(trained[0]) == names
    assert [names - set(rest) for rest in trained[1:]] == [{case.id} for case in official["train"]]  # folds of one
    (known,) = built.manifest.heads["lesions"].values()
    assert known.retention.units == len(names)
    own = [
        scan.predictive.entropy for scan in build.judged(official["train"], members.members(built), recipe.read(built))
    ]
    assert not set(known.retention.thresholds) & {float(value) for value in np.concatenate(own)}  # others scored them
    assert built.manifest.sources[-1].role == "calibration, cross-fitted"
    assert built.manifest.sources[-1].rows == 2
    note = str(built.manifest.training["calibration"])
    assert note.startswith("cross-fitted: 2 training scans in 2 folds")
    assert note.endswith("targets up to a retention of 0.65")
    assert note in built.path("MODEL_CARD.md").read_text()
    assert "a target of 0.95 falls back to it" in caplog.text
    plan = recipe.read(built)
    assert plan.volume is not None
    assert plan.volume.units == 2


@pytest.mark.slow
def test_a_single_training_scan_calibrates_nothing(
    data: Data, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alone = {"train": data["train"][:1], "dev_in": data["dev_in"]}
    built = train.train_artefact("unet", alone, tmp_path / "alone", members=1, seed=1, preset="tiny", jobs=1)
    assert built.manifest.heads == {"lesions": {}}
    assert "nothing is calibrated" in caplog.text


def found_with(value: float) -> ComparedScan:
    own = np.array([value], np.float32)
    return dataclasses.replace(found(1, 0), predictive=Volumes((), (), own, None, None, own))


@pytest.mark.parametrize(("ensemble", "name"), [(True, "structural"), (False, "entropy")])
def test_folds_are_brought_to_the_level_of_what_is_served(ensemble: bool, name: str) -> None:
    values = np.array([0.2, 0.3, 0.4], np.float32)
    served, other = ([found_with(value * times) for value in values] for times in (1.0, 1.6))
    by = calibration.factor(served, other, ensemble=ensemble)
    assert by == pytest.approx(1 / 1.6, rel=1e-6)
    moved = calibration.levelled(other, by, ensemble=ensemble)
    assert np.allclose([getattr(two.predictive, name)[0] for two in moved], values)
    left = "entropy" if ensemble else "structural"
    assert [getattr(two.predictive, left)[0] for two in moved] == [getattr(two.predictive, left)[0] for two in other]
    assert calibration.factor([], [], ensemble=ensemble) == 1
    assert calibration.factor(served, [found_with(0.0)] * 3, ensemble=ensemble) == 1


def test_figures_come_with_their_sample() -> None:
    quality = calibration.quality([{"ndsc": 0.5, "dice": 0.4}, {"ndsc": 0.7, "dice": float("nan")}])
    assert quality == {"scans": 2, "ndsc": 0.6, "ndsc_se": pytest.approx(0.1), "dice": 0.4}
    assert "ndsc_se" not in calibration.quality([{"ndsc": 0.5}])


@pytest.mark.slow
def test_a_single_model_is_calibrated_by_its_entropy(data: Data, tmp_path: Path) -> None:
    built = train.train_artefact("unet", data, tmp_path / "one", members=1, seed=1, preset="tiny", jobs=1)
    (known,) = built.manifest.heads["lesions"].values()
    assert known.retention.measure == "entropy"
    assert set(known.reference) == {"entropy"}
    assert recipe.read(built).voxel_trust is not None


@pytest.mark.slow
def test_frozen_masks_make_an_ensemble_of_one_network(data: Data, tmp_path: Path) -> None:
    small = {name: cases[:2] for name, cases in data.items()}
    built = train.train_artefact("unet_mcdp", small, tmp_path / "mc", members=1, seed=1, preset="tiny", jobs=1)
    assert artefact.name(built.manifest) == "lesion-unet_mcdp-1x5"
    assert built.manifest.ensemble
    assert len(members.members(built)) == 5


@pytest.mark.slow
def test_a_cut_off_run_goes_on_with_its_finished_members(data: Data, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    first = train.train("unet", data, folder, members=1, seed=1, preset="tiny", jobs=1)
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy")}
    second = train.train("unet", data, folder, members=2, seed=1, preset="tiny", jobs=1)
    assert second.graphs[0] == first.graphs[0]
    assert written == {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy")}


def test_training_without_scans_or_members_is_refused(data: Data, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="missing: dev_in"):
        train.train("unet", {"train": data["train"]}, tmp_path, members=1, seed=0, preset="tiny")
    with pytest.raises(ValueError, match="at least one member"):
        train.train("unet", data, tmp_path, members=0, seed=0, preset="tiny")


def test_a_scan_without_truth_or_modality_is_named(data: Data) -> None:
    case = data["train"][0]
    with pytest.raises(BadFile, match="scan 0 has no t1 image"):
        examples.read(case, ("flair", "t1"))
    with pytest.raises(BadFile, match="scan 0 has no lesion mask"):
        examples.read(dataclasses.replace(case, truth=None), ("flair",))
    broken = case.flair.with_name("broken.nii.gz")
    broken.write_bytes(case.flair.read_bytes()[:400])
    with pytest.raises(BadFile, match="scan 0 at"):
        examples.read(dataclasses.replace(case, flair=broken), ("flair",))


def test_released_members_become_an_artefact_that_defers_all(tmp_path: Path) -> None:
    for seed in (1, 2):
        saved(tmp_path / "given", seed, state(seed, UNetSizes((4, 8, 16))))
    built = released.import_released(tmp_path / "given", tmp_path / "out")
    plan = recipe.read(built)
    assert (plan.threshold, plan.orientation, plan.window) == (0.35, "", (96, 96, 96))
    assert plan.volume is None
    assert built.manifest.heads == {"lesions": {}}
    assert golden.replay(members.members(built), built.path("golden.npz"), 1e-5) < 1e-5


def test_released_members_are_calibrated_where_scans_are_given(tmp_path: Path, data: Data) -> None:
    saved(tmp_path / "given", 1, state(1, UNetSizes((4, 8))))
    built = released.import_released(tmp_path / "given", tmp_path / "out", {"dev_in": data["dev_in"]})
    (known,) = built.manifest.heads["lesions"].values()
    assert known.retention.units == 2


def test_an_artefact_of_another_window_is_refused(trained: Artefact, tmp_path: Path) -> None:
    plan = msgspec.structs.replace(recipe.read(trained), channels=("flair", "t1"))
    content = {name: trained.path(name) for name in trained.manifest.files} | {"recipe.json": recipe.encode(plan)}
    other = artefact.write(tmp_path / "other", trained.manifest, content)
    with pytest.raises(ArtefactError, match="does not take windows of the recipe"):
        members.members(other)


def found(seed: int, wrong: int) -> ComparedScan:
    """A scan of 1000 brain voxels and four lesions, of which one is wrong."""
    generator = np.random.default_rng(seed)
    load = quantity(3.0, [2.0, 4.0])
    return ComparedScan(
        scores={"ndsc": 0.7, "dice": 0.6, "lesion_f1": 0.5, "voxel_r_aac": np.nan},
        predictive=Volumes((), (), np.array([0.01 * seed], np.float32)),
        burden=Burden(load, load),
        true_count=3,
        true_ml=2.0,
        appearance={"noise": 0.01 * seed, "bias": np.nan},
        brain_voxels=1000,
        wrong_voxels=wrong,
        voxel_doubts=generator.random(250).astype(np.float32),
        lesion_doubts=np.array([0.1, 0.2, 0.3, 0.9]),
        lesion_wrong=np.array([False, False, False, True]),
    )


def test_advice_marks_as_much_as_is_wrong() -> None:
    several = [found(seed, wrong=50) for seed in range(1, 9)]
    doubts = np.concatenate([scan.voxel_doubts for scan in several])
    assert np.mean(doubts > calibration.voxel_trust(several)) == pytest.approx(0.05, abs=0.001)
    trust = calibration.lesion_trust(several)
    assert trust is not None
    assert 0.3 <= trust < 0.9


def test_nothing_wrong_needs_no_look() -> None:
    several = [found(seed, wrong=0) for seed in range(1, 4)]
    assert calibration.voxel_trust(several) == pytest.approx(max(scan.voxel_doubts.max() for scan in several), rel=1e-5)


def test_typical_values_hold_calibration_scans_and_skip_what_none_has() -> None:
    assert building.typical([found(seed, 1).appearance for seed in range(1, 9)]) == {
        "noise": (pytest.approx(0.01, abs=0.001), pytest.approx(0.08, abs=0.001))
    }


def test_the_recipe_is_filled_with_all_of_it() -> None:
    plan = calibration.filled(Recipe(), [found(seed, 5) for seed in range(1, 9)])
    assert plan.volume is not None
    assert plan.volume.units == 8
    assert plan.voxel_trust is not None
