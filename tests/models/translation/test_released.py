"""Checkpoints of fairseq: weights under old and new names, and refusals that name the weight."""

import argparse
import collections
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.artefact import ArtefactError
from models.tasks.translation.artefact import released
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.networks.transformer import Transformer

SIZES = Sizes(20, 24, 64, 4, 96, 2, 3, norm_first=False, shared=False)
State = dict[str, torch.Tensor]


def state(sizes: Sizes = SIZES) -> State:
    torch.manual_seed(0)
    return {name: torch.randn_like(value) for name, value in Transformer(sizes).state_dict().items()}


def saved(folder: Path, weights: Any, *, old: bool = False, args: Any = None, **more: Any) -> Path:
    path = folder / "member.pt"
    args = argparse.Namespace(encoder_attention_heads=4, arch="x") if args is None else args
    content = {"args": args, "model": weights, "extra_state": {"epoch": 3}} | more
    torch.save(content, path, _use_new_zipfile_serialization=not old)
    return path


def joined(weights: State) -> State:
    """As fairseq 0.7 named them: query, key and value in one, and counters and placeholders besides."""
    tensors: State = {"encoder.version": torch.tensor([3.0]), "decoder.embed_positions._float_tensor": torch.zeros(1)}
    for name, value in weights.items():
        head, _, kind = name.rpartition(".")
        if head.endswith(".q_proj"):
            stem = head.removesuffix("q_proj")
            tensors[f"{stem}in_proj_{kind}"] = torch.cat([weights[f"{stem}{part}_proj.{kind}"] for part in "qkv"])
        elif not head.endswith((".k_proj", ".v_proj")):
            tensors[name] = value
    return tensors


def counted(weights: State) -> State:
    """As fairseq 0.6 did: norms by number, all in a module."""
    names = {
        "encoder": {"self_attn_layer_norm": 0, "final_layer_norm": 1},
        "decoder": {"self_attn_layer_norm": 0, "encoder_attn_layer_norm": 1, "final_layer_norm": 2},
    }
    tensors: State = {}
    for name, value in weights.items():
        side, *parts = name.split(".")
        own = [
            f"layer_norms.{names[side][part]}" if part in names[side] and "layers" in name else part for part in parts
        ]
        tensors[".".join(("module", side, *own))] = value
    return tensors


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("named", [dict, joined, counted, lambda weights: counted(joined(weights))])
def test_weights_are_read_under_all_their_names(tmp_path: Path, named: Callable[[State], State], old: bool) -> None:
    weights = state()
    member = released.read(saved(tmp_path, collections.OrderedDict(named(weights)), old=old))
    assert member.sizes == SIZES
    assert member.weights.keys() == weights.keys()
    for name, value in weights.items():
        assert np.array_equal(member.weights[name], value.numpy()), name
    Transformer(member.sizes).load_state_dict({name: torch.from_numpy(array) for name, array in member.weights.items()})


def test_norms_first_halves_and_other_widths(tmp_path: Path) -> None:
    sizes = Sizes(20, 20, 128, 2, 32, 1, 1, norm_first=True, shared=False)
    weights = {name: value.half() for name, value in state(sizes).items()}
    member = released.read(saved(tmp_path, weights, args=argparse.Namespace()))  # heads of 64, as the paper's
    assert member.sizes == sizes
    assert all(value.dtype == np.float32 for value in member.weights.values())


def test_a_table_may_stand_twice(tmp_path: Path) -> None:
    weights = state()
    table = weights["decoder.embed_tokens.weight"]
    released.read(saved(tmp_path, weights | {"decoder.output_projection.weight": table}))
    released.read(saved(tmp_path, weights | {"decoder.embed_out": table.clone()}))
    with pytest.raises(ArtefactError, match="output_projection.weight is no copy of the decoder's embeddings"):
        released.read(saved(tmp_path, weights | {"decoder.output_projection.weight": table + 1}))


def without(weights: State, name: str) -> State:
    return {key: value for key, value in weights.items() if key != name}


def with_nan(weights: State) -> State:
    weights["decoder.layers.1.fc2.bias"][3] = float("nan")
    return weights


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda weights: {}, r"encoder\.embed_tokens\.weight is missing"),
        (lambda weights: without(weights, "decoder.layers.0.fc1.bias"), r"fc1\.bias is missing \(1 of 112"),
        (
            lambda weights: weights | {"decoder.extra": torch.ones(1)},
            r"decoder\.extra is no weight of this Transformer",
        ),
        (
            lambda weights: weights | {"decoder.layers.0.fc1.bias": torch.ones(7)},
            r"fc1\.bias has the shape \[7\], \[96\]",
        ),
        (lambda weights: weights | {"encoder.layers.0.fc1.weight": torch.tensor(7.0)}, r"has the shape \[\], two axes"),
        (with_nan, r"decoder\.layers\.1\.fc2\.bias holds numbers that are not finite"),
        (lambda weights: weights | {"decoder.embed_positions.weight": torch.ones(5, 64)}, "positions are learnt"),
        (
            lambda weights: weights | {"decoder.layers.99999999.fc1.bias": torch.ones(96)},
            r"decoder\.layers\.3 is missing",
        ),
        (
            lambda weights: weights | {f"decoder.layers.{'9' * 5000}.fc1": torch.ones(1)},
            r"decoder\.layers\.3 is missing",
        ),
        (lambda weights: weights | {"decoder.x": "text"}, r"decoder\.x is no weight"),
        (lambda weights: weights | {7: torch.ones(1)}, "7 is no weight"),
        (lambda weights: weights | {"x.in_proj_weight": torch.ones(7, 2)}, r"x\.in_proj_weight is no weight of this"),
        (lambda weights: weights | {"x.in_proj_weight": torch.tensor(1.0)}, r"x\.in_proj_weight is no weight of this"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: Callable[[State], Any], says: str) -> None:
    with pytest.raises(ArtefactError, match=says):
        released.read(saved(tmp_path, change(state())))


@pytest.mark.parametrize(
    ("heads", "says"), [("four", "is 'four'; a whole number"), (True, "is True"), (0, "at least 1"), (5, "multiple")]
)
def test_heads_that_cannot_be(tmp_path: Path, heads: Any, says: str) -> None:
    with pytest.raises(ArtefactError, match=says):
        released.read(saved(tmp_path, state(), args=argparse.Namespace(encoder_attention_heads=heads)))


def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.pt"
    for content in ([1], {"weights": 1}, {"model": [1]}, {"model": None}):
        torch.save(content, path)
        with pytest.raises(ArtefactError, match="no weights under the name 'model'"):
            released.read(path)


def test_names_that_share_a_table_are_not_copied_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released, "LARGEST_BYTES", 1 << 20)
    table = torch.ones(1000, 64)
    path = saved(tmp_path, {f"x{number}": table for number in range(100)})
    with pytest.raises(ArtefactError, match="weights of more than 1048576 bytes"):
        released.read(path)
