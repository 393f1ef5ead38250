"""The graph of one decoding step of all members: it reorders caches, says what comes next, and how sure they are.

Rows are hypotheses, ``beam`` of each sentence side by side. Members' distributions never leave the graph: out come the
likeliest tokens with what every member says of them, and nine uncertainties of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from models.executors.graph import Graph, Value
from models.tasks.translation.export.blocks import Blocks, Weights, heads, places
from models.tasks.translation.graph_names import (
    CANDIDATES,
    HIDDEN,
    LAST,
    LOG_PROBABILITIES,
    PARENTS,
    PLACES,
    PREFIX,
    SHAPE,
    SPECIAL,
    UNCERTAINTY,
    cache_names,
    memory_names,
)
from models.tasks.translation.settings import Precision, Sizes

_TINY = 1e-37


def stepping_graph(
    members: Sequence[Weights], sizes: Sizes, special: int, candidates: int, precision: Precision = "fp32"
) -> bytes:
    """One step of R = S x beam hypotheses.

    Inputs: ``last`` int64 [R], the tokens before (the end of sentence at first); ``parents`` int64 [R], the rows of the
    caches that they go on from; ``places`` float32 [R], how many tokens were said before ``last``; ``prefix`` float32
    [M, R], each member's log-likelihood of the tokens so far; ``shape`` int64 [4]: S, beam, heads, d / heads;
    ``hidden``, keys and values of ``reading_graph``; caches ``sk<m>.<l>`` and ``sv<m>.<l>`` [P, heads, t, d / heads],
    of whose columns the youngest are a row's own.

    Args:
        special: tokens below are told in full (``special`` [M, R, special]); those from there on compete.
        candidates: tokens that are told of each row.

    Outputs: ``candidates`` int64 [R, k], by falling probability; ``log_probabilities`` float32 [M, R, k] of them;
    ``special``; ``uncertainty`` float32 [9, R] in the order of ``uncertainty.tokens.TOKEN_VALUES``; the caches,
    named ``new.sk<m>.<l>`` and so on.
    """
    graph = Graph("stepping")
    count = len(members)
    one = sizes.width // sizes.heads
    last = graph.input(LAST, ("R",), "int64")
    parents = graph.input(PARENTS, ("R",), "int64")
    numbers = graph.input(PLACES, ("R",))
    prefix = graph.input(PREFIX, (count, "R"))
    shape = graph.input(SHAPE, (4,), "int64")
    mask = graph.op("Unsqueeze", graph.input(HIDDEN, ("S", "s")), np.array([1, 2]))
    memory = {
        name: graph.input(name, ("S", sizes.heads, one, "s") if name[0] == "k" else ("S", sizes.heads, "s", one))
        for name in memory_names(count, sizes)
    }
    caches = {name: graph.input(name, ("P", sizes.heads, "t", one)) for name in cache_names(count, sizes)}
    where = places(graph, numbers, sizes.width)
    old: Value | None = None
    said = []
    for member, weights in enumerate(members):
        blocks = Blocks(graph, weights, sizes, precision)
        table = weights["decoder.embed_tokens.weight"]
        x = blocks.rows_of(table, last, turned=True) + blocks.number(where)
        for layer in range(sizes.decoder):
            name, at = f"decoder.layers.{layer}", f"{member}.{layer}"
            attention = _Attention(blocks, shape, name)
            y = blocks.norm(x, f"{name}.self_attn_layer_norm") if sizes.norm_first else x
            q, k, v = attention.own(y)
            k, v = (
                graph.op("Concat", graph.op("Gather", caches[name], parents, axis=0), new, axis=2)
                for name, new in ((f"sk{at}", k), (f"sv{at}", v))
            )
            graph.output(f"new.sk{at}", k, ("R", sizes.heads, "n", one), copied=False)
            graph.output(f"new.sv{at}", v, ("R", sizes.heads, "n", one), copied=False)
            old = _too_old(graph, v, numbers) if old is None else old
            x = x + attention.looked(q, k, v, old)
            if not sizes.norm_first:
                x = blocks.norm(x, f"{name}.self_attn_layer_norm")
            across = partial(attention.across, k=memory[f"k{at}"], v=memory[f"v{at}"], mask=mask)
            x = blocks.block(x, f"{name}.encoder_attn_layer_norm", across)
            x = blocks.block(x, f"{name}.final_layer_norm", partial(blocks.inner, layer=name))
        if sizes.norm_first:
            x = blocks.norm(x, "decoder.layer_norm")
        logits = blocks.float32(blocks.product(x, np.ascontiguousarray(table.T)))
        said.append(logits)
    _tell(graph, said, prefix, special, candidates)
    return graph.serialise()


@dataclass(frozen=True)
class _Attention:
    """Of one decoder layer of one member; products of what is cached are float32 in every precision."""

    blocks: Blocks
    shape: Value
    name: str

    def own(self, y: Value) -> tuple[Value, Value, Value]:
        """Query, key and value, [R, heads, 1, d / heads] each."""
        blocks, graph, name = self.blocks, self.blocks.graph, f"{self.name}.self_attn"
        sizes = blocks.sizes
        parts = graph.split(
            blocks.float32(blocks.linear(y, f"{name}.q_proj", f"{name}.k_proj", f"{name}.v_proj")),
            [sizes.width] * 3,
            axis=-1,
        )
        grid = np.array([-1, sizes.heads, 1, sizes.width // sizes.heads])
        q, k, v = (graph.op("Reshape", part, grid) for part in parts)
        return q, k, v

    def looked(self, q: Value, k: Value, v: Value, old: Value) -> Value:
        """What a row sees in its own past, through the output layer [R, d]."""
        turned = self.blocks.graph.op("Transpose", k, perm=[0, 1, 3, 2])  # becomes part of the product
        return self._out(self._seen(q, turned, v, old), "self_attn")

    def across(self, y: Value, k: Value, v: Value, mask: Value) -> Value:
        """What a row sees in its sentence, through the output layer [R, d]."""
        blocks, graph = self.blocks, self.blocks.graph
        query = blocks.float32(blocks.linear(y, f"{self.name}.encoder_attn.q_proj"))
        q = heads(graph, query, self.shape, (0, 2, 1, 3))
        return self._out(graph.op("Transpose", self._seen(q, k, v, mask), perm=[0, 2, 1, 3]), "encoder_attn")

    def _seen(self, q: Value, k: Value, v: Value, mask: Value) -> Value:
        sizes = self.blocks.sizes
        scale = (sizes.width // sizes.heads) ** -0.5
        return self.blocks.graph.op("Softmax", (q * scale) @ k + mask, axis=-1) @ v

    def _out(self, seen: Value, which: str) -> Value:
        blocks = self.blocks
        flat = blocks.graph.op("Reshape", seen, np.array([-1, blocks.sizes.width]))
        return blocks.linear(blocks.number(flat), f"{self.name}.{which}.out_proj")


def _too_old(graph: Graph, values: Value, numbers: Value) -> Value:
    """[R, 1, 1, n]: -1e9 where a cache's column is older than its row's sentence, else 0."""
    columns = graph.op("Shape", values, start=2, end=3)
    length = graph.op("Squeeze", columns, np.array([0]))
    ages = graph.op("Cast", length - 1 - graph.op("Range", 0, length, 1), to=1)
    gone = graph.op("Greater", ages, graph.op("Unsqueeze", numbers, np.array([1, 2, 3])))
    return graph.op("Cast", gone, to=1) * -1e9


def _tell(graph: Graph, said: Sequence[Value], prefix: Value, special: int, candidates: int) -> None:
    """Outputs of members' logits, each [R, V].

    With p the members' mean, q their mean weighted by likelihoods of prefixes and z their mean logit, all nine values
    come of the products p log p, q log q, p z, q z and each member's own p z: nothing of the size of the vocabulary is
    made for pairs of members, and only two logarithms of that size are taken, which cost most.
    """
    count = len(said)
    each = [graph.op("Softmax", logits, axis=-1) for logits in said]
    norms = [_norm(graph, logits, p) for logits, p in zip(said, each, strict=True)]
    norm = _mean(graph, norms)
    total, logits = _sum(graph, each), _sum(graph, said)
    weighted = _sum(graph, [p * share for p, share in zip(each, _shares(graph, prefix, count), strict=True)])
    log_total, log_weighted = (graph.op("Log", graph.op("Max", sums, _TINY)) for sums in (total, weighted))

    exe = _mean(graph, [norm - _dot(graph, p, of) for norm, p, of in zip(norms, each, said, strict=True)])
    eoe = _dot(graph, total, log_total) * (-1.0 / count) + float(np.log(count))
    cross = norm - _dot(graph, total, logits) * (1.0 / count**2)
    ep_eoe = _dot(graph, weighted, log_weighted) * -1.0
    ep_cross = norm - _dot(graph, weighted, logits) * (1.0 / count)
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

    competing = graph.op("Slice", total, np.array([special]), np.array([2**31]), np.array([1]))
    tokens = graph.ops("TopK", 2, competing, np.array([candidates]), axis=1)[1] + special
    graph.output(CANDIDATES, tokens, ("R", candidates), "int64")
    told = [graph.op("GatherElements", of, tokens, axis=1) - norm for of, norm in zip(said, norms, strict=True)]
    graph.output(LOG_PROBABILITIES, _stacked(graph, told), (count, "R", candidates))
    first = (np.array([0]), np.array([special]), np.array([1]))
    full = [graph.op("Slice", of, *first) - norm for of, norm in zip(said, norms, strict=True)]
    graph.output(SPECIAL, _stacked(graph, full), (count, "R", special))


def _norm(graph: Graph, logits: Value, p: Value) -> Value:
    """The logarithm of the sum of exponentials, [R, 1], from what softmax says of the likeliest token."""
    largest, peak = (graph.op("ReduceMax", of, np.array([1]), keepdims=1) for of in (logits, p))
    return largest - graph.op("Log", peak)


def _shares(graph: Graph, prefix: Value, count: int) -> list[Value]:
    """Of members in the expectation of products, [R, 1] each; they sum to one."""
    parts = graph.split(graph.op("Softmax", prefix, axis=0), [1] * count, axis=0)
    return [graph.op("Reshape", part, np.array([-1, 1])) for part in parts]


def _sum(graph: Graph, values: Sequence[Value]) -> Value:
    return graph.op("Sum", *values)


def _mean(graph: Graph, values: Sequence[Value]) -> Value:
    return graph.op("Sum", *values) * (1.0 / len(values))


def _dot(graph: Graph, p: Value, q: Value) -> Value:
    """The sum of products over the vocabulary, [R, 1].

    One product a row with a turned side, which ONNX Runtime joins with the turn: six times quicker than with a column.
    """
    turned = graph.op("Transpose", graph.op("Unsqueeze", q, np.array([1])), perm=[0, 2, 1])
    return graph.op("Squeeze", graph.op("Unsqueeze", p, np.array([1])) @ turned, np.array([2]))


def _stacked(graph: Graph, values: Sequence[Value]) -> Value:
    return graph.op("Concat", *(graph.op("Unsqueeze", value, np.array([0])) for value in values), axis=0)
