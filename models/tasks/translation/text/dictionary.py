"""Dictionaries of fairseq: a token and its count per line, numbered in order after four special tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.artefact import ArtefactError
from models.tasks.translation.text.vocabulary import UNKNOWN

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
"""Special tokens 0 to 3, as in ``vocabulary``; they are not in the file."""
LARGEST_BYTES = 64 << 20
_MULTIPLE = 8
"""fairseq pads dictionaries to a multiple of this number; released ones have the fillers in the file."""


@dataclass(frozen=True)
class Dictionary:
    """Tokens of a language by number."""

    symbols: tuple[str, ...]
    """Tokens with the four special ones."""

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def filled(self) -> int:
        """Rows of a table of embeddings with all fillers."""
        return -(-len(self) // _MULTIPLE) * _MULTIPLE

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    def number(self, symbol: str) -> int:
        """Return the number of a token; that of ``<unk>`` for unknown tokens."""
        return self._numbers.get(symbol, UNKNOWN)

    def of_size(self, rows: int, name: str) -> Dictionary:
        """Return the dictionary for a table of embeddings with ``rows`` rows.

        Fillers that the file lacks are added, up to the next multiple of eight.

        Args:
            name: name of the file, for messages.

        Raises:
            ArtefactError: the table has another size.
        """
        fillers = rows - len(self)
        if fillers == 0:
            return self
        if fillers < 0 or rows % _MULTIPLE or fillers >= _MULTIPLE:
            raise ArtefactError(
                f"{name}: {len(self)} tokens with the four of fairseq's own, and the checkpoints have embeddings of "
                f"{rows}; take the dictionary that came with the checkpoints"
            )
        return Dictionary((*self.symbols, *(f"madeupword{number:04d}" for number in range(fillers))))


def parse(content: bytes, name: str) -> Dictionary:
    """Return the dictionary in a file.

    Args:
        name: name of the file, for messages.

    Raises:
        ArtefactError: the file is too large, not UTF-8 or empty, a line is not a token, a space and a count, or a token
            occurs twice; the message names the line.
    """
    if len(content) > LARGEST_BYTES:
        raise ArtefactError(f"{name}: {len(content)} bytes; a dictionary has at most {LARGEST_BYTES}")
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        place = content.count(b"\n", 0, error.start) + 1
        raise ArtefactError(f"{name}, line {place}: not UTF-8 ({error.reason})") from error
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise ArtefactError(f"{name}: empty; a token and its count a line are needed")
    places = {symbol: 0 for symbol in SPECIAL}
    for number, line in enumerate(lines, 1):
        symbol = _symbol(line, f"{name}, line {number}")
        before = places.setdefault(symbol, number)
        if before != number:
            where = f"also in line {before}" if before else "one of fairseq's own, which is not in files"
            raise ArtefactError(f"{name}, line {number}: {symbol[:80]!r} is {where}")
    return Dictionary(tuple(places))


def _symbol(line: str, place: str) -> str:
    symbol, space, count = line.rpartition(" ")
    if not space or not symbol or any(character.isspace() for character in symbol):
        raise ArtefactError(f"{place}: {line[:80]!r}; a token without spaces, a space and its count are needed")
    if not (count.rstrip("\r").isdecimal() and count.isascii()):
        raise ArtefactError(f"{place}: the count of {symbol[:80]!r} is {count[:80]!r}; a whole number is needed")
    return symbol
