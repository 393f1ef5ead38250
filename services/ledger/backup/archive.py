"""Archive of backups: any directory or address of fsspec, one for all ledgers of an installation.

``store/`` holds large contents by their hash, once for all backups; each backup is a directory
``LEDGER/TIME/`` of a database, the journals beside it, and the list of its references into the store. Its manifest is
written last: without one the backup is incomplete.
"""

import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import msgspec

from services.ledger.store import Store

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "ledger.db"
REFERENCES = "references"
_BLOCK = 1 << 20


class BadBackup(Exception):
    """A backup is missing or cannot be used; the message says which and why."""


@dataclass(frozen=True)
class File:
    """File of a backup."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class JournalCopy:
    """Copy of the journal of one process."""

    name: str
    epoch: int
    whole: bool
    """True: its process was dead, so that nothing was appended later."""


@dataclass(frozen=True)
class Cursor:
    """Progress of a writer."""

    epoch: str
    """16 hex digits."""
    task: str
    flush: int
    heartbeat: float
    """Everything that it decided before this time is in the backup, or in a gap; seconds since 1970."""
    ended: bool


@dataclass(frozen=True)
class Manifest:
    """Content of a backup."""

    format: int
    ledger: str
    """Its name in the archive."""
    name: str
    """Time of the backup, as a name that sorts."""
    program: str
    schema: int
    begun: float
    """Everything acknowledged before this time is in the backup, seconds since 1970."""
    finished: float
    cursors: tuple[Cursor, ...]
    rows: dict[str, int]
    """Number of rows by table."""
    units: int
    """Number of decided units in segments."""
    journals: tuple[JournalCopy, ...]
    files: tuple[File, ...]
    contents: int
    """Number of contents of the store that rows reference."""
    missing: tuple[str, ...]
    """Referenced contents that the store did not have: erased during the backup, or lost before."""


class Archive:
    """Backups at one address."""

    def __init__(self, address: str) -> None:
        self._files: Any
        self._files, self._root = fsspec.core.url_to_fs(address)
        self._local = "file" in (self._files.protocol if isinstance(self._files.protocol, tuple) else ())
        self.store = Store(f"{address.rstrip('/')}/store")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a directory for the files of a backup; on the archive's own disk where that is local."""
        if self._local:
            Path(self._root).mkdir(mode=0o700, parents=True, exist_ok=True)  # backups hold inputs and secrets
        with tempfile.TemporaryDirectory(prefix=".part-", dir=self._root if self._local else None) as folder:
            yield Path(folder)

    def put(self, folder: Path, manifest: Manifest) -> None:
        """Move the files of a manifest into the archive, then write the manifest.

        Raises:
            OSError: they cannot be stored.
        """
        place = self._place(manifest.ledger, manifest.name)
        for file in manifest.files:
            target = f"{place}/{file.name}"
            self._files.makedirs(self._files._parent(target), exist_ok=True)
            if self._local:
                shutil.move(folder / file.name, target)
            else:
                self._files.put_file(str(folder / file.name), target)
        early = f"{place}/.{MANIFEST}"
        self._files.pipe_file(early, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        self._files.mv(early, f"{place}/{MANIFEST}")

    def ledgers(self) -> list[str]:
        """Return the names of the ledgers that have backups."""
        return sorted({path.rsplit("/", 3)[-3] for path in self._manifests("*", "*")})

    def names(self, ledger: str) -> list[str]:
        """Return the complete backups of a ledger, the oldest first."""
        return sorted(path.rsplit("/", 2)[-2] for path in self._manifests(ledger, "*"))

    def manifest(self, ledger: str, name: str = "") -> Manifest:
        """Return the manifest of a backup; without a name, of the newest.

        Raises:
            BadBackup: there is none, or a newer version of this program wrote it.
        """
        known = self.names(ledger)
        if not known or (name and name not in known):
            have = ", ".join(known) or "none"
            raise BadBackup(f"there is no backup {name or 'at all'} of {ledger} in {self._root}; available: {have}")
        raw = self._files.cat_file(f"{self._place(ledger, name or known[-1])}/{MANIFEST}")
        try:
            if msgspec.json.decode(raw)["format"] != FORMAT:
                raise BadBackup(f"the backup {name or known[-1]} of {ledger} is of another version of this program")
            return msgspec.json.decode(raw, type=Manifest)
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise BadBackup(f"the manifest of {ledger}/{name or known[-1]} cannot be read: {error}") from error

    def fetch(self, manifest: Manifest, folder: Path) -> None:
        """Fetch and check all files of a backup.

        Raises:
            BadBackup: one is missing, or does not match the manifest.
        """
        for file in manifest.files:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._files.get_file(f"{self._place(manifest.ledger, manifest.name)}/{file.name}", str(target))
            except FileNotFoundError as error:
                raise BadBackup(f"{manifest.ledger}/{manifest.name}/{file.name} is missing") from error
            target.chmod(0o600)
            if (fetched := described(folder, file.name)) != file:
                raise BadBackup(
                    f"{manifest.ledger}/{manifest.name}/{file.name} was altered: {fetched.bytes} bytes with sha256 "
                    f"{fetched.sha256}, not {file.bytes} with {file.sha256}"
                )

    def keep(self, ledger: str, most: int) -> list[str]:
        """Delete all but the newest backups of a ledger, and unreferenced contents; return the deleted names."""
        gone = self.names(ledger)[:-most]
        for name in gone:
            self._files.rm_file(f"{self._place(ledger, name)}/{MANIFEST}")  # from now on it is incomplete
            self._files.rm(self._place(ledger, name), recursive=True)
        if gone:
            lists = self._files.glob(f"{self._root}/*/*/{REFERENCES}")  # of unfinished ones, too
            named = {line for path in lists for line in self._files.cat_file(path).decode().splitlines()}
            self.store.sweep(lambda references: named & set(references))
        return gone

    def _manifests(self, ledger: str, name: str) -> list[str]:
        paths: list[str] = self._files.glob(f"{self._place(ledger, name)}/{MANIFEST}")
        return paths

    def _place(self, ledger: str, name: str) -> str:
        return f"{self._root}/{ledger}/{name}"


def described(folder: Path, name: str) -> File:
    """Return size and hash of a file."""
    digest, size = hashlib.sha256(), 0
    with (folder / name).open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return File(name, size, digest.hexdigest())


def name_of(moment: float) -> str:
    """Return the name of a backup that begins at a time: UTC, to the millisecond."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(moment))}.{int(moment * 1000) % 1000:03d}Z"
