"""Four families of networks as torch modules with an explicit members axis (only training imports this).

Weights are [M, in, out], activations [M, B, width]; members share only the optimiser step, so M networks train
independently. Inputs and outputs are scaled (``ensemble.Scaling``).

Architecture and scaling: Shifts 2.0, D.3 and the released vessel baseline: 10-50-20-2, softplus, standard deviation =
softplus + 1e-6, dropout 0.005 after both hidden layers.
"""

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.tasks.vessel.artefact.ensemble import Family, Scaling, Weights
from models.tasks.vessel.networks import physics
from models.tasks.vessel.networks.frozen import DROPOUT

WIDTHS = (10, 50, 20, 2)
FLOOR = 1e-6
"""Constant added to every standard deviation (scaled units)."""
PRIOR_STD = 1.0
"""Standard deviation of the Gaussian prior of the variational family."""
INITIAL_RHO = -5.0
"""Initial rho: softplus(rho) is a posterior's initial standard deviation, 0.0067."""


class Dense(nn.Module):  # type: ignore[misc]
    """Network of family ``dnn``, and with dropout of family ``mc_dropout``."""

    def __init__(self, seeds: tuple[int, ...], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        for layer, (inside, outside) in enumerate(pairwise(WIDTHS), start=1):
            self.register_parameter(f"w{layer}", nn.Parameter(_glorot(seeds, layer, inside, outside)))
            self.register_parameter(f"b{layer}", nn.Parameter(torch.zeros(len(seeds), 1, outside)))

    def raw(self, rows: Tensor) -> Tensor:
        """Return the two linear outputs [M, B, 2] of scaled rows [M, B, F]."""
        hidden = self._hide(torch.baddbmm(self.b1, rows, self.w1))
        hidden = self._hide(torch.baddbmm(self.b2, hidden, self.w2))
        return torch.baddbmm(self.b3, hidden, self.w3)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation, scaled, [M, B] each, of scaled rows [M, B, F]."""
        return gaussian(self.raw(rows))

    def penalty(self, rows_total: int) -> Tensor | float:
        """Return the term added to each member's mean loss, [M] or zero."""
        return 0.0

    def _hide(self, x: Tensor) -> Tensor:
        x = F.softplus(x)
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


class Variational(Dense):
    """Network of family ``variational``: Gaussian posteriors over kernels, Flipout in training (Wen et al. 2018).

    Biases are point estimates. Flipout's signs are shared by the members; perturbations are not.
    """

    def __init__(self, seeds: tuple[int, ...]) -> None:
        super().__init__(seeds)
        for name in ("w1", "w2", "w3"):
            start = torch.full_like(getattr(self, name), INITIAL_RHO)
            self.register_parameter(f"{name}_rho", nn.Parameter(start))

    def raw(self, rows: Tensor) -> Tensor:
        hidden = F.softplus(self._flipout(rows, "w1", self.b1))
        hidden = F.softplus(self._flipout(hidden, "w2", self.b2))
        return self._flipout(hidden, "w3", self.b3)

    def penalty(self, rows_total: int) -> Tensor:
        """Return KL(posterior || prior) / number of training rows, [M]: the evidence bound per row."""
        total = torch.zeros(len(self.w1))
        for name in ("w1", "w2", "w3"):
            mean, std = getattr(self, name), F.softplus(getattr(self, f"{name}_rho"))
            kl = torch.log(PRIOR_STD / std) + (std**2 + mean**2) / (2 * PRIOR_STD**2) - 0.5
            total = total + kl.sum(dim=(1, 2))
        return total / rows_total

    def _flipout(self, x: Tensor, name: str, bias: Tensor) -> Tensor:
        mean = getattr(self, name)
        y = torch.baddbmm(bias, x, mean)
        if not self.training:
            return y
        shift = F.softplus(getattr(self, f"{name}_rho")) * torch.randn_like(mean)
        sign_in, sign_out = _signs(x.shape[1], x.shape[2]), _signs(y.shape[1], y.shape[2])
        return y + torch.bmm(x * sign_in, shift) * sign_out


class Symbolic(Dense):
    """Network of family ``symbolic``: physics prior with a bounded network correction (see ``physics``)."""

    def __init__(self, seeds: tuple[int, ...], scaling: Scaling, names: tuple[str, ...]) -> None:
        super().__init__(seeds)
        self.w3.data.mul_(0.1)
        self._columns = physics.positions(names)
        self._scaling = scaling
        self.register_buffer("mean", torch.tensor(scaling.mean, dtype=torch.float32))
        self.register_buffer("std", torch.tensor(scaling.std, dtype=torch.float32))
        for name, bound in physics.COEFFICIENTS.items():
            share = min(max((bound.start - bound.lower) / (bound.upper - bound.lower), 0.01), 0.99)
            start = torch.full((len(seeds), 1, 1), math.log(share / (1 - share)))
            noise = torch.stack([torch.randn(1, 1, generator=_generator(seed, 90)) for seed in seeds])
            self.register_parameter(f"c_{name}", nn.Parameter(start + 0.1 * noise))
        self._correction = torch.zeros(len(seeds))

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        correction = self.raw(rows)
        self._correction = correction[..., 0].square().mean(dim=1)
        free = {name: getattr(self, f"c_{name}") for name in physics.COEFFICIENTS}
        coefficients = physics.bounded(free, TorchOperators())
        units = rows * self.std + self.mean
        mean, std = physics.predict(units, correction, coefficients, self._columns, TorchOperators())
        scale = self._scaling.power_std
        return ((mean - self._scaling.power_mean) / scale)[..., 0], (std / scale)[..., 0]

    def penalty(self, rows_total: int) -> Tensor:
        """Return a small penalty on the correction, so that physics explains as much as possible, [M]."""
        return 0.01 * self._correction


class TorchOperators:
    """Arithmetic of the prior on tensors (``physics.Operators``)."""

    softplus = staticmethod(F.softplus)
    relu = staticmethod(torch.relu)
    sigmoid = staticmethod(torch.sigmoid)
    tanh = staticmethod(torch.tanh)
    exp = staticmethod(torch.exp)
    sqrt = staticmethod(torch.sqrt)
    power = staticmethod(torch.pow)

    def column(self, x: Tensor, index: int) -> Tensor:
        return x[..., index : index + 1]


def build(family: Family, seeds: tuple[int, ...], scaling: Scaling, names: tuple[str, ...]) -> Dense:
    """Return an untrained stack of ``len(seeds)`` networks."""
    if family == "symbolic":
        return Symbolic(seeds, scaling, names)
    if family == "variational":
        return Variational(seeds)
    return Dense(seeds, dropout=DROPOUT if family == "mc_dropout" else 0.0)


def gaussian(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation [...] of linear outputs [..., 2]."""
    return raw[..., 0], F.softplus(raw[..., 1]) + FLOOR


def export(network: nn.Module) -> Weights:
    """Return the weights as float32 arrays [M, ...]."""
    return {name: value.detach().numpy().copy() for name, value in network.named_parameters()}


def restore(network: nn.Module, weights: Weights) -> None:
    """Load exported weights."""
    state: dict[str, Any] = {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
    network.load_state_dict(state, strict=False)


def _glorot(seeds: tuple[int, ...], layer: int, inside: int, outside: int) -> Tensor:
    limit = math.sqrt(6 / (inside + outside))
    drawn = [torch.rand(inside, outside, generator=_generator(seed, layer)) for seed in seeds]
    return (torch.stack(drawn) * 2 - 1) * limit


def _generator(seed: int, stream: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed * 100 + stream)


def _signs(rows: int, width: int) -> Tensor:
    return torch.randint(0, 2, (rows, width), dtype=torch.int8).float() * 2 - 1
