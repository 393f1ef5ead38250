"""Released checkpoints: read without running their code, and refused by name where they are something else."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models import artefact
from models.artefact import ArtefactError
from models.evaluation.unit_errors import BadFile
from models.executors import golden
from models.tasks.motion.artefact import recipe, released
from models.tasks.motion.inference import members
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import RELEASED_BC, RELEASED_DIM, Sizes
from tests.models.interrupted import TouchingFile
from tests.models.motion import city

State = dict[str, torch.Tensor]
BC = replace(RELEASED_BC, hidden=16)
DIM = replace(RELEASED_DIM, hidden=24)
"""As the class default 128 differs from the released 512: any hidden size is read off the shapes."""


def state(sizes: Sizes = BC, seed: int = 0) -> State:
    torch.manual_seed(seed)
    return dict(Network(sizes).state_dict())


def saved(folder: Path, seed: int, content: object, epoch: int = 60) -> Path:
    path = folder / f"model-seed-{seed}-epoch-{epoch}.pt"
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(content, path)
    return path


@pytest.mark.parametrize("sizes", [RELEASED_BC, RELEASED_DIM, replace(RELEASED_DIM, hidden=128)], ids=str)
def test_a_released_member_of_full_size_is_read_weight_by_weight(sizes: Sizes, tmp_path: Path) -> None:
    weights = state(sizes)
    network = released.read(saved(tmp_path, 10, {f"module.{name}": value for name, value in weights.items()}))
    assert network.sizes == sizes
    assert network.state_dict().keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    prefix = "_decoder" if sizes.decoder == "bc" else "_flow._decoder"
    assert weights["_encoder._model.features.0.0.weight"].shape == (32, 17, 3, 3)
    assert weights["_encoder._model.classifier.1.weight"].shape == (sizes.hidden, 1280)
    assert weights[f"{prefix}.weight_hh"].shape == (3 * sizes.hidden, sizes.hidden)


def test_a_folder_becomes_an_ensemble_in_the_order_of_its_seeds(tmp_path: Path) -> None:
    for seed, epoch in ((90, 83), (10, 57), (20, 90)):
        saved(tmp_path, seed, state(DIM, seed), epoch)
    ensemble = released.load_released(tmp_path)
    assert ensemble.seeds == (10, 20, 90)
    assert ensemble.family == "dim"
    assert ensemble.training["files"] == (
        "model-seed-10-epoch-57.pt, model-seed-20-epoch-90.pt, model-seed-90-epoch-83.pt"
    )
    assert torch.equal(ensemble.networks[0]._flow._decoder.bias_hh, state(DIM, 10)["_flow._decoder.bias_hh"])
    assert ensemble.subset(2).seeds == (10, 20)


def test_code_in_a_checkpoint_is_refused_and_never_run(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    path = saved(tmp_path / "rip", 1, {"_decoder.weight_hh": TouchingFile(witness)})
    with pytest.raises(ArtefactError, match="holds more than weights"):
        released.load_released(tmp_path / "rip")
    path.write_bytes(pickle.dumps(TouchingFile(witness)))
    with pytest.raises(ArtefactError, match="model-seed-1"):
        released.load_released(tmp_path / "rip")
    assert not witness.exists()


def without(weights: State) -> object:
    weights.pop("_output.bias")
    return weights


def nan(weights: State) -> object:
    weights["_output.bias"][0] = torch.nan
    return weights


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without, r"_output\.bias is missing \(1 of"),
        (lambda weights: weights | {"_output.more": torch.zeros(1)}, r"_output\.more is no weight of this BC network"),
        (
            lambda weights: weights | {"_output.weight": torch.zeros(3, 16)},
            r"has the shape \[3, 16\], \[4, 16\] is needed",
        ),
        (nan, r"_output\.bias holds numbers that are not finite"),
        (lambda weights: {}, "neither a behavioural cloning network"),
        (lambda weights: weights | state(DIM), "neither a behavioural cloning network"),
        (lambda weights: {"_decoder.bias_hh": torch.zeros(3)}, r"_decoder\.weight_hh is missing"),
        (lambda weights: {"_decoder.weight_hh": torch.zeros(3)}, r"of the shape \[3\]; a matrix is needed"),
        (lambda weights: {"state_dict": weights}, "not a dictionary of weights"),
        (lambda weights: {name: value.long() for name, value in weights.items()}, "not a dictionary of weights"),
    ],
)
def test_what_is_no_released_member_is_named(change: Callable[[State], object], message: str, tmp_path: Path) -> None:
    saved(tmp_path, 1, change(state()))
    with pytest.raises(ArtefactError, match=message):
        released.load_released(tmp_path)


def test_files_that_are_cut_off_absent_or_doubled_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"no model-seed-S-epoch-E\.pt"):
        released.load_released(tmp_path)
    path = saved(tmp_path, 1, state())
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ArtefactError, match="model-seed-1-epoch-60"):
        released.load_released(tmp_path)
    saved(tmp_path, 1, state(), epoch=61)
    with pytest.raises(ArtefactError, match="both the member of seed 1; keep one epoch"):
        released.load_released(tmp_path)


def test_members_of_two_kinds_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, 1, state(BC))
    saved(tmp_path, 2, state(DIM))
    with pytest.raises(ArtefactError, match="members of different sizes"):
        released.load_released(tmp_path)


def rip(folder: Path, name: str = "rip-bc-k_2-plan_lq-scene_wcm") -> Path:
    for seed in (10, 20):
        saved(folder / name, seed, state(BC, seed))
    return folder


def test_a_released_folder_becomes_an_artefact_that_defers_all(tmp_path: Path) -> None:
    imported = released.import_released(rip(tmp_path / "given"), tmp_path / "out")
    plan = recipe.read(imported)
    assert (plan.plan_operator, plan.request_operator, plan.size, plan.resolution) == ("LQ", "WCM", 128, 1.0)
    assert artefact.name(imported.manifest) == "motion-bc-2"
    assert imported.manifest.heads == {"trajectories": {}}
    assert imported.manifest.training["origin"] == "released Shifts vehicle motion baseline"
    assert (
        golden.replay(members.members(imported), imported.path("golden.npz"), imported.manifest.golden_tolerance) < 1e-5
    )


def test_released_members_are_calibrated_where_requests_are_given(tmp_path: Path) -> None:
    data = city.write(tmp_path / "data", scenes_each=3)
    folder = rip(tmp_path / "given", "mine")
    imported = released.import_released(folder / "mine", tmp_path / "out", data)
    (known,) = imported.manifest.heads["trajectories"].values()
    assert known.retention.units == 6
    assert set(imported.manifest.quality) == {"calibration", "dev_shifted"}
    assert recipe.read(imported).plan_operator == "MA"
    for split in ("dev_pb", "dev_rendered"):
        (data / split).rename(data / f"no_{split}")
    with pytest.raises(BadFile, match="has no split 'dev'"):
        released.import_released(folder / "mine", tmp_path / "out", data)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rip-bc-k_5-plan_ma-scene_ma", "the name says 5 members of bc, the files are 2 of bc"),
        ("rip-dim-k_2-plan_ma-scene_ma", "the name says 2 members of dim, the files are 2 of bc"),
        ("rip-bc-k_2-plan_median-scene_ma", "an operator that is none"),
    ],
)
def test_a_name_that_says_otherwise_is_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=message):
        released.import_released(rip(tmp_path / "given", name), tmp_path / "out")


def test_one_of_several_released_folders_has_to_be_named(tmp_path: Path) -> None:
    rip(rip(tmp_path), "rip-bc-k_2-plan_ma-scene_ma")
    with pytest.raises(ArtefactError, match="name one of rip-bc-k_2-plan_lq-scene_wcm, rip-bc-k_2-plan_ma-scene_ma"):
        released.import_released(tmp_path, tmp_path / "out")
