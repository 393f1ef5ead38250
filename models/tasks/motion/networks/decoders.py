"""Plans one step after the other: a recurrent state makes mean and scale of the next displacement.

y_t = y_{t-1} + drift + s_t, s_t = mean(h_t) + scale(h_t) x_t with x_t standard normal (Shifts 1.0, E.4, formula 20).
Behavioural cloning and the autoregressive flow of the deep imitative model are both of this form. As released there is
no drift and h_t = GRU(y_{t-1}, h_{t-1}); small decoders start from the agent's present velocity, and see s_{t-1} too:
the difference of two positions is what a recurrent state of 64 numbers cannot keep to a centimetre.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SCALE_FLOOR = 1e-7
"""Least standard deviation of a step, m, as released."""
_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Start:
    """What a decoder starts from."""

    state: Tensor
    """First recurrent state, [N, hidden]."""
    drift: Tensor | None = None
    """Displacement a step that the decoder corrects, m, [N, 2]; None: zero."""
    mask: Tensor | None = None
    """On the hidden state before mean and scale, [N, hidden]; None: ones."""


@dataclass(frozen=True)
class Decoder:
    """Views of a network's layers."""

    cell: nn.GRUCell
    """Of positions over ``unit`` [N, 2], or of these and the steps before less the drift, m, [N, 4]."""
    head: Callable[[Tensor], Tensor]
    """Hidden state to mean of the displacement and what softplus makes its scale of, [.., 4]."""
    unit: float
    """m."""

    def log_prob(self, start: Start, y: Tensor) -> Tensor:
        """Log-density of plans given their own past (teacher forcing), nats, [N].

        Args:
            y: positions [N, T, 2], m in the agent's frame.
        """
        steps, cell = _steps(start, y), self.cell
        weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
        given = self._seen(_before(y), _before(steps))
        hidden, _ = torch.gru(given, start.state[None], weights, True, 1, 0.0, False, False, True)
        mean, scale = self._said(start, hidden)
        return _density((steps - mean) / scale, scale).sum(dim=1)

    def sample(self, start: Start, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Plans [N, T, 2], m, and their log-densities [N], nats.

        Args:
            noise: standard normal [N, T, 2].
        """
        y, _, scale = self._walk(start, noise)
        return y, _density(noise, scale).sum(dim=1)

    def log_prob_on_samples(self, start: Start, y: Tensor, noise: Tensor) -> Tensor:
        """Log-density of each displacement of y given a plan sampled here instead of y's own past, nats, [N].

        What the released behavioural cloning is trained on, and its score in the mode ``sampling``: random. Gradients
        pass through the samples.

        Args:
            y: positions [N, T, 2], m in the agent's frame.
            noise: standard normal [N, T, 2].
        """
        _, mean, scale = self._walk(start, noise)
        return _density((_steps(start, y) - mean) / scale, scale).sum(dim=1)

    def _walk(self, start: Start, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sampled positions, and means and scales of the steps that lead to them, [N, T, 2] each."""
        hidden = start.state
        y = step = torch.zeros_like(noise[:, 0])
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        for x in noise.unbind(1):
            hidden = self.cell(self._seen(y, step), hidden)
            mean, scale = (one[:, 0] for one in self._said(start, hidden[:, None]))
            step = mean + scale * x
            y = y + (step if start.drift is None else start.drift + step)
            found.append((y, mean, scale))
        positions, means, scales = (torch.stack(column, dim=1) for column in zip(*found, strict=True))
        return positions, means, scales

    def _seen(self, y: Tensor, step: Tensor) -> Tensor:
        """What the cell is given, of the position and the step before, [.., 2] each."""
        return y / self.unit if self.cell.input_size == 2 else torch.cat([y / self.unit, step], dim=-1)

    def _said(self, start: Start, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of steps less the drift, m, of hidden states [N, T, hidden]."""
        if start.mask is not None:
            hidden = hidden * start.mask[:, None]
        mean, raw = self.head(hidden).split(2, dim=-1)
        return mean, nn.functional.softplus(raw) + SCALE_FLOOR


def _steps(start: Start, y: Tensor) -> Tensor:
    """Displacements less the drift, [N, T, 2]."""
    moved = y - _before(y)
    return moved if start.drift is None else moved - start.drift[:, None]


def _before(y: Tensor) -> Tensor:
    """What comes before each of [N, T, 2]: zero before the first."""
    return torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)


def _density(x: Tensor, scale: Tensor) -> Tensor:
    """Log-density of steps, [N, T], from standardised displacements and their scales [N, T, 2]."""
    return (-0.5 * x**2 - scale.log()).sum(dim=2) - _LOG_2PI
