"""Literals that a translation copies: numbers, addresses, names of code, emoji and foreign scripts.

In the model's input each literal is replaced by a mark, which is replaced back in the translation. A mark is one
character of Unicode's private area, ``MARKS[0]`` for the first literal of a sentence and so on. Models learn marks as
tokens, so that any literal survives translation unchanged.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST = 12
"""Largest number of literals of a sentence; a sentence with more is split."""
MARKS = tuple(chr(0xE000 + number) for number in range(MOST))

# A match of each alternative cannot begin inside another one, or its length is bounded: the time of a search is linear
# in the length of any text.
_ADDRESS = r"(?:https?|ftp)://[^\s<>\"]*[^\s<>\"'.,;:!?)\]}…»”’]|www\.[^\s<>\"]*[^\s<>\"'.,;:!?)\]}…»”’]"
_MAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+"
_NAMED = r"(?<![\w/])(?:[@#]\w[\w-]*|/?[ru]/\w+)"  # @user, #tag, r/place
_CODE = (
    r"\$\w+(?:->\w+|::\w+)*(?:\(\))?"  # $variable
    r"|(?<![\w-])--?[A-Za-z][\w-]*(?==|\b)(?<=[\w])(?<!-)(?=[\s,.;:=)]|$)"  # --option
    r"|(?<!\w)\w++(?:(?:::|->|\\)\w++)+(?:\(\))?"  # Class::method, namespace\name
    r"|(?<!\w)(?:\w*[A-Za-z0-9]_\w+|_\w*[A-Za-z]\w*)(?:\(\))?"  # snake_case
    r"|(?<!\w)[A-Za-z_]\w*+\(\)"  # call()
    r"|(?<![a-z])[a-z]++[A-Z]\w*|[A-Z][a-z]++[A-Z]\w*"  # camelCase, CamelCase
    r"|(?<![\w-])(?:[\w-]++\.){1,8}(?:php|ini|py|rs|js|jsx|ts|tsx|json|html|css|xml|yml|yaml|toml|conf|txt|md|lua|c|h|so|dll|sh|exe|log|sql|org|com|net)(?!\w)"
    r"|(?<![\w/])(?:/[\w.-]+){2,}/?"  # /path/to
)
_NUMBER = r"\d+(?:[.,:/]\d+)*"
_EMOJI = (
    r"[0-9#*]\uFE0F?\u20E3"  # keycaps
    r"|[\u00A9\u00AE\u203C\u2049\u2122\u2139\u24C2\u25A0-\u25FF\u3297\u3299]\uFE0F"
    r"|(?:[\U0001F000-\U0001FAFF\u2300-\u23FF\u2600-\u27BF\u2B00-\u2BFF\u2190-\u21FF\u3030\u303D]"
    r"[\uFE0F\u20E3\u200D\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F\U0001F000-\U0001FAFF\u2600-\u27BF]*)+"
)
_PRIVATE = r"[\uE000-\uF8FF]+"
_MARKUP = r"</?[A-Za-z][^<>]{0,200}>|&#?\w{1,31};"  # <b>, &amp;
_NO_WORD = r"(?<![^\W\d_])[^\W\d_]{41,}+"  # no English word is as long
_PATTERN = re.compile("|".join((_ADDRESS, _MAIL, _NAMED, _MARKUP, _EMOJI, _CODE, _NUMBER, _PRIVATE, _NO_WORD)))
_JOINED = frozenset({"Mn", "Mc", "Me", "Cf"})


@dataclass(frozen=True)
class Marked:
    """Sentence with marks, and the literals that they stand for."""

    text: str
    literals: tuple[str, ...]
    left: int = 0
    """Number of literals after the twelfth, which are unchanged in the text."""


def mark(sentence: str, knows: Callable[[str], bool] | None = None) -> Marked:
    """Replace each literal of a sentence by a mark, in order.

    Literals after the twelfth stay in the text, unless they are marks themselves.

    Args:
        knows: whether a model knows a character; runs of others are literals too. None: all are known.
    """
    literals: list[str] = []
    parts: list[str] = []
    end = 0
    places = spans(sentence, knows)
    for start, stop in places[:MOST]:
        parts += [sentence[end:start], MARKS[len(literals)]]
        literals.append(sentence[start:stop])
        end = stop
    rest = sentence[end:]
    left = max(len(places) - MOST, 0)
    if left:
        rest = rest.translate(dict.fromkeys(map(ord, MARKS)))
    return Marked("".join((*parts, rest)), tuple(literals), left)


def spans(sentence: str, knows: Callable[[str], bool] | None = None) -> list[tuple[int, int]]:
    """Return the positions of literals, [start, stop) in characters, in order and disjoint.

    A combining character, such as an accent, belongs to the literal of the character before it, and is no literal after
    a known letter.
    """
    positions = [match.span() for match in _PATTERN.finditer(sentence)]
    if knows is None:
        return positions
    inside = bytearray(len(sentence))
    for start, stop in positions:
        inside[start:stop] = b"\1" * (stop - start)
    strange: list[bool] = []
    for place, character in enumerate(sentence):
        kind = unicodedata.category(character)
        if inside[place] or character.isspace():
            strange.append(False)
        elif place and kind in _JOINED and (strange[-1] or (kind[0] == "M" and inside[place - 1])):
            strange.append(True)
        elif place and kind[0] == "M" and not sentence[place - 1].isspace():
            strange.append(False)
        else:
            strange.append(not knows(character))
    place = 0
    while place < len(sentence):
        stop = place
        while stop < len(sentence) and strange[stop]:
            stop += 1
        if stop > place:
            positions.append((place, stop))
        place = max(stop, place + 1)
    return sorted(positions)


def mark_pair(source: str, target: str) -> tuple[str, str] | None:
    """Mark both sides of a training pair alike; None if their literals differ, or are more than twelve.

    Decimal points and commas are equal, as English and Russian differ in them.
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
    """Replace the marks in pieces of a translation by their literals; marks without a literal are removed."""
    table = {ord(sign): literals[number] if number < len(literals) else "" for number, sign in enumerate(MARKS)}
    return [part.translate(table) for part in parts]
