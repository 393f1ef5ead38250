"""Split of texts into sentences and the parts between them; joined, they are exactly the text."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_BREAK = re.compile(r"[^\S\n]*\n\s*|[^\S\n]{2,}|\t\s*|[\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
"""Unconditional ends of a sentence: new lines, tabs, runs of spaces."""
_BULLET = re.compile(r"(?:[-*+\u2022\u2013\u2014>#]+|\(?\d{1,3}[.)])\s+")
_END = re.compile(r"(?<![.!?\u2026\u203d])[.!?\u2026\u203d]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s)")
_OPENS = re.compile(r"[\"'\u201c\u2018\u00ab(\[\u00bf\u00a1]*[^\W_a-z\u0430-\u044f\u0451]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|vs|etc|e\.g|i\.e|cf|al|Inc|Ltd|Corp|Co"
    r"|No|Nos|Fig|Figs|Eq|Sec|Ch|Vol|pp|ed|eds|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|a\.m|p\.m)"
    r"|(?:^|[\s.(])[A-Z])\.$"
)
_LONGEST_ABBREVIATION = 12
_EDGE = re.compile(
    r"[\s\U0001F000-\U0001FAFF\u2300-\u23FF\u2600-\u27BF\u2B00-\u2BFF\uFE0F\u200D\u20E3\U000E0020-\U000E007F]+"
)
_JOINING = "\ufe0f\u200d\u20e3"
_CUTS = (r"[;:]\s+", r"\s+[\u2013\u2014-]\s+", r",\s+", r"\s+")


@dataclass(frozen=True)
class Segment:
    """Part of a text."""

    text: str
    translated: bool
    """True if the part is a sentence; other parts are copied."""


def segments(text: str, fits: Callable[[str], bool]) -> list[Segment]:
    """Return the parts of a text in order; joined, they are the text.

    Args:
        fits: whether a sentence is short enough for a model; longer ones are split at punctuation, else at spaces, else
            in the middle of a word.
    """
    parts: list[Segment] = []
    between: list[str] = []
    for part in _sentences(text, fits):
        if not part.translated:
            between.append(part.text)
            continue
        if any(between):
            parts.append(Segment("".join(between), False))
        between.clear()
        parts.append(part)
    if any(between):
        parts.append(Segment("".join(between), False))
    return parts


def _sentences(text: str, fits: Callable[[str], bool]) -> Iterator[Segment]:
    """Yield the parts of ``segments`` before adjacent ones are joined."""
    for part in _parts(text):
        if part.translated and _speaks(part.text):
            for piece in _cut(part.text, fits):
                yield from _bare(piece)
        else:
            yield Segment(part.text, False)


def _speaks(piece: str) -> bool:
    """Return whether a text contains a letter."""
    return any(unicodedata.category(character)[0] == "L" for character in piece)


def _parts(text: str) -> Iterator[Segment]:
    """Yield sentences and the parts between them."""
    end = 0
    for space in _BREAK.finditer(text):
        yield from _line(text[end : space.start()])
        yield Segment(space.group(), False)
        end = space.end()
    yield from _line(text[end:])


def _line(line: str) -> Iterator[Segment]:
    begin = 0
    if bullet := _BULLET.match(line):
        begin = bullet.end()
        yield Segment(bullet.group(), False)
    start = begin
    for stop in _END.finditer(line, begin):
        after = stop.end()
        while after < len(line) and line[after].isspace():
            after += 1
        ending = line[max(start, stop.end() - _LONGEST_ABBREVIATION) : stop.end()]
        if after == len(line) or not _OPENS.match(line, after) or _ABBREVIATION.search(ending):
            continue
        yield Segment(line[start : stop.end()], True)
        yield Segment(line[stop.end() : after], False)
        start = after
    yield Segment(line[start:], True)


def _bare(piece: str) -> Iterator[Segment]:
    """Yield a sentence without spaces and emoji at its edges, and these; a text without letters is no sentence."""
    if not _speaks(piece):
        yield Segment(piece, False)
        return
    before = _EDGE.match(piece)
    begin = before.end() if before else 0
    end = len(piece)
    while end > begin and _EDGE.match(piece, end - 1):
        end -= 1
    while end < len(piece) and piece[end] in _JOINING:  # belongs to the character before it, such as a keycap
        end += 1
    yield Segment(piece[:begin], False)
    yield Segment(piece[begin:end], True)
    yield Segment(piece[end:], False)


def _cut(sentence: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Yield a sentence that fits, or its parts; the time is O(n log n) in its length."""
    waiting = [sentence]
    while waiting:
        piece = waiting.pop()
        if len(piece) < 2 or fits(piece):
            yield piece
            continue
        place = _middle(piece)
        waiting += [piece[place:], piece[:place]]


def _middle(sentence: str) -> int:
    """Return the position to split a sentence: the strongest punctuation in its middle half, else anywhere."""
    low, high = len(sentence) // 4, len(sentence) - len(sentence) // 4
    for pattern in _CUTS:
        ends = [match.end() for match in re.compile(pattern).finditer(sentence, low, high)]
        inside = [end for end in ends if 0 < end < len(sentence)]
        if inside:
            return min(inside, key=lambda end: abs(2 * end - len(sentence)))
    return max(len(sentence) // 2, 1)
