"""Files of one record per line; errors name the line."""

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from models.evaluation.unit_errors import BadFile

_UNBOUNDED = 1 << 62


def text_lines(path: Path, *, longest: int = _UNBOUNDED, most: int = _UNBOUNDED) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or gzipped (``.gz``), without their ends.

    Other separators of Unicode do not end a line. The file is read a line at a time.

    Args:
        longest: limit of the bytes of a line.
        most: limit of the bytes of the unpacked file.

    Raises:
        BadFile: the file does not exist, is not UTF-8, is empty, or exceeds a limit.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(_bounded(file, path, longest, most), 1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is not UTF-8 text, in line {number}: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{path} cannot be read: {error}") from error
    if not number:
        raise BadFile(f"{path} is empty")


def _bounded(file: BinaryIO | gzip.GzipFile, path: Path, longest: int, most: int) -> Iterator[bytes]:
    number = total = 0
    while line := file.readline(min(longest, most - total) + 1):
        number += 1
        total += len(line)
        if len(line) > longest:
            raise BadFile(f"{path}, line {number} has more than {longest} bytes; is this text?")
        if total > most:
            raise BadFile(f"{path}: more than {most} bytes of text")
        yield line


def records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield JSON objects, one per line, each with a description of its place (lines count from 1).

    Raises:
        BadFile: see ``text_lines``; or a line is not a JSON object.
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
    """Return the value of a field.

    Raises:
        BadFile: it is missing.
    """
    if name not in record:
        raise BadFile(f"{place}: {name} is missing; the line has {', '.join(record) or 'no fields'}")
    return record[name]


def identifier(place: str, record: dict[str, Any]) -> int:
    """Return the field ``id``.

    Raises:
        BadFile: it is missing, or not a whole number from 0.
    """
    value = field(place, record, "id")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise BadFile(f"{place}: id is {value!r}; a whole number from 0 is needed")
    return value


def number(place: str, record: dict[str, Any], name: str) -> float:
    """Return a number, which may be infinite.

    Raises:
        BadFile: it is missing, not a number, or NaN.
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
    """Return a text.

    Raises:
        BadFile: it is missing or not a text.
    """
    value = field(place, record, name)
    if not isinstance(value, str):
        raise BadFile(f"{place}: {name} is {value!r}; a text is needed")
    return value
