"""Decoder graph: one decoding step of all members, with candidates for the next token and uncertainties.

Rows are hypotheses, ``beam`` consecutive ones for each sentence. Members' distributions stay in the graph: its outputs
are the likeliest tokens with each member's log-probabilities, and nine uncertainties of the step.

Keys and values of earlier tokens belong to a sentence: its hypotheses share them, each with a mask of its own past. So
no reordering is needed between steps, and one product serves all hypotheses of a sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from models.executors.graph import Graph, Value
from models.tasks.translation.artefact.export.blocks import Blocks, Weights, heads, places
from models.tasks.translation.networks.settings import (
    CANDIDATES,
    HIDDEN,
    LAST,
    LOG_PROBABILITIES,
    PAST,
    PLACES,
    PREFIX,
    SHAPE,
    SPECIAL,
    UNCERTAINTY,
    Precision,
    Sizes,
    cache_names,
    memory_names,
)

_TINY = 1e-37


def stepping_graph(
    members: Sequence[Weights], sizes: Sizes, special: int, candidates: int, precision: Precision = "fp32"
) -> bytes:
    """Return the graph of one step of R = S x beam hypotheses.

    Inputs: ``last`` int64 [R], the previous tokens (initially the end of sentence); ``places`` float32 [R], the number
    of tokens before ``last``; ``prefix`` float32 [M, R], each member's log-likelihood of the tokens so far; ``shape``
    int64 [4]: S, beam, heads, d / heads; ``hidden``, keys and values of ``reading_graph``; caches ``sk<m>.<l>`` and
    ``sv<m>.<l>`` [S, heads, c, d / heads]; ``past`` float32 [S, 1, beam, c + beam]: 0 for columns of the cache, or of
    the ``beam`` columns that this step appends, that belong to a hypothesis's own past or itself, else -1e9.

    Args:
        special: log-probabilities of all tokens below are output (``special`` [M, R, special]); other tokens compete.
        candidates: number of candidates per row.

    Outputs: ``candidates`` int64 [R, k], by falling probability; ``log_probabilities`` float32 [M, R, k] of them;
    ``special``; ``uncertainty`` float32 [9, R] in the order of ``uncertainty.tokens.TOKEN_VALUES``; the caches, named
    ``new.sk<m>.<l>`` and so on.
    """
    graph = Graph("stepping")
    logits = members_say(graph, members, sizes, precision)
    _tell(graph, logits, graph.input(PREFIX, (len(members), "R")), special, candidates)
    return graph.serialise()


def members_say(
    graph: Graph, members: Sequence[Weights], sizes: Sizes, precision: Precision = "fp32"
) -> tuple[Value, ...]:
    """Return the members' logits of the next token, [R, V] each.

    All inputs but ``prefix`` are added, and the caches as outputs.
    """
    count = len(members)
    head_width = sizes.width // sizes.heads
    last = graph.input(LAST, ("R",), "int64")
    numbers = graph.input(PLACES, ("R",))
    shape = graph.input(SHAPE, (4,), "int64")
    past = graph.input(PAST, ("S", 1, "beam", "n"))
    mask = graph.op("Unsqueeze", graph.input(HIDDEN, ("S", "s")), np.array([1, 2]))
    memory = {
        name: graph.input(
            name, ("S", sizes.heads, head_width, "s") if name[0] == "k" else ("S", sizes.heads, "s", head_width)
        )
        for name in memory_names(count, sizes)
    }
    caches = {name: graph.input(name, ("S", sizes.heads, "c", head_width)) for name in cache_names(count, sizes)}
    where = places(graph, numbers, sizes.width)
    logits = []
    for member, weights in enumerate(members):
        blocks = Blocks(graph, weights, sizes, precision)
        table = weights["decoder.embed_tokens.weight"]
        x = blocks.rows_of(table, last) + blocks.number(where)
        for layer in range(sizes.decoder):
            name, at = f"decoder.layers.{layer}", f"{member}.{layer}"
            attention = _Attention(blocks, shape, name)
            y = blocks.norm(x, f"{name}.self_attn_layer_norm") if sizes.norm_first else x
            q, k, v = attention.own(y)
            k, v = (graph.op("Concat", caches[cache], new, axis=2) for cache, new in ((f"sk{at}", k), (f"sv{at}", v)))
            graph.output(f"new.sk{at}", k, ("S", sizes.heads, "n", head_width), copied=False)
            graph.output(f"new.sv{at}", v, ("S", sizes.heads, "n", head_width), copied=False)
            x = x + attention.looked(q, k, v, past)
            if not sizes.norm_first:
                x = blocks.norm(x, f"{name}.self_attn_layer_norm")
            across = partial(attention.across, k=memory[f"k{at}"], v=memory[f"v{at}"], mask=mask)
            x = blocks.block(x, f"{name}.encoder_attn_layer_norm", across)
            x = blocks.block(x, f"{name}.final_layer_norm", partial(blocks.inner, layer=name))
        if sizes.norm_first:
            x = blocks.norm(x, "decoder.layer_norm")
        logits.append(blocks.float32(blocks.compared(x, table)))
    return tuple(logits)


@dataclass(frozen=True)
class _Attention:
    """Attention of one decoder layer of one member; products with cached values are float32 in every precision."""

    blocks: Blocks
    shape: Value
    name: str

    def own(self, y: Value) -> tuple[Value, Value, Value]:
        """Return query, key and value, [S, heads, beam, d / heads] each."""
        blocks, graph, name = self.blocks, self.blocks.graph, f"{self.name}.self_attn"
        parts = graph.split(
            blocks.float32(blocks.linear(y, f"{name}.q_proj", f"{name}.k_proj", f"{name}.v_proj")),
            [blocks.sizes.width] * 3,
            axis=-1,
        )
        q, k, v = (heads(graph, part, self.shape, (0, 2, 1, 3)) for part in parts)
        return q, k, v

    def looked(self, q: Value, k: Value, v: Value, past: Value) -> Value:
        """Attend to a row's own past, through the output layer [R, d]."""
        turned = self.blocks.graph.op("Transpose", k, perm=[0, 1, 3, 2])  # is fused into the product
        return self._out(self._seen(q, turned, v, past), "self_attn")

    def across(self, y: Value, k: Value, v: Value, mask: Value) -> Value:
        """Attend to the sentence of a row, through the output layer [R, d]."""
        blocks, graph = self.blocks, self.blocks.graph
        query = blocks.float32(blocks.linear(y, f"{self.name}.encoder_attn.q_proj"))
        q = heads(graph, query, self.shape, (0, 2, 1, 3))
        return self._out(self._seen(q, k, v, mask), "encoder_attn")

    def _seen(self, q: Value, k: Value, v: Value, mask: Value) -> Value:
        sizes = self.blocks.sizes
        scale = (sizes.width // sizes.heads) ** -0.5
        return self.blocks.graph.op("Softmax", (q * scale) @ k + mask, axis=-1) @ v

    def _out(self, seen: Value, which: str) -> Value:
        blocks, graph = self.blocks, self.blocks.graph
        turned = graph.op("Transpose", seen, perm=[0, 2, 1, 3])
        flat = graph.op("Reshape", turned, np.array([-1, blocks.sizes.width]))
        return blocks.linear(blocks.number(flat), f"{self.name}.{which}.out_proj")


def _tell(graph: Graph, logits: Sequence[Value], prefix: Value, special: int, candidates: int) -> None:
    """Add the outputs computed from members' logits, each [R, V].

    All nine values are computed from entropies - those of members, of their mean, of their mean weighted by likelihoods
    of prefixes - and of the products of both means with the mean of members' logarithms: no array of the vocabulary's
    size is needed for pairs of members, and only two logarithms of that size, the largest cost.
    """
    count = len(logits)
    stacked = graph.op("Concat", *(graph.op("Unsqueeze", value, np.array([1])) for value in logits), axis=1)
    logs = graph.op("LogSoftmax", stacked, axis=-1)  # [R, M, V]
    each = graph.op("Exp", logs)
    means = _weights(graph, prefix, count) @ each  # [R, 2, V]: under PE and under EP
    log_mean = graph.op("MatMul", np.full((1, count), 1 / count), logs)

    exe = graph.op("ReduceMean", _expected(graph, each, logs), np.array([1]), keepdims=1)
    entropies = _expected(graph, means, graph.op("Log", graph.op("Max", means, _TINY)))
    crosses = _expected(graph, means, log_mean)
    eoe, ep_eoe = graph.split(entropies, [1, 1], axis=1)
    cross, ep_cross = graph.split(crosses, [1, 1], axis=1)
    values = (
        eoe,
        exe,
        graph.relu(eoe - exe),
        graph.relu(cross - exe),
        graph.relu(cross - eoe),
        ep_eoe,
        ep_eoe - exe,
        ep_cross - exe,
        graph.relu(ep_cross - ep_eoe),
    )
    rows = graph.op("Transpose", graph.op("Concat", *values, axis=1), perm=[1, 0])
    graph.output(UNCERTAINTY, rows, (len(values), "R"))

    competing = graph.op("Slice", means, np.array([0, special]), np.array([1, 2**31]), np.array([1, 2]))
    tokens = graph.ops("TopK", 2, competing, np.array([candidates]), axis=2)[1] + special  # [R, 1, k]
    graph.output(CANDIDATES, graph.op("Squeeze", tokens, np.array([1])), ("R", candidates), "int64")
    of_each = graph.op("Expand", tokens, np.array([1, count, 1]))
    candidate_logs = graph.op("GatherElements", logs, of_each, axis=2)
    full = graph.op("Slice", logs, np.array([0]), np.array([special]), np.array([2]))
    for name, tensor, width in ((LOG_PROBABILITIES, candidate_logs, candidates), (SPECIAL, full, special)):
        graph.output(name, graph.op("Transpose", tensor, perm=[1, 0, 2]), (count, "R", width))


def _weights(graph: Graph, prefix: Value, count: int) -> Value:
    """Return the weights of members in both means, [R, 2, M]: uniform, and shares in the expectation of products."""
    shares = graph.op("Softmax", graph.op("Transpose", prefix, perm=[1, 0]), axis=-1)
    shares = graph.op("Unsqueeze", shares, np.array([1]))
    return graph.op("Concat", shares * 0.0 + 1.0 / count, shares, axis=1)


def _expected(graph: Graph, p: Value, logs: Value) -> Value:
    """Return the cross-entropy of logarithms [R, n or 1, V] under distributions [R, n, V], nats [R, n].

    Each row is one product with a transposed side, which ONNX Runtime fuses: six times as fast as with a column, four
    times as fast as with two rows.
    """
    distributions, other = (graph.op("Unsqueeze", of, np.array([2])) for of in (p, logs))
    turned = graph.op("Transpose", other, perm=[0, 1, 3, 2])
    return graph.op("Squeeze", distributions @ turned, np.array([2, 3])) * -1.0
