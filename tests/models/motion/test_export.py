"""One graph of all members: what separate torch members say, in company and alone, and the same bytes."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models.executors.onnx import OnnxGraph
from models.tasks.motion.artefact.export import export
from models.tasks.motion.inference.members import MAPS, NOISE, PLANS, SCORES, STEPS
from models.tasks.motion.networks.decoders import Start
from models.tasks.motion.networks.masks import FrozenMasks, frozen_masks
from models.tasks.motion.networks.network import Mask, Network
from models.tasks.motion.networks.settings import Decoder, Encoder, Sizes
from tests.models.graphs import traces_of_the_machine
from tests.models.motion.toys import maps, untrained

Array = NDArray[np.float32]

Q = 3


def sizes(decoder: Decoder, encoder: Encoder, dropout: float = 0.0) -> Sizes:
    small = encoder == "small"
    channels = (8, 8, 16, 16) if small else ()
    return Sizes(
        decoder, encoder, channels, hidden=24, locscale=8, dropout=dropout, unit=10.0, sees_steps=small, grid=64
    )


@functools.cache
def members(network_sizes: Sizes, count: int) -> tuple[tuple[Network, ...], tuple[FrozenMasks, ...]]:
    networks = tuple(untrained(network_sizes, seed) for seed in range(count))
    masks = tuple(
        frozen_masks(network_sizes.dropout, network.width, network_sizes.hidden, sample_seed=5, seed=seed, samples=Q)
        for seed, network in enumerate(networks)
        if network_sizes.dropout
    )
    return networks, masks


def noise(count: int) -> Array:
    return np.random.default_rng(4).standard_normal((count, Q, STEPS, 2), np.float32)


def fused(network_sizes: Sizes, count: int, folder: Path, requests: Array) -> tuple[Array, Array]:
    path = folder / "members.onnx"
    path.write_bytes(export(*members(network_sizes, count), samples=Q))
    plans, scores = OnnxGraph(path).run({MAPS: requests, NOISE: noise(count)}, (PLANS, SCORES))
    return plans, scores


@torch.no_grad()
def separate(network_sizes: Sizes, count: int, requests: Array) -> tuple[Array, Array]:
    """Member by member, plan by plan: sampled, and then scored by teacher forcing."""
    networks, masks = members(network_sizes, count)
    seen = [network.see(torch.from_numpy(requests)) for network in networks]
    draws = torch.from_numpy(noise(count))

    def start(member: int, sample: int) -> Start:
        if not masks:
            return networks[member].start(seen[member])
        mask = Mask(
            *(torch.from_numpy(layer_mask[sample]) for layer_mask in (masks[member].pooled, masks[member].hidden))
        )
        return networks[member].start(seen[member], mask)

    made = [(member, sample) for member in range(count) for sample in range(Q)]
    plans = [
        networks[member].decoder.sample(start(member, sample), draws[member, sample].expand(len(requests), -1, -1))[0]
        for member, sample in made
    ]
    scores = [
        torch.stack(
            [
                networks[member].decoder.log_prob(start(member, sample), plan)
                for (_, sample), plan in zip(made, plans, strict=True)
            ],
            dim=1,
        )
        for member in range(count)
    ]
    return torch.stack(plans, dim=1).numpy(), torch.stack(scores, dim=1).numpy()


def difference(actual: Array, expected: Array) -> float:
    return float((np.abs(actual - expected) / (np.abs(expected) + np.median(np.abs(expected)))).max())


@pytest.mark.parametrize("encoder", ["small", "mobilenet_v2"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize(("decoder", "count"), [("bc", 1), ("bc", 3), ("dim", 3)])
def test_the_fused_graph_says_what_separate_members_say(
    decoder: Decoder, encoder: Encoder, count: int, dropout: float, tmp_path: Path
) -> None:
    network_sizes, requests = sizes(decoder, encoder, dropout), maps(2).numpy()
    plans, scores = fused(network_sizes, count, tmp_path, requests)
    expected_plans, expected_scores = separate(network_sizes, count, requests)
    assert plans.shape == (2, count * Q, STEPS, 2)
    assert scores.shape == (2, count, count * Q)
    assert difference(plans, expected_plans) <= 1e-5
    assert difference(scores, expected_scores) <= 1e-5
    assert np.ptp(scores) > 0.1


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_requests_say_together_what_they_say_alone(dropout: float, tmp_path: Path) -> None:
    network_sizes, requests = sizes("dim", "small", dropout), maps(4).numpy()
    together = fused(network_sizes, 3, tmp_path, requests)
    alone = [fused(network_sizes, 3, tmp_path, requests[number : number + 1]) for number in range(len(requests))]
    for batched, single in zip(together, map(np.concatenate, zip(*alone, strict=True)), strict=True):
        assert difference(batched, single) <= 1e-5


def test_masks_make_plans_of_a_member_differ(tmp_path: Path) -> None:
    network_sizes, requests = sizes("bc", "small", 0.3), maps(1).numpy()
    path = tmp_path / "members.onnx"
    path.write_bytes(export(*members(network_sizes, 1), samples=Q))
    same = np.broadcast_to(noise(1)[:, :1], (1, Q, STEPS, 2))
    plans, _ = OnnxGraph(path).run({MAPS: requests, NOISE: np.ascontiguousarray(same)}, (PLANS, SCORES))
    assert np.abs(plans[0, 0] - plans[0, 1]).max() > 0.01


def test_scores_of_a_vehicle_that_stands_keep_their_digits(tmp_path: Path) -> None:
    """Scales far below a millimetre: log(1 + u) taken literally would lose most of their digits."""
    network_sizes = sizes("bc", "small")
    networks = [untrained(network_sizes, seed) for seed in range(2)]
    for network in networks:
        network._output.bias.data[2:] -= 12
    path = tmp_path / "members.onnx"
    path.write_bytes(export(networks, samples=Q))
    requests = maps(1).numpy()
    _, scores = OnnxGraph(path).run({MAPS: requests, NOISE: noise(2)}, (PLANS, SCORES))
    for member, network in enumerate(networks):
        with torch.no_grad():
            network.double()
            start = network.start(network.see(torch.from_numpy(requests).double()))
            draws = torch.from_numpy(noise(2)[member]).double()
            wide = Start(start.state.expand(Q, -1), start.drift.expand(Q, -1))  # type: ignore[union-attr]
            _, expected = network.decoder.sample(wide, draws)
        own = scores[0, member, member * Q : (member + 1) * Q]
        assert np.allclose(own, expected.numpy(), rtol=1e-4)
        assert (own > 300).all()


def test_the_same_weights_give_the_same_bytes_and_nothing_of_the_machine() -> None:
    network_sizes = sizes("dim", "mobilenet_v2", 0.3)
    graph = export(*members(network_sizes, 3), samples=Q)
    assert graph == export(*members(network_sizes, 3), samples=Q)
    assert traces_of_the_machine(graph) == []


def test_members_that_do_not_fit_are_refused() -> None:
    networks, masks = members(sizes("dim", "small", 0.3), 3)
    with pytest.raises(ValueError, match="0 members: at least one"):
        export([])
    with pytest.raises(ValueError, match="all of the same sizes"):
        export([networks[0], untrained(replace(networks[0].sizes, hidden=16))])
    with pytest.raises(ValueError, match="2 sets of masks: one a member with 3 masks"):
        export(networks, masks[:2], samples=Q)
    with pytest.raises(ValueError, match="one a member with 10 masks"):
        export(networks, masks)
