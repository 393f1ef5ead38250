"""SentencePiece model for both languages: sentences to tokens and back, with marks for literals.

Text is normalised first (``plain``): NFKC, straight quotes, no control characters. The exact text of each piece of a
translation is known (``surface``), so that an uncertain token can be underlined.
"""

import io
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from models.tasks.translation.text.literals import MARKS, Marked, mark
from models.tasks.translation.text.vocabulary import END, PAD, START, UNKNOWN

SPACE = "\u2581"
"""Symbol of a space in pieces."""
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4\u0060", "'"),
        **dict.fromkeys("\u2012\u2013\u2014\u2015", "\u2014"),
        **dict.fromkeys("\u2010\u2011\u2212", "-"),
    }
)
_LETTERS = "".join(
    (
        "".join(chr(code) for code in range(0x21, 0x7F) if not chr(code).isdigit()),
        "".join(chr(code) for code in range(0x410, 0x450)),
        "\u0401\u0451\u00ab\u00bb\u2014",
    )
)
"""Characters that are always in the alphabet: Latin and Russian letters, punctuation."""
_STROKES = {
    **dict(zip("\u00d8\u00f8\u0141\u0142\u0110\u0111\u0126\u0127\u0166\u0167\u0131", "OoLlDdHhTti", strict=True)),
    "\u00df": "ss",
    "\u00c6": "AE",
    "\u00e6": "ae",
    "\u0152": "OE",
    "\u0153": "oe",
}
"""Replacements of letters that Unicode does not decompose."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def plain(text: str) -> str:
    """Normalise a text: NFKC, straight quotes, one kind of dash, single spaces, nothing invisible.

    The quotes « and », and marks, stay.
    """
    seen = (
        character
        if character in MARKS or unicodedata.category(character) not in _INVISIBLE
        else " "
        if character.isspace()
        else ""
        for character in text
    )
    folded = unicodedata.normalize("NFKC", "".join(seen).translate(_PLAIN)).translate(_PLAIN).replace("--", "\u2014")
    return " ".join(folded.split())


def simple(text: str, knows: Callable[[str], bool]) -> str:
    """Strip accents and strokes of unknown letters in plain text, if the bare letters are known.

    Lone accents are removed.
    """
    return "".join(character if knows(character) else _simple(character, knows) for character in text)


def _simple(character: str, knows: Callable[[str], bool]) -> str:
    parts = unicodedata.normalize("NFD", character)
    letters = "".join(_STROKES.get(part, part) for part in parts if unicodedata.category(part)[0] != "M")
    return letters if all(map(knows, letters)) else character


@dataclass(frozen=True)
class Pieces:
    """Trained SentencePiece model."""

    content: bytes
    """Content of the model file."""

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @cached_property
    def _processor(self) -> Any:
        from sentencepiece import SentencePieceProcessor

        return SentencePieceProcessor(model_proto=self.content)

    @cached_property
    def alphabet(self) -> frozenset[str]:
        """Characters that the model knows."""
        return frozenset(
            character
            for number in range(len(self))
            for character in self._processor.id_to_piece(number)
            if character not in (SPACE, *MARKS)
        )

    def knows(self, character: str) -> bool:
        """Return whether the simple, plain form of a character consists of known characters."""
        if character not in self._known:
            self._known[character] = all(part == " " or part in self.alphabet for part in self.simple(plain(character)))
        return self._known[character]

    def simple(self, text: str) -> str:
        """Call the function ``simple`` with the model's alphabet."""
        return simple(text, self.alphabet.__contains__)

    @cached_property
    def _known(self) -> dict[str, bool]:
        return {}

    def marked(self, sentence: str) -> Marked:
        """Return the sentence as plain text, with marks for its literals."""
        with_marks = mark(sentence, self.knows)
        return replace(with_marks, text=self.simple(plain(with_marks.text)))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a marked sentence, with the end of sentence."""
        return [*self._processor.encode(text), END]

    def text(self, token: int) -> str:
        """Return a piece as stored, with SPACE for a space."""
        return str(self._processor.id_to_piece(token))

    def surface(self, tokens: Sequence[int]) -> list[str]:
        """Return the text of each token; joined and stripped, they are the sentence.

        Special tokens have an empty text.
        """
        return [
            "" if token in (START, PAD, END, UNKNOWN) else self._processor.id_to_piece(token).replace(SPACE, " ")
            for token in tokens
        ]


def learn(sentences: Iterable[str], size: int, *, seed: int = 0) -> Pieces:
    """Train pieces on marked, plain sentences of both languages.

    Args:
        size: size of the vocabulary, tokens.

    Raises:
        ValueError: there are too few sentences for that size.
    """
    from sentencepiece import SentencePieceTrainer, set_random_generator_seed

    set_random_generator_seed(seed)
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            vocab_size=size,
            model_type="bpe",
            character_coverage=0.9998,
            required_chars=_LETTERS,
            normalization_rule_name="identity",
            user_defined_symbols=list(MARKS),
            bos_id=START,
            pad_id=PAD,
            eos_id=END,
            unk_id=UNKNOWN,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(f"{size} pieces cannot be learnt from these sentences: {error}") from error
    return Pieces(model.getvalue())
