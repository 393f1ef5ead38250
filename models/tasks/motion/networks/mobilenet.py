"""MobileNetV2 (Sandler et al. 2018, table 2) for 17 channels, with the names of torchvision's state dictionary."""

from torch import Tensor, nn

from models.tasks.motion.inference.grid import CHANNELS

STEM, WIDTH = 32, 1280
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, repetitions, and stride of the first repetition, for each stage."""


class MobileNetV2(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Network from maps [N, 17, rows, columns] to features of width ``WIDTH``, and from these to an embedding."""

    def __init__(self, embedding: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [_convolution(CHANNELS, STEM, 3, stride=2)]
        before = STEM
        for expansion, channels, count, stride in BLOCKS:
            for number in range(count):
                layers.append(_Inverted(before, channels, expansion, stride if number == 0 else 1))
                before = channels
        layers.append(_convolution(before, WIDTH, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Identity(), nn.Linear(WIDTH, embedding)
        )  # dropout is applied as masks, see Network
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def pooled(self, maps: Tensor) -> Tensor:
        """Return the mean over the cells of the last features, [N, ``WIDTH``]."""
        return self.features(maps).mean(dim=(2, 3))


class _Inverted(nn.Module):  # type: ignore[misc]
    """Inverted residual block: expand, filter each channel, project."""

    def __init__(self, before: int, after: int, expansion: int, stride: int) -> None:
        super().__init__()
        self.residual = stride == 1 and before == after
        inner = before * expansion
        self.conv = nn.Sequential(
            *([_convolution(before, inner, 1)] if expansion > 1 else []),
            _convolution(inner, inner, 3, stride=stride, groups=inner),
            nn.Conv2d(inner, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.residual else self.conv(x)


def _convolution(before: int, after: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU6(inplace=True),
    )
