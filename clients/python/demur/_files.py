"""Files that callers name by path."""

from __future__ import annotations

import os
from pathlib import Path

from demur._errors import InvalidInput


def content(path: str | os.PathLike[str], field: str) -> bytes:
    """The bytes of a file.

    Raises:
        InvalidInput: it cannot be read; the error names the field.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        where = os.fspath(path)
        raise InvalidInput(
            f"{field}: {where} cannot be read: {error.strerror or error}", code="unreadable", field=field, value=where
        ) from error
