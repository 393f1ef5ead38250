"""Export of a trained member to ONNX: ``window`` float32 [batch, C, x, y, z] to ``difference`` [batch, 1, x, y, z].

The file contains no details of the machine, because an artefact's version is the hash of its content. Large weights are
stored in half precision and cast when a session loads them: ``networks.folded`` has rounded them before, so that torch
and ONNX Runtime compute the same.
"""

import io
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import nn

from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.recipe import Channel
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.architectures import HALF_FROM, Plain, Sampled
from models.tasks.lesion.networks.settings import SAMPLES, Sizes, UNetSizes

OPSET = 20
LARGEST_BATCH = 64


def exported(
    family: str,
    trained: Sequence[nn.Module],
    sizes: Sizes,
    *,
    seeds: tuple[int, ...],
    channels: tuple[Channel, ...],
    window: tuple[int, int, int],
    training: Mapping[str, float | int | str],
    sample_seed: int = 0,
    samples: int = SAMPLES,
) -> Ensemble:
    """Export trained networks as an ensemble; those of ``unet_mcdp`` get frozen masks.

    Args:
        samples: frozen masks of each member, if the family has masks.
    """
    sampled = family == "unet_mcdp"
    graphs = []
    for seed, network in zip(seeds, trained, strict=True):
        member = architectures.folded(network)
        served: Plain | Sampled = Plain(member)
        if sampled:
            assert isinstance(sizes, UNetSizes)
            masks = architectures.channel_masks(sizes, sample_seed=sample_seed, seed=seed, samples=samples)
            served = Sampled(member, masks)
        graphs.append(export(served, sizes.inputs, window))
    return Ensemble(
        family=family,
        graphs=tuple(graphs),
        channels=channels,
        window=window,
        seeds=seeds,
        training=training,
        samples=samples if sampled else 1,
        sample_seed=sample_seed if sampled else None,
    )


def export(member: Plain | Sampled, inputs: int, window: tuple[int, int, int]) -> bytes:
    """Return the member as an ONNX graph; the same weights give the same bytes.

    Args:
        inputs: modalities.
        window: voxels, [x, y, z].
    """
    arguments = [torch.zeros(2, inputs, *window)]
    batch = {0: torch.export.Dim("batch", min=1, max=LARGEST_BATCH)}
    shapes: dict[str, Any] = {"window": batch}
    if isinstance(member, Sampled):
        arguments.append(torch.zeros((), dtype=torch.int64))
        shapes["sample"] = None
    with _quiet():
        program = torch.onnx.export(
            member.eval(),
            tuple(arguments),
            dynamo=True,
            opset_version=OPSET,
            dynamic_shapes=shapes,
            input_names=list(shapes),
            output_names=["difference"],
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _bare(model)
    _leaky(model.graph)
    _halved(model.graph)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _bare(model: Any) -> None:
    """Remove metadata of the export: stack traces, file names, versions of tools."""
    model.producer_name, model.producer_version, model.doc_string = "demur", "", ""
    graph = model.graph
    graph.name, graph.doc_string = "lesion", ""
    del graph.value_info[:]
    for part in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
    for number, node in enumerate(graph.node):
        node.name, node.doc_string = f"n{number}", ""


def _leaky(graph: Any) -> None:
    """Replace PRelu of one slope by LeakyRelu.

    The result is the same, and the runtime need not match shapes voxel by voxel.
    """
    constants = {tensor.name: tensor for tensor in graph.initializer}
    used = set()
    for node in graph.node:
        slope = constants.get(node.input[1]) if node.op_type == "PRelu" else None
        if slope is not None and math.prod(slope.dims) == 1:
            node.op_type = "LeakyRelu"
            node.attribute.append(helper.make_attribute("alpha", float(numpy_helper.to_array(slope).item())))
            del node.input[1]
        used.update(node.input)
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _halved(graph: Any) -> None:
    """Store large float32 constants in half precision, each with a Cast before its first use."""
    casts = []
    for constant in graph.initializer:
        if constant.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(constant)
        half = values.astype(np.float16)
        if values.size < HALF_FROM or not np.array_equal(half, values):
            continue
        name = constant.name
        constant.CopyFrom(numpy_helper.from_array(half, f"{name}.half"))
        casts.append(helper.make_node("Cast", [f"{name}.half"], [name], name=f"cast_{name}", to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's messages about packages that are not needed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
