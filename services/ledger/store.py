"""Content-addressed store of evidence and inputs that are too large for a row, on any file system of fsspec.

A file is written before the row that references it. Files without a row are orphans of failed writes, and are swept.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any

import fsspec

INLINE_BYTES = 16 << 10
"""Larger contents do not go into a row."""
ORPHAN_SECONDS = 3600.0
"""Age from which a file without a row is an orphan: a younger one may belong to a row that is written next."""


class Store:
    """Files below one address: a directory, or ``s3://…`` with the matching extra of fsspec."""

    def __init__(self, address: str, wall: Callable[[], float] = time.time) -> None:
        self._files: Any
        self._files, self._root = fsspec.core.url_to_fs(address)
        self._wall = wall

    def put(self, content: bytes) -> str:
        """Store content and return its reference, ``sha256:`` and 64 hex digits. Idempotent.

        Raises:
            OSError: it cannot be stored.
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
        """Return the content of a reference.

        Raises:
            LookupError: it is missing, or was erased.
            ValueError: the file does not match its hash.
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
        """Return True if the content is there; no sweep deletes it before a row that references it can be written.

        False, too, where the age of files cannot be renewed: ``put`` renews it by writing.
        """
        path = self._path(reference.removeprefix("sha256:"))
        return bool(self._files.exists(path)) and self._renewed(path)

    def delete_old(self, references: Iterable[str]) -> None:
        """Delete contents without a row; a young one, which may belong to a row written next, is left for ``sweep``."""
        oldest = self._wall() - ORPHAN_SECONDS
        for reference in references:
            path = self._path(reference.removeprefix("sha256:"))
            if self._files.exists(path) and self._written(path) < oldest:
                self._files.rm_file(path)

    def sweep(self, named: Callable[[list[str]], set[str]]) -> int:
        """Delete old files that no row references; return how many.

        Args:
            named: returns those of some references that rows use.
        """
        if not self._files.exists(self._root):
            return 0
        oldest = self._wall() - ORPHAN_SECONDS
        old = [path for path in self._files.find(self._root) if self._written(path) < oldest]
        references = {path: f"sha256:{path.rsplit('/', 1)[-1]}" for path in old}
        kept = named(list(references.values()))
        orphans = [path for path, reference in references.items() if reference not in kept]
        for path in orphans:
            self._files.rm_file(path)
        return len(orphans)

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}"

    def _renewed(self, path: str) -> bool:
        """Renew the age of a file; return False where files cannot be touched (object stores)."""
        try:
            self._files.touch(path, truncate=False)
        except (ValueError, NotImplementedError):
            return False
        return True

    def _written(self, path: str) -> float:
        moment = self._files.modified(path)
        return float(moment.timestamp())
