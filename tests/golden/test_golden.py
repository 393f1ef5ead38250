"""The wire stays as recorded, but for descriptions: OpenAPI, JSON, protobuf bytes, tensors and their metadata."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.golden.recorded import recorded

FILE = Path(__file__).parent / "bodies.json.xz"
TEXTS = ("description", "summary")
"""Keys whose texts may change."""


def comparable(value: Any) -> Any:
    """Return a value without texts for people; lists of required properties in the order of the alphabet."""
    if isinstance(value, list):
        return [comparable(element) for element in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, member in value.items():
        text = isinstance(member, str) or (
            isinstance(member, dict) and member.keys() in ({"string_value"}, {"stringParam"})
        )
        if text and name.rpartition(".")[2] in TEXTS:
            continue
        required = name == "required" and isinstance(member, list)
        if required and not member:  # the same as none
            continue
        kept[name] = sorted(member) if required else comparable(member)
    return kept


def write(values: dict[str, Any]) -> None:
    """Replace the file."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


@pytest.fixture(scope="module")
def bodies() -> tuple[dict[str, Any], dict[str, Any]]:
    expected = json.loads(lzma.decompress(FILE.read_bytes()))
    return expected, json.loads(json.dumps(recorded()))


def test_bodies_are_those_that_were_recorded(bodies: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expected, actual = bodies
    assert actual.keys() == expected.keys()
    other = [name for name in expected if comparable(actual[name]) != comparable(expected[name])]
    assert other == []


def test_the_comparison_can_fail() -> None:
    schema = {"properties": {"description": {"type": "string", "description": "A text."}}, "required": ["b", "a"]}
    same = {"properties": {"description": {"type": "string", "description": "Text."}}, "required": ["a", "b"]}
    other = {"properties": {"description": {"type": "number", "description": "A text."}}, "required": ["a", "b"]}
    assert comparable(schema) == comparable(same)
    assert comparable(schema) != comparable(other)
