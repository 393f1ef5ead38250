"""Tokens of tests, and the file that a service reads them from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from services.access.token_file import replace as write_file
from services.access.tokens import SCOPES, Token, hashed, mint


class Passes:
    """A file of tokens and the secrets of those in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: list[Token] = []
        self._write()

    def give(self, name: str, *scopes: str, **more: Any) -> str:
        """Adds a token; its text. Without scopes it has all."""
        identity, text = mint()
        granted: Any = frozenset(scopes or SCOPES)
        self._known.append(Token(id=identity, name=name, sha256=hashed(text), scopes=granted, **more))
        self._write()
        return text

    def change(self, name: str, **more: Any) -> None:
        """Changes the tokens of a name."""
        self._known = [replace(token, **more) if token.name == name else token for token in self._known]
        self._write()

    def revoke(self, name: str) -> None:
        self._known = [token for token in self._known if token.name != name]
        self._write()

    def _write(self) -> None:
        write_file(self.path, self._known)


def bearer(token: str) -> dict[str, str]:
    """The header of HTTP."""
    return {"authorization": f"Bearer {token}"}


def carried(token: str) -> tuple[tuple[str, str], ...]:
    """The metadata of gRPC."""
    return (("authorization", f"Bearer {token}"),)
