"""From an official folder to an artefact that can be served, and what it says of calibration requests."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from models import artefact, uncertainty
from models.artefact import Artefact, ArtefactError
from models.evaluation.unit_errors import BadFile
from models.executors import golden
from models.tasks.motion.artefact import build, calibration, recipe
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data import gathering
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference import appearance, members, rip
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.training import shares, train, workbench
from models.tasks.motion.training.presets import preset
from tests.models.motion import bends, city

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return city.write(tmp_path_factory.mktemp("official") / "data", scenes_each=8)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts")


@pytest.fixture(scope="module")
def stored(data: Path, parts: Path) -> dict[str, Examples]:
    folders = gathering.gathered(data, parts / "examples", OFFICIAL)
    return {name: Examples.load(place, OFFICIAL) for name, place in folders.items()}


@pytest.fixture(scope="module")
def trained(data: Path, parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    progress: list[float] = []
    built = train.train_artefact(
        "bc",
        data,
        tmp_path_factory.mktemp("made") / "bc-3",
        members=3,
        seed=1,
        preset="tiny",
        parts=parts,
        jobs=2,
        progress=lambda done, what: progress.append(done),
    )
    assert progress == sorted(progress)
    assert progress[-1] == 1
    return built


def kept(data: Path, parts: Path, family: str = "bc", members: int = 3) -> Ensemble:
    """The members that ``trained`` left."""
    places = gathering.gathered(data, parts / "examples", OFFICIAL)
    return train.train(family, places, parts / family, members=members, seed=1, preset="tiny", jobs=2)


def test_a_trained_artefact_says_how_it_came_to_be(trained: Artefact) -> None:
    manifest = trained.manifest
    assert artefact.name(manifest) == "motion-bc-3"
    assert manifest.seeds == (1000, 1001, 1002)
    assert [(source.role, source.rows, source.licence) for source in manifest.sources] == [
        ("train", 16, "none"),
        ("choice of weights", 4, "none"),
        ("calibration", 12, "none"),
    ]
    assert list(manifest.quality) == ["calibration", "dev_shifted", "eval_in", "eval_shifted"]
    assert set(manifest.quality["eval_in"]) == {*calibration.FIGURES, "r_auc_cnll_nats"}
    assert manifest.training["conditioned_on"] == "samples"
    text = trained.path("MODEL_CARD.md").read_text()
    assert "toy street; 16 requests" in text
    assert "an error up to 25 nats is acceptable" in text


def test_its_members_answer_the_golden_maps_again(trained: Artefact) -> None:
    networks = members.members(trained)
    assert (networks.count, networks.samples) == (3, 10)
    assert golden.replay(networks, trained.path(trained.manifest.golden), trained.manifest.golden_tolerance) < 1e-5


def test_the_calibration_is_of_what_is_served(trained: Artefact, stored: dict[str, Examples]) -> None:
    (profile,) = trained.manifest.heads["trajectories"]
    assert profile == "cpu-fp32-split"
    known = trained.manifest.heads["trajectories"][profile]
    assert known.retention.measure == "request_uncertainty"
    assert known.retention.units == 12
    assert set(known.others) == {"ma", "lq", "uq", "wcm", "bcm", "total_spread", "knowledge_spread"}
    assert set(known.reference) == {*known.others, "request_uncertainty"}
    served, plan = members.members(trained), recipe.read(trained)
    examples = shares.calibrating(stored["dev"])
    predictive = rip.predictive(*served(examples.drawn()), plan)
    for name in known.reference:
        scores = uncertainty.score(predictive, name)
        assert known.reference[name][-1] == pytest.approx(scores.max(), rel=1e-5)
        assert known.by(name).retention.thresholds[-1] <= scores.max() * (1 + 1e-6)
    assert known.expected_error is not None
    judged = calibration.judge(examples, served, plan)
    assert calibration.quality(judged) == trained.manifest.quality["calibration"]
    assert known.expected_error.values[-1] >= known.expected_error.values[0]


def test_typical_requests_are_not_remarked_upon(trained: Artefact, stored: dict[str, Examples]) -> None:
    plan = recipe.read(trained)
    assert set(plan.typical) <= set(appearance.FEATURES)
    train_maps = shares.training(stored["train"]).drawn()
    remarks = [appearance.remarks(appearance.measured(values), plan.typical) for values in train_maps]
    assert remarks == [()] * len(train_maps)
    faster = train_maps[0].copy()
    faster[1, 63:65, 63:65] = 100
    assert "speed_high" in {remark.code for remark in appearance.remarks(appearance.measured(faster), plan.typical)}


def test_members_are_kept_for_ensembles_of_other_sizes_and_operators(
    data: Path, parts: Path, trained: Artefact, stored: dict[str, Examples], tmp_path: Path
) -> None:
    ensemble = kept(data, parts)
    assert ensemble.seeds == trained.manifest.seeds
    maps = stored["eval"].drawn(slice(0, 3))
    plans, scores = members.members(trained)(maps)
    lower = Recipe(plan_operator="LQ", request_operator="LQ")
    single = build.build(ensemble.subset(1), lower, tmp_path / "bc-1", calibration=stored["dev"])
    assert artefact.name(single.manifest) == "motion-bc-1"
    assert recipe.read(single).plan_operator == "LQ"
    own_plans, own_scores = members.members(single)(maps)
    assert np.allclose(own_plans, plans[:, :10], rtol=1e-4, atol=1e-4)
    assert np.allclose(own_scores, scores[:, :1, :10], rtol=1e-4, atol=1e-3)
    (known,) = single.manifest.heads["trajectories"].values()
    assert "knowledge_spread" not in known.reference  # of a single member nobody knows
    assert "total_spread" in known.reference
    with pytest.raises(ValueError, match="no subset of 4; 1 to 3 are possible"):
        ensemble.subset(4)


@pytest.mark.slow
def test_dropout_members_have_frozen_masks(data: Path, parts: Path, tmp_path: Path) -> None:
    ensemble = kept(data, parts, "dim_dropout", members=2)
    built = build.build(ensemble, Recipe(), tmp_path / "dropout")
    assert artefact.name(built.manifest) == "motion-dim_dropout-2x10"
    assert built.manifest.sample_seed == 1
    assert members.members(built).count == 2
    assert built.manifest.heads == {"trajectories": {}}
    assert len({tuple(mask) for mask in np.concatenate([frozen.hidden for frozen in ensemble.masks])}) > 10


def test_the_same_members_give_the_same_bytes(
    data: Path, parts: Path, stored: dict[str, Examples], tmp_path: Path
) -> None:
    examples = shares.calibrating(stored["dev"])
    first, other = (
        build.build(kept(data, parts).subset(2), Recipe(), tmp_path / name, calibration=examples) for name in ("a", "b")
    )
    assert first.tag == other.tag


def test_the_workbench_trains_and_cleans_up(data: Path, tmp_path: Path) -> None:
    built = workbench.train_artefact(
        "dim", data, tmp_path / "dim-1", members=1, seed=0, preset="tiny", progress=lambda done, what: None
    )
    assert artefact.name(built.manifest) == "motion-dim-1"
    assert [path.name for path in tmp_path.iterdir()] == ["dim-1"]


def test_training_without_members_splits_or_requests_is_refused(data: Path, parts: Path, tmp_path: Path) -> None:
    def ask(folder: Path, **changes: int) -> None:
        options = {"members": 1, "seed": 0} | changes
        train.train_artefact("bc", folder, tmp_path / "out", preset="tiny", parts=tmp_path / "parts", **options)

    with pytest.raises(ValueError, match="at least one member, got 0"):
        ask(data, members=0)
    with pytest.raises(BadFile, match="no folder"):
        ask(tmp_path / "nowhere")
    (tmp_path / "some").mkdir()
    for name in ("train_pb", "train_rendered"):
        (tmp_path / "some" / name).symlink_to(data / name)
    with pytest.raises(ValueError, match="needs the splits train and dev; missing: dev"):
        ask(tmp_path / "some")
    shifted = gathering.gathered(data, parts / "examples", OFFICIAL) | {}
    examples = Examples.load(shifted["dev"], OFFICIAL)
    assert len(examples.take(examples.shifted)) == 16
    with pytest.raises(ValueError, match="no in-domain request of the split train"):
        train.train(
            "bc", {"train": _only_shifted(tmp_path), "dev": shifted["dev"]}, tmp_path, members=1, seed=0, preset="tiny"
        )


def _only_shifted(folder: Path) -> Path:
    bends.examples.store(
        (replace(example, shifted=True) for example in bends.drives(0, 2)), folder / "shifted", OFFICIAL
    )
    return folder / "shifted"


def test_an_artefact_of_another_grid_is_refused(trained: Artefact, tmp_path: Path) -> None:
    plan = msgspec.structs.replace(recipe.read(trained), size=64)
    content: dict[str, bytes | Path] = {name: trained.path(name) for name in trained.manifest.files}
    other = artefact.write(tmp_path / "other", trained.manifest, content | {"recipe.json": recipe.encode(plan)})
    with pytest.raises(ArtefactError, match="the graph takes maps"):
        members.members(other)


def test_settings_are_those_of_the_preset(data: Path, parts: Path) -> None:
    assert all(network.sizes == preset("tiny", "bc").sizes for network in kept(data, parts).networks)
