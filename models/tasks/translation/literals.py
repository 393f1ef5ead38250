"""What a translation copies: numbers, addresses, names of code, emoji and foreign scripts become marks, and come back.

A mark is one character of Unicode's private area, ``MARKS[0]`` for the first literal of a sentence and so on. Models
learn marks as tokens, so that a literal survives translation letter by letter whatever it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST = 12
"""Literals of a sentence; one with more has to be cut."""
MARKS = tuple(chr(0xE000 + number) for number in range(MOST))

_ADDRESS = r"(?:https?|ftp)://[^\s<>\"]*[^\s<>\"'.,;:!?)\]}…»”’]|www\.[^\s<>\"]*[^\s<>\"'.,;:!?)\]}…»”’]"
_MAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_NAMED = r"(?<![\w/])(?:[@#]\w[\w-]*|/?[ru]/\w+)"  # @user, #tag, r/place
_CODE = (
    r"\$\w+(?:->\w+|::\w+)*(?:\(\))?"  # $variable
    r"|(?<![\w-])--?[A-Za-z][\w-]*(?==|\b)(?<=[\w])(?<!-)(?=[\s,.;:=)]|$)"  # --option
    r"|\w+(?:(?:::|->|\\)\w+)+(?:\(\))?"  # Class::method, namespace\name
    r"|\w*[A-Za-z0-9]_\w+(?:\(\))?|_\w*[A-Za-z]\w*(?:\(\))?"  # snake_case
    r"|[A-Za-z_]\w*\(\)"  # call()
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*"  # camelCase, CamelCase
    r"|(?<!\w)(?:[\w-]+\.)+(?:php|ini|py|rs|js|jsx|ts|tsx|json|html|css|xml|yml|yaml|toml|conf|txt|md|lua|c|h|so|dll|sh|exe|log|sql|org|com|net)(?!\w)"
    r"|(?<![\w/])(?:/[\w.-]+){2,}/?"  # /path/to
)
_NUMBER = r"\d+(?:[.,:/]\d+)*"
_EMOJI = (
    r"(?:[\U0001F000-\U0001FAFF\u2300-\u23FF\u2600-\u27BF\u2B00-\u2BFF\u2190-\u21FF\u3030\u303D]"
    r"[\uFE0F\u20E3\u200D\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F\U0001F000-\U0001FAFF\u2600-\u27BF]*)+"
)
_PRIVATE = r"[\uE000-\uF8FF]+"
_PATTERN = re.compile("|".join((_ADDRESS, _MAIL, _NAMED, _CODE, _NUMBER, _EMOJI, _PRIVATE)))


@dataclass(frozen=True)
class Marked:
    """A sentence with marks, and what they stand for."""

    text: str
    literals: tuple[str, ...]


def mark(sentence: str, knows: Callable[[str], bool] | None = None) -> Marked:
    """The sentence with a mark for each literal, in their order; literals past the twelfth stay.

    Args:
        knows: whether a model knows a character; runs of others are literals too. None: it knows all.
    """
    found: list[str] = []
    parts: list[str] = []
    end = 0
    for start, stop in spans(sentence, knows)[:MOST]:
        parts += [sentence[end:start], MARKS[len(found)]]
        found.append(sentence[start:stop])
        end = stop
    return Marked("".join((*parts, sentence[end:])), tuple(found))


def spans(sentence: str, knows: Callable[[str], bool] | None = None) -> list[tuple[int, int]]:
    """Where literals lie, [start, stop) in characters, in order and apart."""
    found = [match.span() for match in _PATTERN.finditer(sentence)]
    if knows is None:
        return found
    inside = bytearray(len(sentence))
    for start, stop in found:
        inside[start:stop] = b"\1" * (stop - start)
    strange = [not inside[place] and not one.isspace() and not knows(one) for place, one in enumerate(sentence)]
    place = 0
    while place < len(sentence):
        stop = place
        while stop < len(sentence) and strange[stop]:
            stop += 1
        if stop > place:
            found.append((place, stop))
        place = max(stop, place + 1)
    return sorted(found)


def mark_pair(source: str, target: str) -> tuple[str, str] | None:
    """Both sides of a training pair, marked alike; None where they do not hold the same literals, or more than twelve.

    Decimal points and commas are one: English and Russian part there.
    """
    places = spans(target)
    marked = mark(source)
    if len(places) != len(marked.literals) or len(spans(source)) > MOST:
        return None
    left = [_alike(literal) for literal in marked.literals]
    parts: list[str] = []
    end = 0
    for start, stop in places:
        literal = _alike(target[start:stop])
        if literal not in left:
            return None
        number = left.index(literal)
        left[number] = ""
        parts += [target[end:start], MARKS[number]]
        end = stop
    return marked.text, "".join((*parts, target[end:]))


def _alike(literal: str) -> str:
    return literal.replace(",", ".") if literal[0].isdigit() else literal


def restore(parts: Sequence[str], literals: Sequence[str]) -> list[str]:
    """Pieces of a translation with marks replaced by what they stand for; a mark that stands for nothing vanishes."""
    table = {ord(sign): literals[number] if number < len(literals) else "" for number, sign in enumerate(MARKS)}
    return [part.translate(table) for part in parts]
