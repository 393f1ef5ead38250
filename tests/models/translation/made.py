"""Made-up pairs of sentences, pieces learnt from them, and networks with random weights."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact.export.reading import reading_graph
from models.tasks.translation.artefact.export.stepping import stepping_graph
from models.tasks.translation.data.corpus import Corpus, Pair
from models.tasks.translation.data.examples import marked_pairs
from models.tasks.translation.inference.decoding.beams import Hypothesis, Rules
from models.tasks.translation.inference.decoding.decoder import Decoder, Source
from models.tasks.translation.networks.settings import Precision, Sizes
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.text.pieces import Pieces, learn
from models.tasks.translation.text.vocabulary import END
from tests.rounding import tolerance

torch.set_num_threads(1)  # several on shared cores wait for each other

Weights = dict[str, NDArray[np.float32]]
ROUNDINGS = 50
"""Of a logarithm or a value of a token. What leads to it are sums one after the other: 300 terms in a layer that reads
(norms of 32, products of 32 and 48, attention), 500 in one that writes, and the vocabulary's 120; of two layers each
some 1,800 terms, whose root is 42."""

_WHO = {"The dog": "Собака", "A cat": "Кошка", "My brother": "Мой брат", "The doctor": "Врач", "She": "Она"}
_DOES = {"sees": "видит", "knows": "знает", "likes": "любит", "finds": "находит", "draws": "рисует"}
_WHAT = {"a house": "дом", "the river": "реку", "a book": "книгу", "the city": "город", "the moon": "луну"}
_WHEN = {"today": "сегодня", "in summer": "летом", "every day": "каждый день", "at night": "ночью"}


def corpus(count: int, seed: int = 0) -> Corpus:
    """Pairs of two domains; one in four has a number."""
    random = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        (who, кто), (does, делает), (what, что), (when, когда) = (
            list(words.items())[random.integers(len(words))] for words in (_WHO, _DOES, _WHAT, _WHEN)
        )
        more = f" ({random.integers(1000)})" if number % 4 == 0 else ""
        domain = ("everyday", "docs")[number % 2]
        pairs.append(
            Pair(domain, f"made:{number}", f"{who} {does} {what} {when}{more}.", f"{кто} {делает} {что} {когда}{more}.")
        )
    return Corpus(tuple(pairs))


@cache
def pieces(size: int = 320) -> Pieces:
    """Learnt from 200 pairs."""
    return learn((side for _, *sides in marked_pairs(corpus(200)) for side in sides), size)


def networks(sizes: Sizes, members: int, *, seed: int = 0, ending: float = 0.3) -> list[Transformer]:
    """Members whose weights and biases are all random, and that do not say the same token over and over.

    Args:
        ending: how much they like to end a sentence.
    """
    torch.manual_seed(seed)
    ensemble = [Transformer(sizes).eval() for _ in range(members)]
    with torch.no_grad():
        for network in ensemble:
            for value in network.parameters():
                value.add_(torch.randn_like(value) * 0.08)
            last = network.decoder.layer_norm or network.decoder.layers[-1].final_layer_norm
            last.weight.copy_(torch.randn_like(last.weight))  # else what goes in as embedding comes out as likely
            last.bias.add_(network.decoder.embed_tokens.weight[END] * ending * sizes.width**0.5)
    return ensemble


def weights(transformers: list[Transformer]) -> list[Weights]:
    """As exporters take them."""
    return [
        {name: value.detach().numpy() for name, value in transformer.state_dict().items()}
        for transformer in transformers
    ]


def decoder(
    transformers: list[Transformer],
    sizes: Sizes,
    rules: Rules,
    folder: Path,
    *,
    special: int = 16,
    candidates: int = 10,
    precision: Precision = "fp32",
) -> Decoder:
    """The graphs of some networks, written into a folder and loaded again."""
    reader, stepper = folder / f"reading.{precision}.onnx", folder / f"stepping.{precision}.onnx"
    reader.write_bytes(reading_graph(weights(transformers), sizes, precision))
    stepper.write_bytes(stepping_graph(weights(transformers), sizes, special, candidates, precision))
    return Decoder(OnnxGraph(reader), OnnxGraph(stepper), rules)


def near(results: Mapping[Any, Sequence[Hypothesis]]) -> float:
    """Return the most by which logarithms, values and scores of these hypotheses may differ from others' float32."""
    logs = [hypothesis.log_probabilities for hypotheses in results.values() for hypothesis in hypotheses]
    return tolerance(np.concatenate(logs), ROUNDINGS)


def sources(count: int, vocabulary: int, *, marks: int = 3, longest: int = 20, seed: int = 1) -> list[Source]:
    """Sentences of random tokens from 16 on, with 0 to ``marks - 1`` literals, of different lengths."""
    random = np.random.default_rng(seed)
    generated = []
    for name in range(count):
        mark_count = name % marks if marks else 0
        words = random.integers(16, vocabulary, random.integers(1, longest))
        tokens = [*words.tolist(), *range(4, 4 + mark_count)]
        random.shuffle(tokens)
        generated.append(Source(name, [*tokens, END], mark_count))
    return generated


def heard(network: Transformer, source: Sequence[int], tokens: Sequence[int]) -> NDArray[np.float64]:
    """Logarithms of a network's probabilities at every token of a hypothesis that is given whole, [L, V]."""
    before = [END, *tokens[:-1]]
    with torch.no_grad():
        logits = network(torch.tensor([list(source)]), torch.tensor([before]))[0].double()
        return np.asarray(torch.log_softmax(logits, -1).numpy())
