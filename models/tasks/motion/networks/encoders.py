"""Encoders: feature maps in the released layout to pooled features, and these to the decoder's initial state."""

import torch
from torch import Tensor, nn

from models.tasks.motion.inference.grid import CHANNELS
from models.tasks.motion.networks.mobilenet import WIDTH, MobileNetV2
from models.tasks.motion.networks.settings import SMALL_STRIDE, Sizes

STEP_SECONDS = 0.2
"""Time between two positions of a plan, s."""
VELOCITY = slice(1, 3)
"""Channels of the vehicles' velocity, m/s."""
MOTION = slice(1, 5)
"""Channels of the vehicles' velocity (m/s) and acceleration (m/s²)."""
DIRECTION = 12
"""Channel of the direction of lanes, rad in the agent's frame."""
LANES = 13
"""Channel of cells with lanes, 0 or 1."""
SCALES = (1, 0.1, 0.1, 0.5, 0.5, 0, 1, 0.5, 0.5, 1, 0.5, 0.5, 0, 1, 1, 1, 1)
"""Factors of channels in the small encoder. The yaw of vehicles refers to the scene's axes and is not used; the
direction of lanes enters as cosine and sine.
"""
PATCH = 4
"""Edge of the patches of the small encoder's first layer, cells."""


class ReleasedEncoder(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Encoder of the released baselines: MobileNetV2 over maps whose rows are x."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self._model = MobileNetV2(sizes.hidden)
        self.width = WIDTH

    def pooled(self, maps: Tensor) -> tuple[Tensor, Tensor | None]:
        return self._model.pooled(maps.transpose(2, 3)), None

    def embedded(self, pooled: Tensor) -> Tensor:
        return self._model.classifier(pooled)


class SmallEncoder(nn.Module):  # type: ignore[misc]
    """Encoder of four convolutions that preserve positions, with the agent's own motion as further features.

    A mean over all cells would lose both: the agent is a dozen cells in the middle.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        first, *rest = sizes.channels
        self.patches = nn.Conv2d(CHANNELS, first, PATCH, PATCH, bias=False)
        self.directions = nn.Conv2d(2, first, PATCH, PATCH, bias=False)
        self.norm = nn.BatchNorm2d(first)
        self.levels = nn.ModuleList()
        for before, after in zip(sizes.channels, rest, strict=False):
            self.levels.append(
                nn.Sequential(
                    nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)
                )
            )
        motion = MOTION.stop - MOTION.start
        self.width = rest[-1] * (sizes.grid // SMALL_STRIDE) ** 2 + motion
        self.embedding = nn.Linear(self.width, sizes.hidden)
        self.register_buffer("scales", torch.tensor(SCALES)[:, None, None], persistent=False)

    def pooled(self, maps: Tensor) -> tuple[Tensor, Tensor | None]:
        maps = maps.contiguous(memory_format=torch.channels_last)  # saves a third of the time of a training step
        lanes, direction = maps[:, LANES : LANES + 1], maps[:, DIRECTION : DIRECTION + 1]
        directions = torch.cat([torch.cos(direction) * lanes, torch.sin(direction)], dim=1)
        patches = nn.functional.conv2d(maps, self.patches.weight * self.scales, stride=PATCH)
        x = torch.relu(self.norm(patches + self.directions(directions)))
        for level in self.levels:
            x = level(x)
        motion = own_motion(maps)
        scaled = motion * self.scales[MOTION, 0, 0]
        return torch.cat([x.flatten(1), scaled], dim=1), motion[:, : VELOCITY.stop - VELOCITY.start] * STEP_SECONDS

    def embedded(self, pooled: Tensor) -> Tensor:
        return self.embedding(pooled)


def own_motion(maps: Tensor) -> Tensor:
    """Return velocity (m/s) and acceleration (m/s²) of the agent, [N, 4]: the mean of the four middle cells."""
    middle = maps.shape[2] // 2
    cells = slice(middle - 1, middle + 1)
    return maps[:, MOTION, cells, cells].mean(dim=(2, 3))


def encoder(sizes: Sizes) -> ReleasedEncoder | SmallEncoder:
    """Return a new encoder."""
    return SmallEncoder(sizes) if sizes.encoder == "small" else ReleasedEncoder(sizes)
