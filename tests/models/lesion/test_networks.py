"""Networks: the released layout, folding, frozen masks, growth of position embeddings."""

import json

import numpy as np
import pytest
import torch

from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import PRESETS, RELEASED, Stage, UNETRSizes, UNetSizes, cycle, preset
from tests.conftest import PROJECT

ORACLE = json.loads((PROJECT / "tests/fixtures/lesion_unet_keys.json").read_text())
TINY = UNetSizes((4, 8, 16), dropout=0.5)


def difference(network: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    logits = network(x)
    return logits[:, 1:] - logits[:, :1]


def test_the_full_unet_has_the_released_weights() -> None:
    state = architectures.network(RELEASED, 96).state_dict()
    assert {name: list(value.shape) for name, value in state.items()} == ORACLE["state_dict_shapes"]
    assert sum(value.numel() for value in state.values()) == ORACLE["parameters"]


def test_dropout_changes_no_weight_and_takes_whole_channels() -> None:
    plain, dropped = architectures.network(UNetSizes((4, 8, 16)), 32), architectures.network(TINY, 32)
    assert plain.state_dict().keys() == dropped.state_dict().keys()
    layers = [module for module in dropped.modules() if isinstance(module, torch.nn.Dropout3d)]
    assert len(layers) == 4
    assert not [module for module in dropped.modules() if type(module) is torch.nn.Dropout]


@pytest.mark.parametrize("family", ["unet", "unetr"])
def test_the_folded_network_says_the_difference_of_the_logits(family: str) -> None:
    settings = preset("tiny", family)
    torch.manual_seed(0)
    network = architectures.network(settings.sizes, 32).eval()
    for parameter in network.parameters():
        parameter.data = parameter.data.half().float()
    x = torch.randn(1, 1, 32, 32, 32)
    with torch.no_grad():
        expected, actual = difference(network, x), architectures.folded(network)(x)
    assert actual.shape == (1, 1, 32, 32, 32)
    assert float((actual - expected).abs().max()) < 2e-3  # the folded layer alone is rounded again


def test_folding_leaves_the_trained_network_alone() -> None:
    network = architectures.network(TINY, 32)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    architectures.folded(network)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_large_folded_weights_have_half_precision() -> None:
    for parameter in architectures.folded(architectures.network(TINY, 32)).parameters():
        if parameter.numel() >= architectures.HALF_FROM:
            assert torch.equal(parameter, parameter.half().float())


def test_masks_depend_on_seeds_and_sample_number_alone() -> None:
    three = architectures.channel_masks(TINY, sample_seed=1, seed=2, samples=3)
    five = architectures.channel_masks(TINY, sample_seed=1, seed=2, samples=5)
    assert all(np.array_equal(a, b[:3]) for a, b in zip(three, five, strict=True))
    assert [mask.shape for mask in five] == [(5, 4), (5, 8), (5, 16), (5, 4)]
    for other in (dict(sample_seed=2, seed=2), dict(sample_seed=1, seed=3)):
        drawn = architectures.channel_masks(TINY, samples=5, **other)
        assert not all(np.array_equal(a, b) for a, b in zip(five, drawn, strict=True))


def test_masks_keep_the_mean_and_never_drop_a_whole_layer() -> None:
    masks = architectures.channel_masks(UNetSizes((2, 64, 256), dropout=0.5), sample_seed=0, seed=0, samples=200)
    assert set(np.unique(masks[2])) == {0.0, 2.0}
    assert masks[2].mean() == pytest.approx(1, abs=0.02)
    assert all((mask.max(axis=1) > 0).all() for mask in masks)


def test_a_sample_is_the_network_with_these_channels_dropped() -> None:
    torch.manual_seed(0)
    network = architectures.folded(architectures.network(TINY, 32))
    masks = architectures.channel_masks(TINY, sample_seed=1, seed=2, samples=2)
    layers = [submodule for submodule in network.modules() if isinstance(submodule, torch.nn.Dropout3d)]
    x = torch.randn(1, 1, 32, 32, 32)
    order = [0, 1, 2, 3]  # of the layers as modules lie, which for a U-Net is the order of running
    hooks = [
        layer.register_forward_hook(
            lambda module, inputs, out, place=place: (
                inputs[0] * torch.from_numpy(masks[place][1])[None, :, None, None, None]
            )
        )
        for layer, place in zip(layers, order, strict=True)
    ]
    with torch.no_grad():
        expected = network(x)
        for hook in hooks:
            hook.remove()
        actual = architectures.Sampled(network, masks)(x, torch.tensor(1))
        other = architectures.Sampled(network, masks)(x, torch.tensor(0))
    assert torch.allclose(actual, expected, atol=1e-5)
    assert not torch.allclose(actual, other, atol=1e-2)


def test_without_masks_that_drop_a_sample_is_the_plain_network() -> None:
    torch.manual_seed(0)
    network = architectures.folded(architectures.network(TINY, 32))
    ones = [np.ones_like(mask) for mask in architectures.channel_masks(TINY, sample_seed=0, seed=0, samples=1)]
    x = torch.randn(2, 1, 32, 32, 32)
    with torch.no_grad():
        assert torch.allclose(architectures.Sampled(network, ones)(x, torch.tensor(0)), network(x), atol=1e-5)


def test_position_embeddings_grow_smoothly() -> None:
    sizes = UNETRSizes(2, 8, 16, 2)
    state = architectures.network(sizes, 32).state_dict()
    name = "vit.patch_embedding.position_embeddings"
    state[name] = torch.arange(2.0).repeat(4)[None, :, None].expand(1, 8, 8).clone()  # grows along the last axis
    grown = architectures.enlarged(state, 64)
    network = architectures.network(sizes, 64)
    network.load_state_dict(grown)
    along = grown[name].reshape(4, 4, 4, 8)[0, 0, :, 0]
    assert torch.allclose(along, torch.tensor([0, 0.25, 0.75, 1.0]))
    assert torch.equal(architectures.enlarged(state, 32)[name], state[name])


def test_an_unknown_preset_or_family_is_named() -> None:
    with pytest.raises(ValueError, match="'huge' is unknown; use one of tiny"):
        preset("huge", "unet")
    with pytest.raises(ValueError, match="'vnet' is unknown"):
        preset("tiny", "vnet")


def test_every_preset_takes_its_crops_and_both_modalities() -> None:
    for name, families in PRESETS.items():
        for family in families:
            assert preset(name, family, 2).sizes.inputs == 2


def test_the_learning_rate_rises_and_falls_once() -> None:
    stage = Stage(32, 100, 1, 0.5)
    rates = [cycle(stage, step) for step in range(100)]
    top = int(np.argmax(rates))
    assert 15 < top < 25
    assert rates[top] == pytest.approx(0.5, rel=0.01)
    assert (np.diff(rates[:top]) > 0).all()
    assert (np.diff(rates[top:]) < 0).all()
    assert rates[-1] < 0.01


@pytest.mark.parametrize("channels", [(4,), (4, 0), ()])
def test_impossible_sizes_are_refused(channels: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="cannot be built"):
        UNetSizes(channels)
