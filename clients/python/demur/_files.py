"""Content of files that callers pass as a path, as bytes, or as an object that can serialise itself."""

import os
from pathlib import Path
from typing import Any

from demur._errors import InvalidInput, wrong_argument


def content(source: Any, field: str, method: str = "to_bytes") -> bytes | None:
    """Return the content of a file; None if the source is nothing that has one.

    Args:
        source: a path, bytes, or an object.
        field: argument that the error names.
        method: method of the object that returns the content; numbers have ``to_bytes`` too, and are not files.

    Raises:
        InvalidInput: the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, (str, os.PathLike)):
        try:
            return Path(source).read_bytes()
        except OSError as error:
            path = os.fspath(source)
            raise InvalidInput(
                f"{field}: {path} cannot be read: {error.strerror or error}",
                code="unreadable",
                field=field,
                value=path,
            ) from error
    serialise = getattr(source, method, None)
    if isinstance(source, int) or not callable(serialise):
        return None
    serialised: bytes = serialise()
    return serialised


def required_content(source: Any, field: str, allowed: str, method: str = "to_bytes") -> bytes:
    """Return the content of a file, as :func:`content`, which must not be empty.

    Args:
        allowed: description of sources that are allowed, for the error.

    Raises:
        InvalidInput: the file cannot be read or is empty, or the source is nothing that has content.
    """
    read = content(source, field, method)
    if read is None:
        raise wrong_argument(field, source, allowed)
    if not read:
        raise InvalidInput(f"{field} is empty; needed: {allowed}", code="empty", field=field, allowed=allowed)
    return read
