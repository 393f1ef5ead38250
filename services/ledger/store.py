"""Evidence and inputs that are too large for a row: files named by their content, on any file system of fsspec.

A file is written before the row that names it. What no row names is an orphan of a failed write, and is swept.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any

import fsspec

INLINE_BYTES = 16 << 10
"""What is larger does not go into a row."""
ORPHAN_SECONDS = 3600.0
"""A file that no row names may belong to a row that is about to be written, but not for so long."""


class Store:
    """Files below one address (a directory, or ``s3://…`` with the fitting extra of fsspec)."""

    def __init__(self, address: str, wall: Callable[[], float] = time.time) -> None:
        self._files: Any
        self._files, self._root = fsspec.core.url_to_fs(address)
        self._wall = wall

    def put(self, content: bytes) -> str:
        """Keeps content, once however often it is given; its reference is ``sha256:`` and 64 hex digits.

        Raises:
            OSError: it cannot be kept.
        """
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        if not self._files.exists(path):
            self._files.makedirs(self._files._parent(path), exist_ok=True)
            early = f"{path}.{secrets.token_hex(4)}"
            self._files.pipe_file(early, content)
            self._files.mv(early, path)
        elif not self._renewed(path):
            self._files.pipe_file(path, content)
        return f"sha256:{digest}"

    def get(self, reference: str) -> bytes:
        """The content of a reference.

        Raises:
            LookupError: it is not there, or was erased.
            ValueError: the file is not what its name says.
        """
        digest = reference.removeprefix("sha256:")
        try:
            content: bytes = self._files.cat_file(self._path(digest))
        except FileNotFoundError as error:
            raise LookupError(f"{reference} is not in the store; it may have been erased") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"the file of {reference} was altered")
        return content

    def has(self, reference: str) -> bool:
        """Whether the content is there; no sweep takes it before a row can be written that names it.

        False, too, where the files' age cannot be renewed: ``put`` does it by writing.
        """
        path = self._path(reference.removeprefix("sha256:"))
        return bool(self._files.exists(path)) and self._renewed(path)

    def delete_old(self, references: Iterable[str]) -> None:
        """Forgets contents that no row names any more. One that was just written may belong to a row that comes yet:
        it is left for ``sweep``."""
        oldest = self._wall() - ORPHAN_SECONDS
        for reference in references:
            path = self._path(reference.removeprefix("sha256:"))
            if self._files.exists(path) and self._written(path) < oldest:
                self._files.rm_file(path)

    def sweep(self, named: Callable[[list[str]], set[str]]) -> int:
        """Deletes old files that no row names; how many.

        Args:
            named: which of some references rows name.
        """
        if not self._files.exists(self._root):
            return 0
        oldest = self._wall() - ORPHAN_SECONDS
        found = [path for path in self._files.find(self._root) if self._written(path) < oldest]
        references = {path: f"sha256:{path.rsplit('/', 1)[-1]}" for path in found}
        kept = named(list(references.values()))
        orphans = [path for path, reference in references.items() if reference not in kept]
        for path in orphans:
            self._files.rm_file(path)
        return len(orphans)

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}"

    def _renewed(self, path: str) -> bool:
        """Makes a file young again; False where such files cannot be touched (object stores)."""
        try:
            self._files.touch(path, truncate=False)
        except (ValueError, NotImplementedError):
            return False
        return True

    def _written(self, path: str) -> float:
        moment = self._files.modified(path)
        return float(moment.timestamp())
