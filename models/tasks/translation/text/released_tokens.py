"""Tokenisation of the released models: Moses' tokens, byte-pair encoding and two dictionaries of fairseq.

It has the interface of ``tokens.Tokens``. There are no literals: these models must copy numbers and names themselves,
and may fail to. ``official`` is the form that the benchmark evaluates.
"""

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
"""Names of the files of a tokenisation."""
_UNMADE = 0.05
"""Largest share of a dictionary's tokens that the merges need not produce: fairseq also splits at unusual spaces."""


@dataclass(frozen=True)
class ReleasedTokens:
    """Tokenisation of the released models' training."""

    merges: Merges
    source: Dictionary
    target: Dictionary

    def sentence(self, text: str) -> Sentence:
        """Tokenise an English sentence, prepared as in the recipe for all data but newstest."""
        return self.encoded(moses.tokenised(moses.prepared(text)))

    def encoded(self, tokenised: str) -> Sentence:
        """Encode a sentence of Moses' tokens, escaped and separated by spaces."""
        pieces = self.merges.pieces(tokenised.split())
        return Sentence((*map(self.source.number, pieces), END), ())

    def official(self, tokens: Sequence[int] | NDArray[np.integer[Any]]) -> str:
        """Return a hypothesis as fairseq prints it with ``--remove-bpe``: Moses' tokens, escaped.

        The benchmark evaluates this form.
        """
        return self._joined(tokens)[0]

    def surface(self, tokens: Sequence[int] | NDArray[np.integer[Any]], literals: Sequence[str] = ()) -> list[str]:
        """Return the readable text of each token of a hypothesis; joined, they are the detokenised translation.

        Spaces come before tokens. ``<unk>`` stays as it is.

        Args:
            literals: unused; other models have them.
        """
        text, owners = self._joined(tokens)
        readable, places = moses.readable(text)
        parts = [""] * len(tokens)
        for character, place in zip(readable, places, strict=True):
            parts[owners[place]] += character
        return parts

    def _joined(self, tokens: Sequence[int] | NDArray[np.integer[Any]]) -> tuple[str, list[int]]:
        """Return the official form, and the index of the token of each of its characters."""
        text: list[str] = []
        owners: list[int] = []
        for place, token in enumerate(tokens):
            if token in (START, PAD, END):
                continue
            symbol = self.target.symbols[token]
            piece = symbol.removesuffix(CONTINUED) if symbol.endswith(CONTINUED) else f"{symbol} "
            text.append(piece)
            owners += [place] * len(piece)
        joined = "".join(text).rstrip(" ")
        return joined, owners[: len(joined)]


def of_texts(texts: Mapping[str, bytes], sizes: Sizes | None = None) -> ReleasedTokens:
    """Return the tokenisation of models of some sizes.

    Args:
        texts: contents of ``FILES`` by these names.
        sizes: sizes of the models; None: those of the dictionaries with all fillers.

    Raises:
        ArtefactError: a file is missing or invalid, a dictionary does not fit the embeddings, or the merges do not fit
            the dictionaries.
    """
    for name in FILES:
        if name not in texts:
            raise ArtefactError(f"{name} is missing: released models are of no use without it")
    pairs = merges.parse(texts[MERGES], MERGES)
    source = dictionary.parse(texts[SOURCE], SOURCE)
    target = dictionary.parse(texts[TARGET], TARGET)
    for vocabulary, name in ((source, SOURCE), (target, TARGET)):
        _check_made(vocabulary, pairs, name)
    rows = (sizes.source, sizes.target) if sizes is not None else (source.filled, target.filled)
    return ReleasedTokens(pairs, source.of_size(rows[0], SOURCE), target.of_size(rows[1], TARGET))


def _check_made(vocabulary: Dictionary, pairs: Merges, name: str) -> None:
    own = [symbol for symbol in vocabulary.symbols[len(dictionary.SPECIAL) :] if not symbol.startswith("madeupword")]
    strange = [symbol for symbol in own if not pairs.makes(symbol)]
    if len(strange) > _UNMADE * len(own):
        raise ArtefactError(
            f"{MERGES} does not belong to {name}: {len(strange)} of its {len(own)} tokens cannot come of these merges, "
            f"such as {strange[0][:80]!r}; merges that are learnt anew differ, take those the models were trained with"
        )
