"""Decoders: what the released code computes, and what densities and samples have to do with each other."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from models.tasks.motion.networks.decoders import Decoder, Start
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import Decoder as Kind
from models.tasks.motion.networks.settings import Sizes

RELEASED: dict[str, Any] = json.loads((Path(__file__).parents[3] / "fixtures" / "motion_decoders.json").read_text())
"""Outputs of the released decoders with 8 hidden units over 5 steps; it names its source."""


def tensor(name: str, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor(RELEASED[name], dtype=dtype)


def released(kind: Kind, dtype: torch.dtype = torch.float32) -> Decoder:
    """The decoder whose weights the released code was run with, under their released names."""
    network = Network(Sizes(kind, "small", channels=(1, 1, 1, 1), hidden=8))
    prefix, table = ("", RELEASED["bc_state"]) if kind == "bc" else ("_flow.", RELEASED["flow_state"])
    state = {prefix + name: torch.tensor(values) for name, values in table.items()}
    missing, unexpected = network.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(name.startswith("_encoder.") for name in missing)
    return network.to(dtype).decoder


def assert_own_density(decoder: Decoder, start: Start, noise: Tensor) -> None:
    """Check densities of samples against those of their plans.

    In float64: what a step loses beside its positions, eps times 50 m, counts over a scale of 0.1 m and in 25 steps.
    """
    plans, score = decoder.sample(start, noise)
    assert plans.dtype == torch.float64
    for other in (decoder.log_prob(start, plans), decoder.log_prob_on_samples(start, plans, noise)):
        assert torch.allclose(score, other, rtol=0, atol=1e-10)


@torch.no_grad()
def test_teacher_forced_densities_are_the_released_ones() -> None:
    start, y = Start(tensor("z")), tensor("y")
    assert torch.allclose(released("dim").log_prob(start, y), tensor("dim_score"), rtol=1e-5)
    assert torch.allclose(released("bc").log_prob(start, y), tensor("bc_teacher_forcing_loglik"), rtol=1e-5)


@torch.no_grad()
def test_the_flow_makes_the_released_plans_of_the_same_noise() -> None:
    plans, _ = released("dim").sample(Start(tensor("z")), tensor("flow_noise"))
    assert torch.allclose(plans, tensor("flow_forward_y"), atol=1e-5)


@torch.no_grad()
def test_scores_on_own_samples_have_the_released_mean_and_deviation() -> None:
    torch.manual_seed(0)
    count, published = 1000, 200
    z, y = (tensor(name).repeat(count, *(1,) * (tensor(name).ndim - 1)) for name in ("z", "y"))
    decoder = released("bc")
    scores = torch.cat(  # piece by piece: all at once take 600 MB
        [decoder.log_prob_on_samples(Start(z), y, torch.randn(y.shape)).reshape(count, -1) for _ in range(4)]
    )
    deviation, mean = tensor("bc_sampling_mode_score_std_200"), tensor("bc_sampling_mode_score_mean_200")
    assert ((scores.mean(dim=0) - mean).abs() < 3 * deviation / published**0.5).all()
    assert torch.allclose(scores.std(dim=0), deviation, rtol=0.2)


@pytest.mark.parametrize("kind", ["bc", "dim"])
@torch.no_grad()
def test_a_sample_comes_with_its_own_density(kind: Kind) -> None:
    decoder, noise = released(kind, torch.float64), torch.randn(3, 5, 2, dtype=torch.float64)
    ones = Start(tensor("z", torch.float64))
    drift = torch.randn(3, 2, dtype=torch.float64)
    masked = replace(ones, drift=drift, mask=torch.randint(0, 2, (3, 8), dtype=torch.float64) * 2)
    for start in (ones, masked):
        assert_own_density(decoder, start, noise)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bc", "dim"])
@torch.no_grad()
def test_densities_integrate_to_one(kind: Kind) -> None:
    decoder = released(kind)
    axis = torch.linspace(-30, 30, 1201)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1).reshape(-1, 1, 2)
    for row in tensor("z"):
        density = decoder.log_prob(Start(row.expand(len(grid), -1)), grid).double().exp()
        assert float(density.sum()) * 0.05**2 == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("sees_steps", [False, True])
@torch.no_grad()
def test_a_decoder_may_see_the_step_before(sees_steps: bool) -> None:
    torch.manual_seed(0)
    sizes = Sizes("dim", "small", channels=(1, 1, 1, 1), hidden=8, unit=10.0, sees_steps=sees_steps)
    decoder, noise = Network(sizes).double().decoder, torch.randn(3, 25, 2, dtype=torch.float64)
    assert decoder.cell.input_size == (4 if sees_steps else 2)
    assert_own_density(decoder, Start(tensor("z", torch.float64), torch.randn(3, 2, dtype=torch.float64)), noise)


@torch.no_grad()
def test_a_drift_moves_every_step_and_a_unit_scales_what_is_seen() -> None:
    decoder, noise = released("bc"), torch.zeros(3, 5, 2)
    blind = replace(decoder, unit=1e9)
    plain, _ = blind.sample(Start(tensor("z")), noise)
    moved, _ = blind.sample(Start(tensor("z"), torch.tensor([[1.0, -2.0]])), noise)
    steps = np.arange(1, 6)[:, None] * np.array([1.0, -2.0])
    assert np.allclose((moved - plain).numpy(), steps[None], atol=1e-5)
    far = decoder.sample(Start(tensor("z")), noise)[0]
    assert (far - plain).abs().max() > 1e-3
