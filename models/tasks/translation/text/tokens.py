"""Conversion between texts and token numbers of the graphs: each side keeps the pieces that it needs.

Both languages share the vocabulary of pieces, but each is on one side only: embedding rows that only the other side
needs are left out of a graph. Tokens below ``SPECIAL`` are the same on both sides.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.tasks.translation.text.literals import MARKS, mark, restore
from models.tasks.translation.text.pieces import SPACE, Pieces, plain, simple
from models.tasks.translation.text.vocabulary import END, UNKNOWN

FIRST_MARK = 4
SPECIAL = FIRST_MARK + len(MARKS)
"""Number of special tokens: start, padding, end, unknown and marks."""


@dataclass(frozen=True)
class Sentence:
    """Sentence in the form that a decoder takes."""

    tokens: tuple[int, ...]
    """Tokens of the source side, with the end of sentence."""
    literals: tuple[str, ...]
    """Literals that the marks stand for, in order."""
    left: int = 0
    """Number of literals beyond the number of marks: the sentence must be split, as these are unknown here."""


@dataclass(frozen=True)
class Tokens:
    """Pieces of each side, by the numbers of their tokens."""

    pieces: Pieces
    source: tuple[int, ...]
    target: tuple[int, ...]

    def sentence(self, text: str) -> Sentence:
        """Tokenise a sentence of the source language; text without a piece becomes a literal."""
        marked = mark(text, self._known)
        tokens: list[int] = []
        for piece in self.pieces.encode(simple(plain(marked.text), self._has))[:-1]:
            tokens += self._rows(piece)
        return Sentence((*tokens, END), marked.literals, marked.left)

    def surface(self, tokens: Sequence[int] | NDArray[np.int64], literals: Sequence[str]) -> list[str]:
        """Return the text of each token of a hypothesis, with literals restored; joined, they are the translation.

        Spaces come before tokens. A literal that the hypothesis lacks is appended to its last word.
        """
        pieces = [self.target[token] for token in tokens]
        parts = restore(self.pieces.surface(pieces), literals)
        missing = [
            literal
            for number, literal in enumerate(literals)
            if FIRST_MARK + number not in {int(index) for index in tokens}
        ]
        if missing and parts:
            parts[-1] += "".join(f" {literal}" for literal in missing)
        if parts:
            first = next((number for number, part in enumerate(parts) if part), 0)
            parts[first] = parts[first].removeprefix(" ")
        return parts

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {piece: number for number, piece in enumerate(self.source)}

    @cached_property
    def _letters(self) -> dict[str, int]:
        """Numbers of the single characters of the source side."""
        return {text: number for number, piece in enumerate(self.source) if len(text := self.pieces.text(piece)) == 1}

    @cached_property
    def _answers(self) -> dict[str, bool]:
        return {}

    def _known(self, one: str) -> bool:
        if one not in self._answers:
            self._answers[one] = all(part == " " or self._has(part) for part in simple(plain(one), self._has))
        return self._answers[one]

    def _has(self, one: str) -> bool:
        return one in self._letters and one != SPACE

    def _rows(self, piece: int) -> Iterable[int]:
        number = self._numbers.get(piece)
        if number is not None:
            return (number,)
        return (self._letters.get(letter, UNKNOWN) for letter in self.pieces.text(piece))


def trimmed(pieces: Pieces, source: Iterable[Sequence[int]], target: Iterable[Sequence[int]]) -> Tokens:
    """Return the tokens that occur in training pairs, and all single characters.

    Foreign letters of the source side are left out, so that they are copied.

    Args:
        source, target: tokens of training sentences, as numbered by ``Pieces.encode``.
    """
    used, produced = ({token for row in side for token in row} for side in (source, target))
    letters = {number for number in range(SPECIAL, len(pieces)) if len(pieces.text(number)) == 1}
    first = range(SPECIAL)
    return Tokens(
        pieces,
        (*first, *sorted(piece for piece in (used | letters) - set(first) if not _foreign(pieces.text(piece)))),
        (*first, *sorted((produced | letters) - set(first))),
    )


def _foreign(text: str) -> bool:
    """Return whether a text has letters that are not Latin."""
    return any(
        character != SPACE and character.isalpha() and "LATIN" not in unicodedata.name(character, "")
        for character in text
    )
