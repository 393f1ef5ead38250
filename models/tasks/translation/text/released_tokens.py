"""What the released models make of a text and say: Moses' tokens, byte-pair encoding and two dictionaries of fairseq.

It has the face of ``tokens.Tokens``. There are no literals: these models copy, or fail to copy, what stands in a text
themselves. ``official`` is the form in which the benchmark judges translations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text import dictionary, merges, moses
from models.tasks.translation.text.dictionary import Dictionary
from models.tasks.translation.text.merges import CONTINUED, Merges
from models.tasks.translation.text.tokens import Sentence
from models.tasks.translation.text.vocabulary import END, PAD, START

MERGES, SOURCE, TARGET = "code", "dict.en.txt", "dict.ru.txt"
FILES = (MERGES, SOURCE, TARGET)
"""Names of the files that a tokenisation is made of."""
_UNMADE = 0.05
"""Largest share of a dictionary that its merges cannot make; what differs is what fairseq splits at odd spaces."""


@dataclass(frozen=True)
class ReleasedTokens:
    """The tokenisation that released models were trained with."""

    merges: Merges
    source: Dictionary
    target: Dictionary

    def sentence(self, text: str) -> Sentence:
        """Return a sentence of English, as the recipe prepares all but newstest."""
        return self.encoded(moses.tokenised(moses.prepared(text)))

    def encoded(self, tokenised: str) -> Sentence:
        """Return a sentence that is Moses' tokens already, escaped and between spaces."""
        pieces = self.merges.pieces(tokenised.split())
        return Sentence((*map(self.source.number, pieces), END), ())

    def official(self, tokens: Sequence[int] | NDArray[np.integer[Any]]) -> str:
        """A hypothesis as fairseq prints it with ``--remove-bpe``: Moses' tokens, escaped. The benchmark judges it."""
        return self._joined(tokens)[0]

    def surface(self, tokens: Sequence[int] | NDArray[np.integer[Any]], literals: Sequence[str] = ()) -> list[str]:
        """What each token of a hypothesis says to people; together the readable translation, detokenised, a space
        before a token if at all. ``<unk>`` says so.

        Args:
            literals: none; a parameter because other models have them.
        """
        text, owners = self._joined(tokens)
        readable, places = moses.readable(text)
        parts = [""] * len(tokens)
        for one, place in zip(readable, places, strict=True):
            parts[owners[place]] += one
        return parts

    def _joined(self, tokens: Sequence[int] | NDArray[np.integer[Any]]) -> tuple[str, list[int]]:
        """Return the official form, and of each of its characters the place of the token that says it."""
        text: list[str] = []
        owners: list[int] = []
        for place, token in enumerate(tokens):
            if token in (START, PAD, END):
                continue
            symbol = self.target.symbols[token]
            said = symbol.removesuffix(CONTINUED) if symbol.endswith(CONTINUED) else f"{symbol} "
            text.append(said)
            owners += [place] * len(said)
        joined = "".join(text).rstrip(" ")
        return joined, owners[: len(joined)]


def of_texts(texts: Mapping[str, bytes], sizes: Sizes | None = None) -> ReleasedTokens:
    """Return the tokenisation of models of some sizes.

    Args:
        texts: contents of ``FILES`` by these names.
        sizes: of the models; None: those of the dictionaries, with all the fillers that there may be.

    Raises:
        ArtefactError: one is missing or not in order, a dictionary that is not that of the embeddings, or merges that
            are not those of the dictionaries.
    """
    for name in FILES:
        if name not in texts:
            raise ArtefactError(f"{name} is missing: released models are of no use without it")
    pairs = merges.parse(texts[MERGES], MERGES)
    source = dictionary.parse(texts[SOURCE], SOURCE)
    target = dictionary.parse(texts[TARGET], TARGET)
    for one, name in ((source, SOURCE), (target, TARGET)):
        _check_made(one, pairs, name)
    rows = (sizes.source, sizes.target) if sizes is not None else (source.filled, target.filled)
    return ReleasedTokens(pairs, source.of_size(rows[0], SOURCE), target.of_size(rows[1], TARGET))


def _check_made(found: Dictionary, pairs: Merges, name: str) -> None:
    own = [symbol for symbol in found.symbols[len(dictionary.SPECIAL) :] if not symbol.startswith("madeupword")]
    strange = [symbol for symbol in own if not pairs.makes(symbol)]
    if len(strange) > _UNMADE * len(own):
        raise ArtefactError(
            f"{MERGES} does not belong to {name}: {len(strange)} of its {len(own)} tokens cannot come of these merges, "
            f"such as {strange[0][:80]!r}; merges that are learnt anew differ, take those the models were trained with"
        )
