"""Translator: sentences to inputs of the decoder, and hypotheses to texts with scores and uncertainties.

Nothing here waits or loops: serving drives the decoder step by step, evaluation uses ``search``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.input_warning import InputWarning
from models.predictive import Sequences
from models.tasks.translation.artefact.recipe import Recipe
from models.tasks.translation.inference import appearance
from models.tasks.translation.inference.decoding.beams import Hypothesis
from models.tasks.translation.inference.decoding.decoder import Decoder, Source, search
from models.tasks.translation.text.tokens import Sentence
from models.uncertainty.sequences import SCORES
from models.uncertainty.tokens import TOKEN_VALUES

Float32 = NDArray[np.float32]
_MOST_CHARACTERS = 60
"""Characters per token, approximately: longer texts are split before tokenisation."""
_TOTAL, _DATA, _KNOWLEDGE = (TOKEN_VALUES.index(name) for name in ("eoe", "exe", "mi"))


class Tokeniser(Protocol):
    """Conversion of texts to tokens and back."""

    def sentence(self, text: str) -> Sentence:
        """Return a sentence of the source language."""
        ...

    def surface(self, tokens: Sequence[int] | NDArray[np.int64], literals: Sequence[str]) -> list[str]:
        """Return the text of each token of a hypothesis; joined, they are the translation."""
        ...


@dataclass(frozen=True)
class SourceSentence:
    """Sentence to be translated."""

    text: str
    tokenised: Sentence
    remarks: tuple[InputWarning, ...]

    @property
    def english(self) -> bool:
        """True if the sentence is English; others are not translated."""
        return all(remark.code != appearance.NOT_ENGLISH for remark in self.remarks)


@dataclass(frozen=True)
class TokenValues:
    """Values of the L tokens of a hypothesis; the last is the end of sentence."""

    spans: NDArray[np.uint32]
    """Position of each token in the text, characters [start, stop), [L, 2]."""
    log_probabilities: Float32
    """Log-probabilities under the members' mean, nats [L]."""
    total: Float32
    """Entropy of the members' mean, nats [L]."""
    data: Float32 | None
    """The members' mean entropy, nats [L]; None for a single model."""
    knowledge: Float32 | None
    """Mutual information, nats [L]: total less data; None for a single model."""


@dataclass(frozen=True)
class Translation:
    """The H hypotheses of a sentence, best first."""

    texts: tuple[str, ...]
    score: Float32
    """Log-probability over length, nats [H]; NaN if nothing was translated."""
    values: Mapping[str, Float32] | None
    """The released scores by name, [H] each; None for a single model."""
    tokens: tuple[TokenValues, ...]
    """Values of each hypothesis's tokens; empty if nothing was translated."""

    def __len__(self) -> int:
        return len(self.texts)


class Translator:
    """Decoder and tokeniser of an ensemble. Calls are independent and thread-safe."""

    def __init__(self, decoder: Decoder, tokeniser: Tokeniser, recipe: Recipe) -> None:
        self.decoder = decoder
        self.recipe = recipe
        self._tokeniser = tokeniser

    @property
    def single(self) -> bool:
        """True if there is only one member: no knowledge uncertainty, and none of the released scores."""
        return self.decoder.members == 1

    def fits(self, text: str) -> bool:
        """Return whether a sentence is short enough to be translated whole."""
        most = self.recipe.longest_sentence
        if len(text) > _MOST_CHARACTERS * most:
            return False
        sentence = self._tokeniser.sentence(text)
        return len(sentence.tokens) <= most and not sentence.left

    def sentence(self, text: str) -> SourceSentence:
        """Tokenise a sentence that fits, and add its remarks."""
        sentence = self._tokeniser.sentence(text)
        return SourceSentence(text, sentence, appearance.remarks(text, sentence, self.recipe.typical))

    def source(self, name: Any, sentence: SourceSentence) -> Source:
        """Return a sentence in the form that the decoder takes."""
        return Source(name, sentence.tokenised.tokens, len(sentence.tokenised.literals))

    def translation(self, source: SourceSentence, hypotheses: Sequence[Hypothesis]) -> Translation:
        """Convert the hypotheses of a search to texts with scores."""
        surfaces = [self._tokeniser.surface(hypothesis.tokens, source.tokenised.literals) for hypothesis in hypotheses]
        return Translation(
            texts=tuple("".join(parts) for parts in surfaces),
            score=np.array([hypothesis.score for hypothesis in hypotheses], np.float32),
            values=None
            if self.single
            else {
                name: np.array([hypothesis.scores[name] for hypothesis in hypotheses], np.float32) for name in SCORES
            },
            tokens=tuple(
                self._token_values(hypothesis, parts) for hypothesis, parts in zip(hypotheses, surfaces, strict=True)
            ),
        )

    def as_it_came(self, source: SourceSentence) -> Translation:
        """Return the result for a sentence that is not English: its own text, with NaN scores."""
        nan = np.full(1, np.nan, np.float32)
        return Translation((source.text,), nan, None if self.single else dict.fromkeys(SCORES, nan), ())

    def translations(
        self, texts: Iterable[str], progress: Callable[[int], None] = lambda done: None
    ) -> Iterator[tuple[int, Translation]]:
        """Translate sentences in batches; yield the number and translation of each as it finishes.

        Args:
            progress: called with the number of further sentences that are done.
        """
        every = [self.sentence(text) for text in texts]
        for number, request in enumerate(every):
            if not request.english:
                progress(1)
                yield number, self.as_it_came(request)
        sources = (self.source(number, request) for number, request in enumerate(every) if request.english)
        for number, hypotheses in search(self.decoder, sources, width=self.recipe.width):
            progress(1)
            yield number, self.translation(every[number], hypotheses)

    def _token_values(self, hypothesis: Hypothesis, parts: Sequence[str]) -> TokenValues:
        stops = np.cumsum([len(part) for part in parts])
        bare = [len(part) - len(part.lstrip(" ")) for part in parts]
        starts = np.minimum(stops - [len(part) for part in parts] + bare, stops)
        values = hypothesis.values.astype(np.float32)
        return TokenValues(
            np.stack([starts, stops], axis=1).astype(np.uint32),
            hypothesis.log_probabilities.astype(np.float32),
            values[_TOTAL],
            None if self.single else values[_DATA],
            None if self.single else values[_KNOWLEDGE],
        )


def predictive(translations: Sequence[Translation]) -> Sequences:
    """Return translations of N >= 1 sentences, each with the same number of hypotheses, as statistics."""
    values = [translation.values for translation in translations]
    known = [scores for scores in values if scores is not None]
    return Sequences(
        score=np.stack([translation.score for translation in translations]),
        hypothesis_scores={name: np.stack([scores[name] for scores in known]) for name in known[0]} if known else None,
        texts=[translation.texts for translation in translations],
    )


def none(translator: Translator) -> Sequences:
    """Return the statistics of zero sentences."""
    empty = np.empty((0, translator.recipe.beam), np.float32)
    return Sequences(empty, None if translator.single else dict.fromkeys(SCORES, empty), ())
