"""Merges of subword-nmt (byte-pair encoding): the file ``code`` of the released recipe, and segmentation."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from models.artefact import ArtefactError
from models.tasks.translation.text.moses import library

CONTINUED = "@@"
"""Suffix of a piece that does not end its word."""
LARGEST_BYTES = 64 << 20
LONGEST_WORD = 250
"""Largest number of letters of a word; longer words are split first, so that the time is linear in their length. Moses
splits URLs at their punctuation, so they are shorter.
"""
_END = "</w>"
_VERSIONS = {"0.1": False, "0.2": True}
"""Version of the file, and whether the last letter of a word is joined with its end; without a version line it is
0.1.
"""
_REMEMBERED = 50_000
"""Number of words whose pieces are cached."""


@dataclass(frozen=True)
class Merges:
    """Pairs of pieces that are merged, by priority."""

    pairs: tuple[tuple[str, str], ...]
    joined_end: bool
    """True if the last letter of a word is joined with its end (version 0.2)."""

    def pieces(self, words: Iterable[str]) -> list[str]:
        """Split words into pieces, with the suffix ``CONTINUED`` if the word goes on."""
        symbols: list[str] = []
        for word in words:
            parts = [word[start : start + LONGEST_WORD] for start in range(0, len(word), LONGEST_WORD)]
            for part in parts[:-1]:
                pieces = self._segmented(part)
                symbols += [*pieces[:-1], pieces[-1] + CONTINUED]
            symbols += self._segmented(parts[-1])
        return symbols

    def makes(self, symbol: str) -> bool:
        """Return whether these merges can produce a piece, as far as single pairs show; single letters always can."""
        text = symbol.removesuffix(CONTINUED)
        if len(text) < 2:
            return True
        if symbol.endswith(CONTINUED):
            return text in self._made
        return text + _END in self._made or (not self.joined_end and text in self._made)

    @cached_property
    def _made(self) -> frozenset[str]:
        return frozenset(map("".join, self.pairs))

    @cached_property
    def _encoder(self) -> Any:
        lines = [f"#version: {version}" for version, joined in _VERSIONS.items() if joined == self.joined_end]
        lines += [" ".join(pair) for pair in self.pairs]
        return library("subword_nmt.apply_bpe").BPE(io.StringIO("\n".join(lines)))

    def _segmented(self, word: str) -> list[str]:
        if len(self._encoder.cache) > _REMEMBERED:
            self._encoder.cache.clear()
        return list(self._encoder.segment_tokens([word]))


def parse(content: bytes, name: str) -> Merges:
    """Return the merges in a file.

    Args:
        name: name of the file, for messages.

    Raises:
        ArtefactError: the file is too large, not UTF-8, of an unknown version or without merges, or a line is not two
            pieces separated by a space; the message names the line.
    """
    if len(content) > LARGEST_BYTES:
        raise ArtefactError(f"{name}: {len(content)} bytes; merges have at most {LARGEST_BYTES}")
    try:
        lines = content.decode("utf-8-sig").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        place = content.count(b"\n", 0, error.start) + 1
        raise ArtefactError(f"{name}, line {place}: not UTF-8 ({error.reason})") from error
    joined_end, first = False, 0
    if lines[0].startswith("#version:"):
        version = lines[0].partition(":")[2].strip()
        if version not in _VERSIONS:
            raise ArtefactError(f"{name}, line 1: version {version[:20]!r}; {' and '.join(_VERSIONS)} are known")
        joined_end, first = _VERSIONS[version], 1
    pairs = tuple(_pair(line, f"{name}, line {number}") for number, line in enumerate(lines[first:], first + 1))
    if not pairs:
        raise ArtefactError(f"{name}: no merges; two pieces with a space between are needed in each line")
    return Merges(pairs, joined_end)


def _pair(line: str, place: str) -> tuple[str, str]:
    parts = line.strip("\r ").split(" ")
    if len(parts) != 2 or not all(parts):
        raise ArtefactError(f"{place}: {line[:80]!r}; two pieces with a space between are needed")
    return parts[0], parts[1]
