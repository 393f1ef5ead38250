"""Errors for JSON bodies that could not be decoded: the cause, and what to send instead."""

import json
import re
from itertools import islice
from typing import NamedTuple

from services.runtime.errors import InvalidInput, shortened

BOM = b"\xef\xbb\xbf"
_BYTE = re.compile(r"\(byte (\d+)\)")
"""Position at which msgspec reports that it stopped."""
_LITERAL = re.compile(rb"(?<![\w\"])-?(NaN|nan|Infinity|inf|None|True|False|undefined)\b")
_AROUND = 12
"""Largest distance of the ends of a literal from the position at which msgspec stopped, bytes."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^"\[\]{}]+', re.DOTALL)
_MOST_TOKENS = 1_000_000
"""Texts with more tokens are not searched for the path of a value: that would cost more than the refused work."""
_REPLACEMENTS = {b"None": "null", b"undefined": "null", b"True": "true", b"False": "false"}
_SHOWN = 120
"""Characters of msgspec's own message that are kept, since it quotes names in full."""
Path = tuple[str | int, ...]


class Literal(NamedTuple):
    """Word in place of a value that JSON does not have."""

    text: str
    """Text of the literal: ``NaN``, ``-Infinity``, ``None`` ..."""
    path: Path
    """Names and indices that lead to it, such as ``("rows", 3, "speed")``; empty if the body is too long."""

    @property
    def missing(self) -> bool:
        """True for a number that is not finite, which some JSON writers use for missing values."""
        return self.text.lstrip("-").lower() in ("nan", "infinity", "inf")

    @property
    def replacement(self) -> str:
        """Equivalent JSON value."""
        return _REPLACEMENTS.get(self.text.lstrip("-").encode(), "null")


def literal(body: bytes, error: Exception) -> Literal | None:
    """Return the word at which decoding stopped, if it is a literal of Python or JavaScript that JSON lacks."""
    position = _BYTE.search(str(error))
    if position is None:
        return None
    stop = int(position[1])
    start = max(0, stop - _AROUND)
    for match in _LITERAL.finditer(body, start, stop + _AROUND):
        if match.start() <= stop <= match.end() + 1:
            return Literal(match[0].decode(), _path(body, match.start()))
    return None


def explained(body: bytes, error: Exception, example: str, *, field: str = "") -> InvalidInput:
    """Return the error for a body that could not be decoded.

    Args:
        error: what the decoder raised.
        example: a body that the route accepts; empty to show none.
        field: field of the error, if no value of the body is the cause.
    """
    hint = f"; send {example}" if example else ""
    if not body.strip():
        return InvalidInput(f"the body is empty{hint}", code="not_a_body", field=field)
    if isinstance(error, UnicodeDecodeError) or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return InvalidInput(
            f"the body is not UTF-8 (it looks like {json.detect_encoding(body)}); encode the JSON as UTF-8"
            if body[:2] in (b"\xff\xfe", b"\xfe\xff")
            else "the body is not UTF-8; encode the JSON as UTF-8",
            code="not_a_body",
            field=field,
        )
    if (word := literal(body, error)) is not None:
        return _of_literal(word, field)
    reason = shortened(str(error), _SHOWN)
    if "keys must be strings" in reason and b"'" in body[:_SHOWN]:
        reason += " (names need double quotes; Python's json.dumps writes them)"
    return InvalidInput(
        f"the body is not the JSON that this route takes: {reason}{hint}", code="not_a_body", field=field
    )


def _of_literal(word: Literal, field: str) -> InvalidInput:
    name, index = ends(word.path)
    where = f"{written(word.path)} = {word.text}" if word.path else word.text
    if word.missing:
        problem = "JSON has no NaN or Infinity; send null for a missing value"
    else:
        problem = f"JSON has no {word.text.lstrip('-')}; send {word.replacement}"
    return InvalidInput(
        f"{where}: {problem}",
        code="not_finite" if word.missing else "not_a_body",
        field=name or field,
        value=word.text,
        index=index,
    )


def ends(path: Path) -> tuple[str, int]:
    """Return the last name and the last index of a path; empty and -1 if there is none."""
    names = [part for part in path if isinstance(part, str)]
    indices = [part for part in path if isinstance(part, int)]
    return (names[-1] if names else ""), (indices[-1] if indices else -1)


def written(path: Path) -> str:
    """Return a path in the notation of Python and JavaScript: ``rows[3].speed``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{shortened(part)}" for part in path)
    return text.removeprefix(".")


def _path(body: bytes, end: int) -> Path:
    """Return the names and indices that lead to the value at byte ``end``; everything before it is valid JSON."""
    frames: list[bytes | int] = []
    tokens = _TOKEN.finditer(body, 0, end)
    for match in islice(tokens, _MOST_TOKENS):
        token = match[0]
        if token in (b"[", b"{"):
            frames.append(0 if token == b"[" else b'""')
        elif token in (b"]", b"}"):
            frames.pop()
        elif frames and isinstance(frames[-1], int):
            frames[-1] += 0 if token[:1] == b'"' else token.count(b",")
        elif frames and token[:1] == b'"':
            frames[-1] = token
    if next(tokens, None) is not None:
        return ()
    return tuple(frame if isinstance(frame, int) else _name(frame) for frame in frames)


def _name(quoted: bytes) -> str:
    """Decode a quoted name, which may be malformed if the decoder only skipped the values around it."""
    text = quoted.decode(errors="replace")
    try:
        name: str = json.loads(text, strict=False)
        return name
    except ValueError:
        return text[1:-1]
