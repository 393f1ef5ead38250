"""Why a JSON body could not be decoded, and what to send instead; runs only after a decode failed."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import NamedTuple

from services.errors import InvalidInput, shortened

BOM = b"\xef\xbb\xbf"
_BYTE = re.compile(r"\(byte (\d+)\)")
"""Where msgspec says that it stopped."""
_LITERAL = re.compile(rb"(?<![\w\"])-?(NaN|nan|Infinity|inf|None|True|False|undefined)\b")
_AROUND = 12
"""Bytes before the place where msgspec stopped in which such a literal may begin, and behind it in which it may end."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^"\[\]{}]+', re.DOTALL)
_MOST_TOKENS = 1_000_000
"""Longer texts are not walked through to name the place of a value: it would cost more than the refused work."""
_REPLACEMENTS = {b"None": "null", b"undefined": "null", b"True": "true", b"False": "false"}
_SHOWN = 120
"""Characters of msgspec's own message that are passed on: it quotes names whole."""
Path = tuple[str | int, ...]


class Literal(NamedTuple):
    """A word that JSON does not have, in the place of a value."""

    text: str
    """``NaN``, ``-Infinity``, ``None`` ..."""
    path: Path
    """Names and indices that lead to it, such as ``("rows", 3, "speed")``; empty where the body is too long."""

    @property
    def missing(self) -> bool:
        """Whether it is not a finite number, which writers of JSON use for missing values."""
        return self.text.lstrip("-").lower() in ("nan", "infinity", "inf")

    @property
    def replacement(self) -> str:
        """What JSON has instead."""
        return _REPLACEMENTS.get(self.text.lstrip("-").encode(), "null")


def literal(body: bytes, error: Exception) -> Literal | None:
    """Return the word at which decoding stopped, if it is a literal of Python or JavaScript that JSON lacks."""
    found = _BYTE.search(str(error))
    if found is None:
        return None
    stop = int(found[1])
    start = max(0, stop - _AROUND)
    for match in _LITERAL.finditer(body, start, stop + _AROUND):
        if match.start() <= stop <= match.end() + 1:
            return Literal(match[0].decode(), _path(body, match.start()))
    return None


def explained(body: bytes, error: Exception, example: str, *, field: str = "") -> InvalidInput:
    """Return the refusal of a body that could not be decoded.

    Args:
        error: what the decoder raised.
        example: a body that the route takes; empty: none is shown.
        field: of the refusal, where no value of the body is to blame.
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
        reason += " (names stand in double quotes; Python's json.dumps writes them)"
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
    """Return the last name and the last index of a path; empty and -1 where there is none."""
    names = [part for part in path if isinstance(part, str)]
    indices = [part for part in path if isinstance(part, int)]
    return (names[-1] if names else ""), (indices[-1] if indices else -1)


def written(path: Path) -> str:
    """Return a path as it is written in Python and JavaScript: ``rows[3].speed``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{shortened(part)}" for part in path)
    return text.removeprefix(".")


def _path(body: bytes, end: int) -> Path:
    """Names and indices that lead to the value that begins at byte ``end``; what stands before it is JSON."""
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
    """A name as JSON, which nothing has checked yet where the values around it were only passed over."""
    text = quoted.decode(errors="replace")
    try:
        name: str = json.loads(text, strict=False)
        return name
    except ValueError:
        return text[1:-1]
