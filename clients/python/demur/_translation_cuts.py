"""Documents of any length cut into pieces that a service takes in one question; joined they are the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

PIECE_CHARACTERS = 16_000
"""Of one piece at most: some hundred sentences, so that the first translations come soon."""
PIECE_ENDS = 400
"""Places of one piece at most where a sentence may end. A call takes 1024 sentences; long ones are cut further."""

_MAY_END = re.compile(
    r"\s{2,}|[\t\n\v\f\x1c-\x1e\x85\u2028\u2029]"
    r"|(?<![.!?\u2026\u203d])[.!?\u2026\u203d]++[\"'\u201d\u2019\u00bb)\]]*+\s+"
)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_LINE = re.compile(r"[\n\x85\u2028\u2029]")
_SENTENCE = re.compile(
    r"(?:(?<=[^\W\d_]{5})\.|[!?\u2026\u203d])[\"'\u201d\u2019\u00bb)\]]*\s+(?=[\"'\u201c\u2018\u00ab(\[]*[^\W\d_a-z])"
)
"""A full stop after a longer word: short ones may be abbreviations."""
_SPACE = re.compile(r"\s+")


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where the pieces of a text lie, characters [start, stop), in their order; none of an empty text.

    Cuts are made after the last empty line in the second half of what a piece may hold, else after the last line break
    there, the last end of a sentence, the last space, or anywhere.
    """
    start = 0
    while start < len(text):
        stop = _stop(text, start)
        yield start, stop
        start = stop


def _stop(text: str, start: int) -> int:
    limit = min(start + PIECE_CHARACTERS, len(text))
    last = next(islice(_MAY_END.finditer(text, start, limit), PIECE_ENDS - 1, None), None)
    if last is not None:
        limit = last.end()
    if limit == len(text):
        return limit
    half = start + (limit - start + 1) // 2
    for ending in (_PARAGRAPH, _LINE, _SENTENCE, _SPACE):
        stops = [match.end() for match in ending.finditer(text, half, limit)]
        if stops:
            return stops[-1]
    return limit
