"""Made-up pairs of sentences, pieces learnt from them, and networks with random weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from models.tasks.translation.corpus import Corpus, Pair
from models.tasks.translation.examples import marked_pairs
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.pieces import Pieces, learn
from models.tasks.translation.settings import Sizes

torch.set_num_threads(1)  # several on shared cores wait for each other

Weights = dict[str, NDArray[np.float32]]

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


def networks(sizes: Sizes, members: int, *, seed: int = 0, noise: float = 0.08) -> list[Transformer]:
    """Members whose weights and biases are all random."""
    torch.manual_seed(seed)
    found = [Transformer(sizes).eval() for _ in range(members)]
    with torch.no_grad():
        for network in found:
            for value in network.parameters():
                value.add_(torch.randn_like(value) * noise)
    return found


def weights(found: list[Transformer]) -> list[Weights]:
    """As exporters take them."""
    return [{name: value.detach().numpy() for name, value in one.state_dict().items()} for one in found]
