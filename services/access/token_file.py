"""Token file: watched by services, changed by ``demur tokens``."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from services.access.tokens import Token, Tokens, TokensError, read, write
from services.access.watched_files import content
from services.runtime.logging import get_logger

_log = get_logger(__name__)


class Failures(Protocol):
    """Observer of failed reloads."""

    def reload_failed(self, what: str) -> None: ...


class TokenFile:
    """Tokens in force: those of the last valid content of a file."""

    def __init__(self, path: Path, failures: Failures) -> None:
        """
        Raises:
            TokensError: the file is invalid, or cannot be read.
        """
        self._path, self._failures = path, failures
        self._content, self.tokens = _read(path)
        self._problem = ""

    def reload(self) -> None:
        """Load a changed file; an invalid one leaves the tokens as they are."""
        try:
            new = content(self._path)
            if new != self._content:
                self.tokens = read(new)
                self._content = new
                _log.info("tokens in force", extra={"fields": {"tokens": len(self.tokens.by_id)}})
            self._problem = ""
        except (OSError, TokensError) as error:
            self._failures.reload_failed("tokens")
            if str(error) != self._problem:  # once, not at every reload
                _log.error("the tokens stay as they were: %s", error)
            self._problem = str(error)


def tokens_of(path: Path) -> Tokens:
    """Return the tokens of a file; none where it does not exist.

    Raises:
        TokensError: it is invalid, or cannot be read.
    """
    return _read(path)[1] if path.exists() else Tokens({})


def replace(path: Path, tokens: Iterable[Token]) -> None:
    """Replace the file atomically, readable for its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(write(tokens))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path) -> tuple[bytes, Tokens]:
    try:
        data = content(path)
        return data, read(data)
    except OSError as error:
        raise TokensError(f"the token file cannot be read: {error}") from error
    except TokensError as error:
        raise TokensError(f"{path}: {error}") from error
