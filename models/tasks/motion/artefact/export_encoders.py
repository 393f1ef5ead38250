"""Encoders of all members in one ONNX graph; batch norms are folded into the convolutions before them. Needs torch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from models.executors.graph import Graph, Value
from models.tasks.motion.networks import encoders
from models.tasks.motion.networks.encoders import DIRECTION, LANES, MOTION, PATCH, SCALES, STEP_SECONDS
from models.tasks.motion.networks.network import Network

Array = NDArray[np.float32]


def pooled(graph: Graph, maps: Value, networks: Sequence[Network]) -> tuple[list[Value], Value | None]:
    """Return each member's pooled features [N, width], and the drift of its decoder, m per step, [N, 2].

    Args:
        maps: maps in the released layout, [N, 17, y, x].
        networks: members of the same sizes.
    """
    if networks[0].sizes.encoder == "small":
        return _small(graph, maps, [network._encoder for network in networks], networks[0].sizes.grid)
    return [_released(graph, maps, network._encoder._model.features) for network in networks], None


def embedded(graph: Graph, features: Value, network: Network) -> Value:
    """Return the decoder's initial state, [rows, hidden], of pooled features [rows, width]."""
    encoder = network._encoder
    layer = encoder.embedding if network.sizes.encoder == "small" else encoder._model.classifier[1]
    return graph.op("Gemm", features, array(layer.weight).T, array(layer.bias))


def array(parameter: Any) -> Array:
    """Return the values of a parameter."""
    return np.asarray(parameter.detach().cpu().numpy(), np.float32)


def _small(
    graph: Graph, maps: Value, members: Sequence[encoders.SmallEncoder], grid: int
) -> tuple[list[Value], Value | None]:
    """Add all members as groups of the same convolutions."""
    count = len(members)
    lanes, direction = (_channels(graph, maps, channel, channel + 1) for channel in (LANES, DIRECTION))
    seen = graph.op("Concat", maps, graph.op("Cos", direction) * lanes, graph.op("Sin", direction), axis=1)
    first = []
    for member in members:
        scaled = array(member.patches.weight) * np.array(SCALES, np.float32)[:, None, None]
        first.append(_folded(np.concatenate([scaled, array(member.directions.weight)], axis=1), member.norm))
    x = graph.relu(_convolution(graph, seen, first, kernel=PATCH, stride=PATCH, padding=0))
    for number in range(len(members[0].levels)):
        levels = [member.levels[number] for member in members]
        folded = [_folded(array(convolution.weight), norm) for convolution, norm, _ in levels]
        x = graph.relu(_convolution(graph, x, folded, kernel=3, stride=2, padding=1, group=count))
    middle = [grid // 2 - 1, grid // 2 + 1]
    cells = graph.op(
        "Slice",
        maps,
        np.array([MOTION.start, middle[0], middle[0]]),
        np.array([MOTION.stop, middle[1], middle[1]]),
        np.array([1, 2, 3]),
    )
    motion = graph.op("ReduceMean", cells, np.array([2, 3]), keepdims=0)
    scaled_motion = motion * np.array(SCALES[MOTION], np.float32)
    flat = graph.op("Flatten", x, axis=1)
    width = members[0].width - (MOTION.stop - MOTION.start)
    parts = graph.split(flat, [width] * count, axis=1)
    features = [graph.op("Concat", part, scaled_motion, axis=1) for part in parts]
    return features, graph.op("Slice", motion, np.array([0]), np.array([2]), np.array([1])) * STEP_SECONDS


def _released(graph: Graph, maps: Value, features: nn.Sequential) -> Value:
    """Add a MobileNetV2.

    Kernels are transposed instead of maps: strides and paddings are the same in both directions.
    """
    x = maps
    for layer in features:
        parts = list(layer.conv) if hasattr(layer, "conv") else [layer]
        before, x = x, _inner(graph, x, parts)
        if getattr(layer, "residual", False):
            x = x + before
    return graph.op("ReduceMean", x, np.array([2, 3]), keepdims=0)


def _inner(graph: Graph, x: Value, parts: Sequence[nn.Module]) -> Value:
    """Add convolutions with their norms; those in a ``Sequential`` end in ReLU6."""
    for number, part in enumerate(parts):
        if isinstance(part, nn.Sequential):
            x = graph.op("Clip", _normed(graph, x, part[0], part[1]), 0.0, 6.0)
        elif isinstance(part, nn.Conv2d):
            x = _normed(graph, x, part, parts[number + 1])
    return x


def _normed(graph: Graph, x: Value, convolution: nn.Conv2d, norm: nn.Module) -> Value:
    kernel = array(convolution.weight).transpose(0, 1, 3, 2)
    return _convolution(
        graph,
        x,
        [_folded(kernel, norm)],
        kernel=convolution.kernel_size[0],
        stride=convolution.stride[0],
        padding=convolution.padding[0],
        group=convolution.groups,
    )


def _folded(kernel: Array, norm: Any) -> tuple[Array, Array]:
    """Return kernel [out, in, rows, columns] and bias [out] of a convolution with the following norm folded in."""
    weight, bias, mean, variance = (
        array(parameter).astype(np.float64)
        for parameter in (norm.weight, norm.bias, norm.running_mean, norm.running_var)
    )
    scale = weight / np.sqrt(variance + norm.eps)
    return (kernel * scale[:, None, None, None]).astype(np.float32), (bias - mean * scale).astype(np.float32)


def _convolution(
    graph: Graph,
    x: Value,
    weights: Sequence[tuple[Array, Array]],
    *,
    kernel: int,
    stride: int,
    padding: int,
    group: int = 1,
) -> Value:
    """Add convolutions with concatenated outputs."""
    kernels, biases = (np.concatenate(column) for column in zip(*weights, strict=True))
    return graph.op(
        "Conv", x, kernels, biases, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4, group=group
    )


def _channels(graph: Graph, maps: Value, start: int, stop: int) -> Value:
    return graph.op("Slice", maps, np.array([start]), np.array([stop]), np.array([1]))
