"""Tags of scenes: in the scene itself and, a JSON line each, in the file beside the folder of scenes.

In this library a value is the enumeration's name without its k, and an unset tag is unknown. In the file names have
their k, and unknown tags have no key: protobuf omits an enumeration's zero.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.protocol.motion_pb2 import SceneTags

Tags = Mapping[str, str]
"""Value by field: all fields of ``VALUES``, and any others of a file (such as ``city``)."""

VALUES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        field.name: {value.name.removeprefix("k"): value.number for value in field.enum_type.values}
        for field in SceneTags.DESCRIPTOR.fields
        if field.enum_type is not None
    }
)
"""Values without k, and their numbers, by field of a scene's tags; 0 is unknown."""
_WRITTEN = {
    field.name: {value.number: value.name for value in field.enum_type.values}
    for field in SceneTags.DESCRIPTOR.fields
    if field.enum_type is not None
}
_UNKNOWN = {field: next(name for name, number in values.items() if not number) for field, values in VALUES.items()}


def of_scene(tags: SceneTags) -> dict[str, str]:
    """Return the tags of a scene; a number outside the released enumeration stays a number."""
    numbers = {field: getattr(tags, field) for field in VALUES}
    return {field: _WRITTEN[field].get(number, str(number)).removeprefix("k") for field, number in numbers.items()}


def plain(field: str, value: str) -> str:
    """Return the canonical name of a value, given with or without its k, in any case.

    Raises:
        ValueError: the value is not in the released enumeration.
    """
    if field not in VALUES or value.isdecimal():
        return value
    known = {name.lower(): name for name in VALUES[field]}
    canonical = known.get(value.lower()) or known.get(value.lower().removeprefix("k"))
    if canonical is None:
        raise ValueError(f"{field} {value!r} is not one of {', '.join(VALUES[field])}")
    return canonical


def line(tags: Tags) -> str:
    """Return the tags of a scene as a line of the released file, without its end."""
    return json.dumps({field: _written(field, value) for field, value in tags.items() if value != _UNKNOWN.get(field)})


def _written(field: str, value: str) -> str:
    """Return the name of a value in the file."""
    number = VALUES.get(field, {}).get(value)
    return value if number is None else _WRITTEN[field][number]


def parsed(path: Path, number: int, text: str) -> dict[str, str]:
    """Return the tags of a line; a missing key is unknown.

    Raises:
        BadFile: the line is not a JSON object of texts, or a value is not in the released enumeration.
    """
    place = f"{path}, line {number}"
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFile(f'{place}: no JSON ({error}); a line such as {{"track": "Moscow"}} is needed') from error
    if not isinstance(record, dict) or not all(isinstance(value, str) for value in record.values()):
        raise BadFile(f'{place}: {text.strip()[:80]!r} is no JSON object of texts, such as {{"track": "Moscow"}}')
    try:
        return _UNKNOWN | {field: plain(field, value) for field, value in record.items()}
    except ValueError as error:
        raise BadFile(f"{place}: {error}") from error
