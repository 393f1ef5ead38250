"""MONAI's U-Net and UNETR in the sizes of the task, and their conversion for serving. Needs torch and monai.

A trained network returns two logits per voxel. Serving uses their difference, float32 [batch, 1, x, y, z]: the last
layer is linear, so that its two channels fold into one. Dropped channels of a Monte Carlo dropout member are frozen
masks, one set a sample: a mask of single voxels would leave the window's grid visible in the maps, since all windows
share the mask.
"""

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from monai.networks.layers.simplelayers import SkipConnection
from monai.networks.nets import UNETR, UNet
from torch import Tensor, nn

from models.tasks.lesion.networks.settings import PATCH, Sizes, UNETRSizes, UNetSizes

CLASSES = 2
PRIOR = 0.02
HALF_FROM = 256
"""Least size of tensors that are stored in half precision; smaller ones are not worth it."""
_POSITIONS = "vit.patch_embedding.position_embeddings"

State = Mapping[str, Tensor]


def network(sizes: Sizes, edge: int) -> nn.Module:
    """Return a new network: float32 [batch, inputs, edge, edge, edge] to logits [batch, 2, edge, edge, edge].

    The U-Net takes any edge that ``sizes.divisor`` divides, and the names of its weights are those of the released
    checkpoints. Its dropout takes whole channels. The initial probability of lesion is ``PRIOR``, so that training does
    not begin from one half (Lin et al. 2017, section 3.3).
    """
    model = _unet(sizes) if isinstance(sizes, UNetSizes) else _unetr(sizes, edge)
    bias = _last(model).bias
    assert bias is not None
    bias.data = torch.tensor([-0.5, 0.5]) * math.log(PRIOR / (1 - PRIOR))
    return model


def _unet(sizes: UNetSizes) -> nn.Module:
    strides = (2,) * (len(sizes.channels) - 1)
    unet = UNet(3, sizes.inputs, CLASSES, sizes.channels, strides, num_res_units=0, dropout=sizes.dropout)
    for module in list(unet.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, nn.Dropout3d(child.p))
    return unet


def _unetr(sizes: UNETRSizes, edge: int) -> nn.Module:
    return UNETR(sizes.inputs, CLASSES, edge, sizes.feature, sizes.hidden, sizes.mlp, sizes.heads)


def enlarged(state: State, edge: int) -> dict[str, Tensor]:
    """Return weights for windows of another edge: position embeddings of a UNETR are interpolated, all else is
    unchanged.

    This is usual for vision transformers (Dosovitskiy et al. 2021, section 3.2); linear in three dimensions.
    """
    weights = dict(state)
    if _POSITIONS in weights:
        old = weights[_POSITIONS]
        count = round(old.shape[1] ** (1 / 3))
        grid = old.transpose(1, 2).reshape(1, -1, count, count, count)
        new = nn.functional.interpolate(grid, size=(edge // PATCH,) * 3, mode="trilinear", align_corners=False)
        weights[_POSITIONS] = new.flatten(2).transpose(1, 2).contiguous()
    return weights


def folded(trained: nn.Module) -> nn.Module:
    """Return a copy with one output, logit 1 - logit 0, and weights rounded to the stored precision."""
    copied = copy.deepcopy(trained).eval()
    last = _last(copied)
    axis = 1 if isinstance(last, nn.ConvTranspose3d) else 0
    first, second = last.weight.data.double().unbind(axis)
    last.weight = nn.Parameter((second - first).unsqueeze(axis).float())
    assert last.bias is not None
    last.bias = nn.Parameter((last.bias.data[1:] - last.bias.data[:1]).float())
    last.out_channels = 1
    with torch.no_grad():
        for parameter in copied.parameters():
            if parameter.numel() >= HALF_FROM:
                parameter.copy_(parameter.half())
    return copied


def channel_masks(sizes: UNetSizes, *, sample_seed: int, seed: int, samples: int) -> list[np.ndarray[Any, Any]]:
    """Return the frozen masks of a member's layers in execution order, each float32 [S, C]: 0 or 1 / (1 - p).

    A sample depends on (sample seed, member's seed, sample number) only. A layer keeps at least one channel.
    """
    widths = [*sizes.channels, *sizes.channels[-3::-1]]
    drawn = [np.empty((samples, width), np.float32) for width in widths]
    for sample in range(samples):
        generator = np.random.default_rng([sample_seed, seed, sample])
        for mask in drawn:
            kept = generator.random(mask.shape[1])
            mask[sample] = (kept >= sizes.dropout) | (kept == kept.max())
    return [mask / np.float32(1 - sizes.dropout) for mask in drawn]


class Plain(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Exported form of a member: ``window`` to ``difference``."""

    def __init__(self, one_output: nn.Module) -> None:
        super().__init__()
        self.network = one_output

    def forward(self, window: Tensor) -> Tensor:
        return self.network(window)


class Sampled(nn.Module):  # type: ignore[misc]
    """A U-Net with frozen channel masks: ``window`` and ``sample`` (int64 scalar) to ``difference``."""

    def __init__(self, one_output: nn.Module, masks: list[np.ndarray[Any, Any]]) -> None:
        super().__init__()
        self.network = one_output
        for number, mask in enumerate(masks):
            self.register_buffer(f"mask_{number}", torch.from_numpy(mask))
        self._layers = len(masks)

    def forward(self, window: Tensor, sample: Tensor) -> Tensor:
        chosen = iter([getattr(self, f"mask_{number}")[sample] for number in range(self._layers)])
        return _walk(self.network.model, window, chosen)


def _walk(module: nn.Module, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
    """Run a U-Net's layers in order; a mask is applied as the scale of the instance norm before it, at no cost."""
    if isinstance(module, SkipConnection):
        return torch.cat([x, _walk(module.submodule, x, masks)], dim=1)
    if isinstance(module, nn.Sequential):
        for child in module.children():
            x = _walk(child, x, masks)
        return x
    if isinstance(module, nn.InstanceNorm3d):
        mask = next(masks)
        return nn.functional.instance_norm(x, weight=mask, bias=torch.zeros_like(mask), eps=module.eps)
    return x if isinstance(module, nn.Dropout3d) else module(x)


def _last(module: nn.Module) -> nn.Conv3d | nn.ConvTranspose3d:
    convolutions = [layer for layer in module.modules() if isinstance(layer, nn.Conv3d | nn.ConvTranspose3d)]
    (last,) = [layer for layer in convolutions if layer.out_channels == CLASSES and layer is convolutions[-1]]
    return last
