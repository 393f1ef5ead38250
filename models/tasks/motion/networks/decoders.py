"""Decoders of plans, step by step: mean and scale of the next displacement from a recurrent state.

y_t = y_{t-1} + drift + s_t, s_t = mean(h_t) + scale(h_t) x_t with x_t standard normal (Shifts 1.0, E.4, formula 20).
Behavioural cloning and the autoregressive flow of the deep imitative model are both of this form. As released there is
no drift and h_t = GRU(y_{t-1}, h_{t-1}); small decoders start from the agent's present velocity, and s_{t-1} is an
input, too: a recurrent state of 64 numbers cannot represent the difference of two positions to a centimetre.
"""

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
    """Initial values of a decoder."""

    state: Tensor
    """Initial recurrent state, [N, hidden]."""
    drift: Tensor | None = None
    """Displacement per step that the decoder corrects, m, [N, 2]; None: zero."""
    mask: Tensor | None = None
    """Mask of the hidden state before mean and scale, [N, hidden]; None: ones."""


@dataclass(frozen=True)
class Decoder:
    """Decoder as views of a network's layers."""

    cell: nn.GRUCell
    """Recurrent cell; inputs are positions over ``unit`` [N, 2], or these and the previous steps less the drift, m, [N,
    4].
    """
    head: Callable[[Tensor], Tensor]
    """Map from hidden state to mean of the displacement and raw scale (before softplus), [.., 4]."""
    unit: float
    """Unit of positions in the cell's input, m."""

    def log_prob(self, start: Start, y: Tensor) -> Tensor:
        """Return the log-density of plans given their own past (teacher forcing), nats, [N].

        Args:
            y: positions [N, T, 2], m in the agent's frame.
        """
        steps, cell = _steps(start, y), self.cell
        weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
        inputs = self._seen(_before(y), _before(steps))
        hidden, _ = torch.gru(inputs, start.state[None], weights, True, 1, 0.0, False, False, True)
        mean, scale = self._next_step(start, hidden)
        return _density((steps - mean) / scale, scale).sum(dim=1)

    def sample(self, start: Start, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return sampled plans [N, T, 2], m, and their log-densities [N], nats.

        Args:
            noise: standard normal [N, T, 2].
        """
        y, _, scale = self._walk(start, noise)
        return y, _density(noise, scale).sum(dim=1)

    def log_prob_on_samples(self, start: Start, y: Tensor, noise: Tensor) -> Tensor:
        """Return the log-density of the displacements of y given a plan sampled here instead of y's own past, nats,
        [N].

        The released behavioural cloning is trained on it, and its mode ``sampling`` scores by it; it is random.
        Gradients pass through the samples.

        Args:
            y: positions [N, T, 2], m in the agent's frame.
            noise: standard normal [N, T, 2].
        """
        _, mean, scale = self._walk(start, noise)
        return _density((_steps(start, y) - mean) / scale, scale).sum(dim=1)

    def _walk(self, start: Start, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return sampled positions, and means and scales of the steps to them, [N, T, 2] each."""
        hidden = start.state
        y = step = torch.zeros_like(noise[:, 0])
        walked: list[tuple[Tensor, Tensor, Tensor]] = []
        for x in noise.unbind(1):
            hidden = self.cell(self._seen(y, step), hidden)
            mean, scale = (statistic[:, 0] for statistic in self._next_step(start, hidden[:, None]))
            step = mean + scale * x
            y = y + (step if start.drift is None else start.drift + step)
            walked.append((y, mean, scale))
        positions, means, scales = (torch.stack(column, dim=1) for column in zip(*walked, strict=True))
        return positions, means, scales

    def _seen(self, y: Tensor, step: Tensor) -> Tensor:
        """Return the cell's input from position and previous step, [.., 2] each."""
        return y / self.unit if self.cell.input_size == 2 else torch.cat([y / self.unit, step], dim=-1)

    def _next_step(self, start: Start, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and scale of steps less the drift, m, for hidden states [N, T, hidden]."""
        if start.mask is not None:
            hidden = hidden * start.mask[:, None]
        mean, raw = self.head(hidden).split(2, dim=-1)
        return mean, nn.functional.softplus(raw) + SCALE_FLOOR


def _steps(start: Start, y: Tensor) -> Tensor:
    """Return displacements less the drift, [N, T, 2]."""
    moved = y - _before(y)
    return moved if start.drift is None else moved - start.drift[:, None]


def _before(y: Tensor) -> Tensor:
    """Return the predecessor of each of [N, T, 2]: zero before the first."""
    return torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)


def _density(x: Tensor, scale: Tensor) -> Tensor:
    """Return the log-density of steps, [N, T], from standardised displacements and their scales [N, T, 2]."""
    return (-0.5 * x**2 - scale.log()).sum(dim=2) - _LOG_2PI
