"""Files of one record a line, with the line in every refusal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.evaluation.judged import BadFile


def text_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file without their ends; other separators that Unicode knows do not end a line.

    Raises:
        BadFile: no such file, not UTF-8, or empty.
    """
    read = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for line in file:
                read += 1
                yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is not UTF-8 text, after line {read}: {error.reason}") from error
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error}") from error
    if not read:
        raise BadFile(f"{path} is empty")


def records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """JSON objects, one a line, each with its place in words (lines count from 1).

    Raises:
        BadFile: as ``text_lines``, or a line that is no JSON object.
    """
    for count, line in enumerate(text_lines(path), 1):
        place = f"{path}, line {count}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{place} is no JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadFile(f"{place} is a JSON {type(record).__name__}; an object is needed")
        yield place, record


def field(place: str, record: dict[str, Any], name: str) -> Any:
    """The value of a field.

    Raises:
        BadFile: there is none.
    """
    if name not in record:
        raise BadFile(f"{place}: {name} is missing; the line has {', '.join(record) or 'no fields'}")
    return record[name]


def identifier(place: str, record: dict[str, Any]) -> int:
    """The field ``id``.

    Raises:
        BadFile: it is missing, or no whole number from 0.
    """
    value = field(place, record, "id")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise BadFile(f"{place}: id is {value!r}; a whole number from 0 is needed")
    return value


def number(place: str, record: dict[str, Any], name: str) -> float:
    """A number, which may be infinite.

    Raises:
        BadFile: it is missing, no number, or NaN.
    """
    value = field(place, record, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadFile(f"{place}: {name} is {value!r}; a number is needed")
    try:
        exact = float(value)
    except OverflowError as error:
        raise BadFile(f"{place}: {name} is too large for a number of 64 bits") from error
    if math.isnan(exact):
        raise BadFile(f"{place}: {name} is nan; a number is needed")
    return exact


def text(place: str, record: dict[str, Any], name: str) -> str:
    """A text.

    Raises:
        BadFile: it is missing or no text.
    """
    value = field(place, record, name)
    if not isinstance(value, str):
        raise BadFile(f"{place}: {name} is {value!r}; a text is needed")
    return value
