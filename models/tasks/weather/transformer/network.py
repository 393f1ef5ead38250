"""FT-Transformer as a torch module (only training imports this).

Gorishniy et al. 2021, "Revisiting deep learning models for tabular data", section 3.3 and appendix E: a token per
feature and one that collects the answer ([CLS]); blocks with normalisation before each part, none before the first
attention; ReGLU feed-forward; the output is computed from [CLS] by normalisation, ReLU and a linear layer per head.
Added here: a separate token for each feature's missing value. The last block computes the [CLS] token only, as no other
is used.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer.ensemble import Weights
from models.tasks.weather.transformer.scaling import LARGEST, LIMIT, Scaling
from models.tasks.weather.transformer.settings import EPSILON, FLOOR, Sizes

Masks = Mapping[str, Tensor]


class Tokens(nn.Module):  # type: ignore[misc]
    """Tokeniser of rows: standardised value times a direction plus an offset, or the feature's missing token."""

    def __init__(self, scaling: Scaling, width: int) -> None:
        super().__init__()
        features = len(scaling)
        for name in ("direction", "offset", "missing"):
            self.register_parameter(name, nn.Parameter(_uniform(features, width, width)))
        self.answer = nn.Parameter(_uniform(1, width, width))
        for name in ("mean", "inverse", "sentinels"):
            self.register_buffer(name, torch.from_numpy(getattr(scaling, name).copy()), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        """Convert rows [B, F] to tokens [B, 1 + F, width]; [CLS] comes first."""
        missing = rows.isnan() | (rows[:, None] == self.sentinels).any(dim=1)
        known = torch.where(missing, self.mean, rows).clamp(-LARGEST, LARGEST)
        value = ((known - self.mean) * self.inverse).clamp(-LIMIT, LIMIT)[..., None]
        tokens = torch.where(missing[..., None], self.missing, self.offset) + value * self.direction
        return torch.cat([self.answer.expand(len(rows), 1, -1), tokens], dim=1)


class Block(nn.Module):  # type: ignore[misc]
    """Attention and feed-forward block, each added to its input tokens."""

    def __init__(self, sizes: Sizes, *, first: bool, last: bool) -> None:
        super().__init__()
        width = sizes.width
        self.sizes, self.last = sizes, last
        self.attention_norm = nn.Identity() if first else nn.LayerNorm(width, eps=EPSILON)
        self.project = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width, eps=EPSILON)
        self.widen = nn.Linear(width, 2 * sizes.hidden)
        self.narrow = nn.Linear(sizes.hidden, width)

    def forward(self, tokens: Tensor, masks: Masks, number: int) -> Tensor:
        """Apply the block to [B, T, width]; the last block returns [B, 1, width]."""
        sizes = self.sizes
        attended = self.join(self._attend(self.attention_norm(tokens)))
        if self.last:
            tokens = tokens[:, :1]
        tokens = tokens + self._drop(attended, sizes.residual_dropout, masks.get(f"attended.{number}"))
        linear, gate = _parts(self.widen, 2)
        normed = self.feed_norm(tokens)
        hidden = self._drop(linear(normed) * F.relu(gate(normed)), sizes.hidden_dropout, masks.get(f"hidden.{number}"))
        return tokens + self._drop(self.narrow(hidden), sizes.residual_dropout, masks.get(f"fed.{number}"))

    def _attend(self, tokens: Tensor) -> Tensor:
        rows = len(tokens)
        asking = tokens[:, :1] if self.last else tokens
        queries, keys, values = (
            part(x).view(rows, x.shape[1], self.sizes.heads, -1).transpose(1, 2)
            for part, x in zip(_parts(self.project, 3), (asking, tokens, tokens), strict=True)
        )
        dropout = self.sizes.attention_dropout if self.training else 0.0
        heads = F.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout)
        return heads.transpose(1, 2).flatten(2)

    def _drop(self, x: Tensor, probability: float, mask: Tensor | None) -> Tensor:
        if mask is not None:
            return x * mask / (1 - probability)
        return F.dropout(x, probability, self.training) if probability else x


class Network(nn.Module):  # type: ignore[misc]
    """Network of a member: rows in their units to temperature and class scores, if it has these heads.

    Args:
        classes: number of precipitation classes; 0: no such head.
    """

    def __init__(self, sizes: Sizes, scaling: Scaling, *, temperature: bool = True, classes: int = 0) -> None:
        super().__init__()
        self.tokens = Tokens(scaling, sizes.width)
        numbers = range(sizes.blocks)
        self.blocks = nn.ModuleList(Block(sizes, first=n == 0, last=n == sizes.blocks - 1) for n in numbers)
        self.norm = nn.LayerNorm(sizes.width, eps=EPSILON)
        widths = {TEMPERATURE.name: 2 if temperature else 0, PRECIPITATION.name: classes}
        self.heads = tuple(name for name, width in widths.items() if width)
        for name in self.heads:
            self.add_module(name, nn.Linear(sizes.width, widths[name]))

    def forward(self, rows: Tensor, masks: Masks | None = None) -> dict[str, Tensor]:
        """Return linear outputs [B, K] of each head for rows [B, F].

        Args:
            masks: frozen masks [T, width] of one sample (``frozen.masks``), which replace dropout.
        """
        tokens = self.tokens(rows)
        for number, block in enumerate(self.blocks):
            tokens = block(tokens, masks or {}, number)
        answer = F.relu(self.norm(tokens[:, 0]))
        return {name: getattr(self, name)(answer) for name in self.heads}


def gaussian(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation [...], standardised, of linear outputs [..., 2]."""
    return raw[..., 0], F.softplus(raw[..., 1]) + FLOOR


def export(network: nn.Module) -> Weights:
    """Return the weights as float32 arrays."""
    return {name: value.detach().cpu().float().numpy().copy() for name, value in network.named_parameters()}


def restore(network: nn.Module, weights: Mapping[str, object]) -> None:
    """Load the exported weights of one member."""
    network.load_state_dict({name: torch.as_tensor(value) for name, value in weights.items()})


def _parts(layer: nn.Linear, count: int) -> list[Callable[[Tensor], Tensor]]:
    """Return functions for equal parts of a layer's outputs: splitting the outputs later costs a third of a step."""
    pairs = zip(layer.weight.chunk(count), layer.bias.chunk(count), strict=True)
    return [partial(F.linear, weight=weight, bias=bias) for weight, bias in pairs]


def _uniform(rows: int, columns: int, width: int) -> Tensor:
    """Draw from ±1 / sqrt(width), like the paper's tokens."""
    return (torch.rand(rows, columns) * 2 - 1) / math.sqrt(width)
