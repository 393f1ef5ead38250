"""Bounded decoder of scene messages: protobuf or its JSON form.

Sizes are checked before the message is built: empty messages of two bytes take 80 bytes in memory, and building a JSON
number takes a hundred times as long as reading its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from models.tasks.motion.protocol.motion_pb2 import Scene


class BadScene(ValueError):
    """A scene, a request of one, or a feature map that cannot be used.

    ``code`` identifies the problem, ``field`` is its path in the message, ``value`` and ``unit`` are the actual value,
    ``allowed`` describes valid values; each may be empty.
    """

    def __init__(
        self, message: str, *, code: str, field: str = "", value: object = "", unit: str = "", allowed: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.field = message, code, field
        self.value, self.unit, self.allowed = str(value), unit, allowed

    def of(self, field: str) -> BadScene:
        """Set the name of the input, and return the error."""
        self.field = field
        return self


def too_many(field: str, count: int, unit: str, most: int) -> BadScene:
    """Return the error of a list that is too long."""
    return BadScene(
        f"{field} has {count} {unit}; at most {most} are read: send what is near",
        code="too_many",
        field=field,
        value=count,
        unit=unit,
        allowed=f"at most {most}",
    )


def impossible(field: str, value: float, unit: str, allowed: str) -> BadScene:
    """Return the error of a number that is not finite or out of range."""
    return BadScene(
        f"{field} is {value:g}; a number of {allowed} is needed",
        code="out_of_range" if math.isfinite(value) else "not_finite",
        field=field,
        value=f"{value:g}",
        unit=unit,
        allowed=allowed,
    )


MOST_BYTES = 1 << 24
"""Limit of the size of a scene in protobuf."""
MOST_JSON_BYTES = 1 << 23
"""Limit of the size of a scene in JSON."""
MOST_PARTS = 200_000
"""Limit of objects, points, lanes, sections of lights and other parts of a scene."""
_SMALL = 1 << 20  # bytes below which no content becomes large in memory
_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5  # wire types

_Containers = Mapping[int, "_Containers"]
_FLAT: _Containers = {}
_SCENE: _Containers = {
    **dict.fromkeys((2, 3, 5, 8, 10), _FLAT),  # steps of vehicles, pedestrians and lights
    7: {1: _FLAT, 2: {1: _FLAT, 2: _FLAT}, 3: {1: _FLAT}},  # lanes, crosswalks and road polygons
}
"""Fields, by number, whose messages have parts, each with the same mapping for these messages."""


def decoded(content: bytes) -> Scene:
    """Return the scene of a file of the data set, or of protobuf JSON if the first byte other than blanks is ``{``.

    Raises:
        BadScene: the content is too large, has too many parts, is truncated, or is not a scene.
    """
    if content[:1024].lstrip()[:1] == b"{":
        return _of_json(content)
    _check_size(content, MOST_BYTES)
    if len(content) > _SMALL:
        _check_parts(_nested(content))
    scene = Scene()
    try:
        scene.ParseFromString(content)
    except DecodeError as error:
        raise _no_scene(f"the bytes are no scene, or are cut off ({error})") from error
    return scene


def _of_json(content: bytes) -> Scene:
    _check_size(content, MOST_JSON_BYTES)
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadScene(
            f"the scene starts as JSON and is none: {error}; send it whole, or as protobuf",
            code="not_json",
            field="scene",
        ) from error
    _check_parts(_inside(document))
    try:
        return json_format.ParseDict(document, Scene())
    except (json_format.Error, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise _no_scene(f"the JSON is no scene: {str(error).partition(chr(10))[0][:200]}") from error


def _check_size(content: bytes, most: int) -> None:
    if len(content) > most:
        raise BadScene(
            f"the scene has {len(content)} bytes; at most {most} are read",
            code="too_large",
            field="scene",
            value=len(content),
            unit="bytes",
            allowed=f"at most {most}",
        )


def _check_parts(parts: Iterator[object]) -> None:
    for number, _ in enumerate(parts, 1):
        if number > MOST_PARTS:
            raise BadScene(
                f"the scene has more than {MOST_PARTS} objects, points and other parts; send what is near",
                code="too_many",
                field="scene",
                value=f"more than {MOST_PARTS}",
                unit="parts",
                allowed=f"at most {MOST_PARTS}",
            )


def _no_scene(what: str) -> BadScene:
    return BadScene(
        f"{what}; send a Scene of the Shifts motion data set, whole, as protobuf or its JSON",
        code="not_a_scene",
        field="scene",
        allowed="a serialised Scene",
    )


def _inside(document: object) -> Iterator[object]:
    """Yield the entries of all lists of a JSON document."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(value for value in node.values() if isinstance(value, dict | list))
        elif isinstance(node, list):
            for entry in node:
                yield entry
                if isinstance(entry, dict | list):
                    waiting.append(entry)


def _nested(content: bytes) -> Iterator[object]:
    """Yield the parts of a scene and of its containers, without parsing them."""
    waiting = [(_SCENE, memoryview(content))]
    while waiting:
        held, left = waiting.pop()
        at, end = 0, len(left)
        while at < end:
            tag, at = _number(left, at)
            wire = tag & 7
            if wire == _LENGTH_DELIMITED:
                length, at = _number(left, at)
                yield tag
                if tag >> 3 in held:
                    waiting.append((held[tag >> 3], left[at : at + length]))
                at += length
            elif wire == _VARINT:
                _, at = _number(left, at)
            elif wire in (_FIXED64, _FIXED32):
                at += 8 if wire == _FIXED64 else 4
            else:
                raise _no_scene(f"the bytes are no scene: tag {tag}")
        if at > end:
            raise _no_scene("the bytes are no scene, or are cut off")


def _number(content: memoryview, at: int) -> tuple[int, int]:
    """Return a number in base 128, least digits first, and the position behind it."""
    if at < len(content) and content[at] < 128:
        return content[at], at + 1
    value = 0
    for digit in range(min(10, len(content) - at)):
        byte = content[at + digit]
        value |= (byte & 127) << 7 * digit
        if byte < 128:
            return value, at + digit + 1
    raise _no_scene("the bytes are no scene, or are cut off")
