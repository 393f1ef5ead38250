"""Encoder graph: source tokens to the keys and values that every decoder layer of every member attends to."""

from collections.abc import Sequence

import numpy as np

from models.executors.graph import Graph, Value
from models.tasks.translation.artefact.export.blocks import Blocks, Weights, heads, places
from models.tasks.translation.networks.settings import HIDDEN, TOKENS, Precision, Sizes
from models.tasks.translation.text.vocabulary import PAD


def reading_graph(members: Sequence[Weights], sizes: Sizes, precision: Precision = "fp32") -> bytes:
    """Return the encoder graph. Input: ``tokens`` int64 [S, s], padded at the right with PAD.

    Outputs: ``hidden`` [S, s], 0 for tokens and -1e9 for padding; for each member and decoder layer keys ``k<m>.<l>``
    [S, heads, d / heads, s] and values ``v<m>.<l>`` [S, heads, s, d / heads].
    """
    graph = Graph("reading")
    tokens = graph.input(TOKENS, ("S", "s"), "int64")
    absent = graph.op("Cast", graph.op("Equal", tokens, PAD), to=1)
    hidden = absent * -1e9
    graph.output(HIDDEN, hidden, ("S", "s"))
    mask = graph.op("Unsqueeze", hidden, np.array([1, 2]))
    numbers = graph.op("CumSum", graph.op("Cast", graph.op("Greater", tokens, -1), to=1), 1) - 1.0
    where = places(graph, numbers, sizes.width)
    head_width = sizes.width // sizes.heads
    for member, weights in enumerate(members):
        blocks = Blocks(graph, weights, sizes, precision)
        x = blocks.rows_of(weights["encoder.embed_tokens.weight"], tokens) + blocks.number(where)
        for layer in range(sizes.encoder):
            x = _layer(blocks, x, f"encoder.layers.{layer}", blocks.number(mask))
        if sizes.norm_first:
            x = blocks.norm(x, "encoder.layer_norm")
        names = [
            f"decoder.layers.{layer}.encoder_attn.{kind}_proj" for layer in range(sizes.decoder) for kind in ("k", "v")
        ]
        parts = graph.split(blocks.linear(x, *names), [sizes.width] * len(names), axis=-1)
        for layer in range(sizes.decoder):
            k, v = parts[2 * layer : 2 * layer + 2]
            grid = (0, 0, sizes.heads, head_width)
            graph.output(
                f"k{member}.{layer}",
                blocks.float32(heads(graph, k, grid, (0, 2, 3, 1))),
                ("S", sizes.heads, head_width, "s"),
            )
            graph.output(
                f"v{member}.{layer}",
                blocks.float32(heads(graph, v, grid, (0, 2, 1, 3))),
                ("S", sizes.heads, "s", head_width),
            )
    return graph.serialise()


def _layer(blocks: Blocks, x: Value, name: str, mask: Value) -> Value:
    graph, sizes = blocks.graph, blocks.sizes
    head_width = sizes.width // sizes.heads
    grid = (0, 0, sizes.heads, head_width)

    def attend(y: Value) -> Value:
        own = f"{name}.self_attn"
        q, k, v = graph.split(
            blocks.linear(y, f"{own}.q_proj", f"{own}.k_proj", f"{own}.v_proj"), [sizes.width] * 3, axis=-1
        )
        scores = heads(graph, q, grid, (0, 2, 1, 3)) @ heads(graph, k, grid, (0, 2, 3, 1))
        shares = graph.op("Softmax", scores * blocks_scale(blocks) + mask, axis=-1)
        attended = graph.op("Transpose", shares @ heads(graph, v, grid, (0, 2, 1, 3)), perm=[0, 2, 1, 3])
        return blocks.linear(graph.op("Reshape", attended, np.array([0, 0, sizes.width])), f"{own}.out_proj")

    x = blocks.block(x, f"{name}.self_attn_layer_norm", attend)
    return blocks.block(x, f"{name}.final_layer_norm", lambda y: blocks.inner(y, name))


def blocks_scale(blocks: Blocks) -> float | np.float16:
    """Return the scale of products of queries and keys."""
    scale = (blocks.sizes.width // blocks.sizes.heads) ** -0.5
    return np.float16(scale) if blocks.precision == "fp16" else scale
