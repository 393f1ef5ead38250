"""Member network: encoder and decoder, with the weight names of the released checkpoints."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.tasks.motion.networks.decoders import Decoder, Start
from models.tasks.motion.networks.encoders import encoder
from models.tasks.motion.networks.settings import Sizes


@dataclass(frozen=True)
class Mask:
    """Dropout mask: zeros, and ones over the probability of being kept."""

    pooled: Tensor
    """Mask of the encoder's pooled features, [N, width] or [width]."""
    hidden: Tensor
    """Mask of the decoder's hidden state before mean and scale, [N, hidden] or [hidden]."""


@dataclass(frozen=True)
class Seen:
    """Output of the convolutions for feature maps, before dropout."""

    pooled: Tensor
    """Pooled features, [N, width]."""
    drift: Tensor | None
    """The agent's displacement per step at its present velocity, m, [N, 2]; None: not used by the decoder."""


class Network(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Member with either decoder; maps are in the released layout [N, 17, y, x], plans [N, T, 2] in metres."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self._encoder = encoder(sizes)
        if sizes.decoder == "bc":
            self._decoder = nn.GRUCell(sizes.inputs, sizes.hidden)
            self._output = nn.Linear(sizes.hidden, 4)
        else:
            self._flow = _Flow(sizes)

    @property
    def width(self) -> int:
        """Width of the encoder's pooled features."""
        return self._encoder.width

    @property
    def decoder(self) -> Decoder:
        """Decoder, which gives density and samples of plans."""
        if self.sizes.decoder == "bc":
            return Decoder(self._decoder, self._output, self.sizes.unit)
        return Decoder(self._flow._decoder, self._flow._locscale, self.sizes.unit)

    def see(self, maps: Tensor) -> Seen:
        """Return the part of the encoding that does not depend on dropout."""
        return Seen(*self._encoder.pooled(maps))

    def start(self, seen: Seen, mask: Mask | None = None) -> Start:
        """Return the decoder's initial values, [N, ..]."""
        pooled = seen.pooled if mask is None else seen.pooled * mask.pooled
        hidden = None if mask is None else mask.hidden.expand(len(pooled), -1)
        return Start(self._encoder.embedded(pooled), seen.drift, hidden)

    def likelihood(self, maps: Tensor, y: Tensor, noise: Tensor | None = None) -> Tensor:
        """Return the log-density of plans given maps, nats, [N], the training objective, with dropout in training mode.

        Args:
            y: positions [N, T, 2], m in the agent's frame.
            noise: standard normal [N, T, 2]: steps are conditioned on samples; None: on y itself (teacher forcing).
        """
        start = self.start(self.see(maps), self._drawn(len(maps)))
        if noise is None:
            return self.decoder.log_prob(start, y)
        return self.decoder.log_prob_on_samples(start, y, noise)

    def _drawn(self, count: int) -> Mask | None:
        """Return a random mask for each of N maps; a unit is dropped in all steps of a plan, as with frozen masks."""
        if not (self.training and self.sizes.dropout):
            return None
        like = next(self.parameters())
        drop = nn.functional.dropout
        pooled, hidden = (torch.ones(count, width).to(like) for width in (self.width, self.sizes.hidden))
        return Mask(drop(pooled, self.sizes.dropout), drop(hidden, self.sizes.dropout))


class _Flow(nn.Module):  # type: ignore[misc]
    """Module with the weight names of the deep imitative model's decoder."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self._decoder = nn.GRUCell(sizes.inputs, sizes.hidden)
        self._locscale = _LocScale(sizes)


class _LocScale(nn.Module):  # type: ignore[misc]
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self._model = nn.Sequential(nn.Linear(sizes.hidden, sizes.locscale), nn.ReLU(), nn.Linear(sizes.locscale, 4))

    def forward(self, hidden: Tensor) -> Tensor:
        return self._model(hidden)
