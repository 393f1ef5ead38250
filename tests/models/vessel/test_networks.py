"""The stacked networks are what M separate networks of the paper would be."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from models.tasks.vessel.artefact.ensemble import FAMILIES, Scaling, TrainedEnsemble
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.networks import families, frozen, physics
from tests.rounding import tolerance

RELEASED = json.loads((Path(__file__).parents[2] / "fixtures" / "vessel_model.json").read_text())
ROUNDINGS = 20
"""Of what comes out: sums of 10, 50 and 20 terms lead to it, and a softplus behind each; the root of 160 is 13."""
SCALING = Scaling(
    np.array([11.0, 11, 17, 0, 16, 7, 0, 0, 1.3, 0]),
    np.array([1.5, 1.6, 3, 0.3, 9, 5, 0.6, 0.6, 0.6, 4_324_320]),
    18_000.0,
    8_000.0,
)


def separate(network: families.Dense, member: int) -> nn.Sequential:
    """The same member as an ordinary torch module."""
    linear = []
    for layer in (1, 2, 3):
        weight, bias = getattr(network, f"w{layer}")[member], getattr(network, f"b{layer}")[member, 0]
        linear_layer = nn.Linear(weight.shape[0], weight.shape[1])
        linear_layer.weight.data, linear_layer.bias.data = weight.T.detach(), bias.detach()
        linear.append(linear_layer)
    return nn.Sequential(linear[0], nn.Softplus(), linear[1], nn.Softplus(), linear[2])


def test_a_network_computes_what_the_released_one_does() -> None:
    state = {name: np.array(value, np.float32) for name, value in RELEASED["state_dict"].items()}
    network = families.Dense((0,))
    for layer in (1, 2, 3):
        getattr(network, f"w{layer}").data = torch.from_numpy(state[f"linear{layer}.weight"].T)[None]
        getattr(network, f"b{layer}").data = torch.from_numpy(state[f"linear{layer}.bias"])[None, None]
    mean, std = network(torch.tensor(RELEASED["x"])[None])
    ours = torch.stack([mean[0], std[0]], dim=1).detach().numpy()
    theirs = np.array(RELEASED["official_mean_std"])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance(theirs, ROUNDINGS))


@pytest.mark.parametrize("family", FAMILIES)
def test_stacked_members_are_independent_networks(family: str) -> None:
    network = families.build(family, (0, 1, 2), SCALING, NAMES).eval()
    alone = families.build(family, (1,), SCALING, NAMES).eval()
    rows = torch.randn(3, 8, 10, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network(rows)[0][1], alone(rows[1:2])[0][0])
    ours, apart = network.raw(rows)[1], separate(network, 1)(rows[1])
    torch.testing.assert_close(ours, apart, rtol=0, atol=tolerance(apart.detach(), ROUNDINGS))
    network(rows)[0][1].sum().backward()
    for name, parameter in network.named_parameters():
        if parameter.grad is not None:
            assert not parameter.grad[[0, 2]].any(), f"{name}: a member's loss moves another member"


@pytest.mark.parametrize("family", FAMILIES)
def test_standard_deviations_are_positive_far_away(family: str) -> None:
    network = families.build(family, (0, 1), SCALING, NAMES).eval()
    rows = 50 * torch.randn(2, 200, 10, generator=torch.Generator().manual_seed(2))
    mean, std = network(rows)
    assert torch.isfinite(mean).all()
    assert (std > 0).all()


def test_flipout_is_unbiased_and_differs_between_rows() -> None:
    torch.manual_seed(0)
    network = families.Variational((0,))
    for name in ("w1", "w2", "w3"):
        getattr(network, f"{name}_rho").data.fill_(-2.0)
    rows = torch.ones(1, 4000, 10)
    network.train()
    with torch.no_grad():
        layer = torch.stack([network._flipout(rows, "w1", network.b1) for _ in range(40)])
        network.eval()
        expected = network._flipout(rows[:, :1], "w1", network.b1)
    assert layer[0, 0].std(dim=0).min() > 0.05
    torch.testing.assert_close(layer.mean(dim=(0, 2)), expected[:, 0], atol=0.05, rtol=0)


def test_the_divergence_is_that_of_gaussians() -> None:
    network = families.Variational((0, 1))
    total = torch.zeros(2)
    for name in ("w1", "w2", "w3"):
        mean, rho = getattr(network, name), getattr(network, f"{name}_rho")
        posterior = torch.distributions.Normal(mean, nn.functional.softplus(rho))
        prior = torch.distributions.Normal(0.0, families.PRIOR_STD)
        total += torch.distributions.kl_divergence(posterior, prior).sum(dim=(1, 2))
    torch.testing.assert_close(network.penalty(1000), total / 1000)


def test_dropout_is_active_in_training_only_and_as_frequent_as_stated() -> None:
    network = families.build("mc_dropout", (0, 1), SCALING, NAMES)
    rows = torch.randn(2, 500, 10)
    torch.manual_seed(0)
    assert not torch.equal(network.train()(rows)[0], network(rows)[0])
    network.eval()
    torch.testing.assert_close(network(rows)[0], network(rows)[0], rtol=0, atol=0)
    weights = {"w2": np.zeros((40, 50, 20), np.float32), "w3": np.zeros((40, 20, 2), np.float32)}
    first, second = frozen.masks(TrainedEnsemble("mc_dropout", SCALING, weights, tuple(range(40)), samples=50))
    drawn = np.concatenate([first, second], axis=2)
    assert np.mean(drawn == 0) == pytest.approx(frozen.DROPOUT, rel=0.1)
    np.testing.assert_allclose(drawn[drawn > 0], 1 / (1 - frozen.DROPOUT), rtol=1e-6)


def test_frozen_samples_follow_their_member_out_of_the_ensemble() -> None:
    network = families.Variational((0, 1, 2))
    whole = TrainedEnsemble("variational", SCALING, families.export(network), (0, 1, 2), samples=4)
    np.testing.assert_array_equal(
        frozen.weight_samples(whole)["w2"][1:2], frozen.weight_samples(whole.select(slice(1, 2)))["w2"]
    )
    spread = frozen.weight_samples(whole)["w2"] - whole.weights["w2"][:, None]
    expected = np.logaddexp(0, families.INITIAL_RHO)
    assert spread.std() == pytest.approx(expected, rel=0.05)


def test_the_prior_behaves_as_ships_do() -> None:
    network = families.Symbolic((0,), SCALING, NAMES).eval()
    calm = np.array([12.0, 12, 15, 0, 15, 0, 0, 0, 0.5, 500_000])

    def power(**changes: float) -> float:
        row = calm.copy()
        for name, value in changes.items():
            row[NAMES.index(name)] = value
        with torch.no_grad():
            mean, _ = network(torch.tensor((row - SCALING.mean) / SCALING.std, dtype=torch.float32)[None, None])
        return float(mean) * SCALING.power_std + SCALING.power_mean

    assert 5 < power(stw=20.0) / power(stw=10.0) < 20, "about the cube of speed"
    assert power(awind_vcomp_provider=45.0) > power() > power(awind_vcomp_provider=-10.0)
    assert power(comb_wind_swell_wave_height=4.0) > power()
    assert power(timeSinceDryDock=2e6) > power()
    assert power(diff_speed_overground=0.5) > power() > power(diff_speed_overground=-0.5)
    following = power(awind_vcomp_provider=5.0, comb_wind_swell_wave_height=4.0) - power(awind_vcomp_provider=5.0)
    against = power(awind_vcomp_provider=35.0, comb_wind_swell_wave_height=4.0) - power(awind_vcomp_provider=35.0)
    assert against > 3 * following, "5 kn of apparent head wind at 15 kn of speed is a following sea"
    assert set(physics.COEFFICIENTS) == {name[2:] for name, _ in network.named_parameters() if name[1] == "_"}
