"""JSON made from JSON: values, names and lists changed where they stand, written so that no parser is spared.

Numbers beyond every type, half surrogates, names that are there twice and depths that end stacks cannot be said by
``json.dumps``: values are written here, and those that no Python value stands for as the text that they are.
"""

import copy
import json
import random
from functools import lru_cache
from typing import Any

from tests.fuzz import raw


class Text(str):
    """JSON as it is to be written."""

    __slots__ = ()


class Object(list[Any]):
    """Pairs [name, value]; a name may come twice."""


_EDGES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64),
    *(-(2**63), -(2**63) - 1, 0.5, -0.5, 1e-320, 1e38, 1e39, 1.7e308, -1.7e308),
    *map(Text, ("1e400", "-1e400", "-0", "-0.0", "1E+2", "NaN", "Infinity", "01", "1.", ".5", "+1", "0x10", "9" * 25)),
    *map(Text, ("9" * 400, "9" * 5000, "0." + "1" * 3000, "1e-99999", "1e99999999999", "tru", "nul", '"', "'a'", "")),
    *map(Text, ('"\\ud800"', '"\\udfff\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\x"', '"\t"', '"\\u12"')),
    *("", "a", "0", "1", "nan", "-", "null", "True", "é", "日本", "😀", "\u202e", "\ufeff", "a" * 300, "../../x", "%s"),
    *("decide", "explore", "1e400", "AA==", "A", "====", "\0", "\n", "0123456789abcdef-0", "f" * 16 + "-9"),
    *([], Object(), [[]], [None], [0], [[0, 0]], Object([["base64", "AAAA"]]), Object([["", 0]])),
    *(Text("[" * 600 + "]" * 600), Text('{"a":' * 600 + "1" + "}" * 600), Text("[" * 3000)),
)
_NAMES = ("", "a", "é", "rows", "columns", "__class__", "base64", "\0", "x" * 200, "$ref", "scene", "texts", "value")


def mutated(rng: random.Random, sample: bytes) -> bytes:
    """A document with one to three changes; some are garbled as bytes on top."""
    document: Any = _read(sample)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        document = _changed(rng, document)
    text = written(document).encode(errors="surrogatepass")[: raw.MOST_BYTES]
    return raw.mutated(rng, text) if rng.random() < 0.12 else text


def written(value: Any) -> str:
    """As JSON."""
    if isinstance(value, Text):
        return value
    if isinstance(value, Object):
        return "{" + ",".join(f"{json.dumps(name)}:{written(item)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=256)
def _text(sample: bytes) -> str:
    return sample.decode(errors="replace")


def _read(sample: bytes) -> Any:
    try:
        return json.loads(_text(sample), object_pairs_hook=lambda pairs: Object([list(pair) for pair in pairs]))
    except ValueError:
        return None


def _changed(rng: random.Random, document: Any) -> Any:
    """The document with one change; what it is made of is changed in place."""
    holder = [document]
    place = rng.choice(_places(holder))
    _change(rng, *place, holder)
    return holder[0]


def _places(holder: list[Any]) -> list[tuple[list[Any], int]]:
    """Where values stand: a list, or a pair [name, value], and the index there."""
    places: list[tuple[list[Any], int]] = []
    waiting = [holder]
    while waiting:
        node = waiting.pop()
        pairs = isinstance(node, Object)
        for index, value in enumerate(node):
            holds = value if pairs else node
            at = 1 if pairs else index
            places.append((holds, at))
            inner = holds[at]
            if isinstance(inner, list):
                waiting.append(inner)
        if len(places) > 3000:
            break
    return places


def _change(rng: random.Random, holds: list[Any], at: int, holder: list[Any]) -> None:
    value = holds[at]
    kind = rng.randrange(12)
    if kind < 5:
        holds[at] = _edge(rng)
    elif isinstance(value, Object) and value and kind < 9:
        _change_pairs(rng, value)
    elif isinstance(value, list) and value and kind < 9:
        _change_list(rng, value)
    elif isinstance(value, bool) or not isinstance(value, str | int | float):
        holds[at] = [value] if kind < 11 else Object([["a", value]])
    elif isinstance(value, str):
        holds[at] = _changed_text(rng, value)
    else:
        holds[at] = rng.choice((-value, value + 1, value * 2**33, str(value), [value], value * 1e30))


def _change_pairs(rng: random.Random, pairs: Object) -> None:
    index = rng.randrange(len(pairs))
    kind = rng.randrange(6)
    if kind == 0:
        del pairs[index]
    elif kind == 1:
        pairs.append(list(pairs[index]))
    elif kind == 2:
        pairs.append([rng.choice(_NAMES), _edge(rng)])
    elif kind == 3:
        pairs[index][0] = rng.choice(_NAMES)
    elif kind == 4:
        pairs[index][1] = pairs[rng.randrange(len(pairs))][1]
    else:
        pairs.append([pairs[index][0], _edge(rng)])


def _change_list(rng: random.Random, values: list[Any]) -> None:
    index = rng.randrange(len(values))
    kind = rng.randrange(4)
    if kind == 0:
        del values[index]
    elif kind == 1:
        values[index:index] = [values[index]] * rng.choice((1, 2, 30))
    elif kind == 2:
        values.append(_edge(rng))
    else:
        del values[index:]


def _edge(rng: random.Random) -> Any:
    """A value from the edge; one that can be changed is a new one each time."""
    if rng.random() < 0.02:
        depth = rng.randrange(100, 1100)  # some parsers and writers end within
        return Text("[" * depth + "]" * depth) if rng.random() < 0.5 else Text('{"a":' * depth + "0" + "}" * depth)
    edge = rng.choice(_EDGES)
    return copy.deepcopy(edge) if isinstance(edge, list) else edge


def _changed_text(rng: random.Random, value: str) -> str:
    if not value or rng.random() < 0.2:
        return value * 2 + rng.choice("a0-,. \0é")
    at = rng.randrange(len(value))
    return (
        value[:at] + rng.choice(("", "a", "0", "\0", " ", ",", "é", "😀", "-1", "nan")) + value[at + rng.randrange(2) :]
    )
