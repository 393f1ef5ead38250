"""Released checkpoints: read without running their code, and refused by name where they are something else."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artefact import ArtefactError
from models.tasks.lesion.artefact import released
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import RELEASED, UNetSizes
from tests.conftest import PROJECT
from tests.models.interrupted import TouchingFile

SHAPES = json.loads((PROJECT / "tests/fixtures/lesion_unet_keys.json").read_text())["state_dict_shapes"]
State = dict[str, torch.Tensor]


def state(seed: int = 0, sizes: UNetSizes | None = None) -> State:
    shapes = SHAPES
    if sizes is not None:
        shapes = {name: value.shape for name, value in architectures.network(sizes, 96).state_dict().items()}
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(tuple(shape), generator=generator) * 0.05 for name, shape in shapes.items()}


def saved(folder: Path, seed: int, content: object) -> Path:
    path = folder / f"seed{seed}" / released.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(content, path)
    return path


def test_a_released_member_of_full_size_is_read_weight_by_weight(tmp_path: Path) -> None:
    weights = state()
    sizes, network = released.read(saved(tmp_path, 1, {f"module.{name}": value for name, value in weights.items()}))
    assert sizes == RELEASED
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())


@pytest.mark.long
def test_a_folder_becomes_an_ensemble_in_the_order_of_its_seeds(tmp_path: Path) -> None:
    sizes = UNetSizes((4, 8, 16), 2)
    for seed in (10, 2, 1):
        saved(tmp_path, seed, state(seed, sizes))
    result = released.load_released(tmp_path)
    assert result.seeds == (1, 2, 10)
    assert result.channels == ("flair", "t1")
    assert result.window == (96, 96, 96)
    assert result.several
    assert len(set(result.graphs)) == 3


def test_code_in_a_checkpoint_is_refused_and_never_run(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    path = saved(tmp_path, 1, {"model.0.conv.weight": TouchingFile(witness)})
    with pytest.raises(ArtefactError, match="holds more than weights"):
        released.load_released(tmp_path)
    path.write_bytes(pickle.dumps(TouchingFile(witness)))
    with pytest.raises(ArtefactError, match="seed1"):
        released.load_released(tmp_path)
    assert not witness.exists()


def without(weights: State) -> object:
    weights.pop("model.2.conv.bias")
    return weights


def more(weights: State) -> object:
    return weights | {"model.3.extra": torch.zeros(1)}


def other_shape(weights: State) -> object:
    return weights | {"model.2.conv.weight": torch.zeros(64, 3, 3, 3, 3)}


def nan(weights: State) -> object:
    weights["model.0.conv.bias"][0] = np.nan
    return weights


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without, r"model\.2\.conv\.bias is missing \(1 of 26"),
        (more, r"model\.3\.extra is no weight of this U-Net"),
        (other_shape, r"model\.2\.conv\.weight has the shape \[64, 3, 3, 3, 3\], \[64, 2, 3, 3, 3\] is needed"),
        (nan, r"model\.0\.conv\.bias holds numbers that are not finite"),
        (lambda _: {}, r"model\.0\.conv\.weight is missing"),
        (lambda weights: {"state_dict": weights}, "not a dictionary of weights"),
        (lambda tensors: list(tensors.values()), "not a dictionary of weights"),
        (lambda entries: {name: value.long() for name, value in entries.items()}, "not a dictionary of weights"),
    ],
)
def test_what_is_no_released_member_is_named(change: Callable[[State], object], message: str, tmp_path: Path) -> None:
    saved(tmp_path, 1, change(state()))
    with pytest.raises(ArtefactError, match=message):
        released.load_released(tmp_path)


def test_files_that_are_cut_off_or_absent_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="no seed1"):
        released.load_released(tmp_path)
    path = saved(tmp_path, 1, state(0, UNetSizes((4, 8))))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ArtefactError, match="seed1"):
        released.load_released(tmp_path)


def test_members_of_two_sizes_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, 1, state(0, UNetSizes((4, 8))))
    saved(tmp_path, 2, state(0, UNetSizes((4, 6))))
    with pytest.raises(ArtefactError, match="members of different sizes"):
        released.load_released(tmp_path)
