"""Safe unpacking of an untrusted archive: plain files in one folder and beside it, of limited size.

Anything else in a tar file - links, devices, absolute names, ``..``, several folders, duplicate names, headers of
gigabytes - is refused by name before any of it is written.
"""

import gzip
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from models.unzip import GZIP

MOST_FILES = 1000
_PIECE_BYTES = 1 << 20


class ArchiveError(ValueError):
    """Error for an archive that is broken, or has entries that an artefact cannot have."""


class _Forward:
    """Forward-only stream, with a limit of bytes and pieces of at most one megabyte.

    Headers are read in one piece, whose length the archive declares: the limit keeps their memory small. ``tarfile``
    needs ``tell`` and ``seek``; it only seeks forward.
    """

    def __init__(self, source: IO[bytes] | gzip.GzipFile, most_bytes: int) -> None:
        self._source = source
        self._most = most_bytes
        self._at = 0

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= _PIECE_BYTES:
            raise ArchiveError(f"a header of {count} bytes; an artefact's archive has none above {_PIECE_BYTES}")
        piece = self._source.read(count)
        self._at += len(piece)
        if self._at > self._most:
            raise ArchiveError(f"it unpacks to more than the {self._most} bytes that are allowed")
        return piece

    def tell(self) -> int:
        return self._at

    def seek(self, place: int) -> int:
        if place < self._at:
            raise ArchiveError("it cannot be read from start to end")
        while self._at < place and self.read(min(place - self._at, _PIECE_BYTES)):
            pass
        return self._at


def unpack(archive: Path, target: Path, *, most_bytes: int) -> None:
    """Write the files of a ``.tar`` or ``.tar.gz`` to an existing folder: files of one folder, or beside it.

    Args:
        most_bytes: largest size of the unpacked archive, including headers.

    Raises:
        ArchiveError: the archive is broken or not allowed; the folder may then hold some of its files.
    """
    tops: set[str] = set()
    try:
        with _opened(archive) as source, _tar(_Forward(source, most_bytes)) as tar:
            for number, member in enumerate(tar):
                if number >= MOST_FILES:
                    raise ArchiveError(f"it has more than {MOST_FILES} entries")
                top, name = _placed(member)
                tops.add(top)
                if len(tops - {""}) > 1:
                    raise ArchiveError(f"it has files of several folders: {', '.join(sorted(map(repr, tops)))}")
                if name:
                    _write(tar, member, target / name)
    except (tarfile.TarError, EOFError, OSError, ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"it is no archive that can be read: {error}") from error
    if not any(target.iterdir()):
        raise ArchiveError("it holds no files")


def _placed(member: tarfile.TarInfo) -> tuple[str, str]:
    """Return folder and file name of an entry; the entry of the folder itself has no file name.

    Raises:
        ArchiveError: the entry is neither a plain file in the folder, nor the folder.
    """
    name = member.name.removeprefix("./") if member.name != "." else ""
    parts = name.split("/") if name else []
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise ArchiveError(f"the name {member.name!r} leads out of the folder, or nowhere")
    if member.isdir() and len(parts) <= 1:
        return (parts[0], "") if parts else ("", "")
    if not member.isreg() or member.issparse():
        raise ArchiveError(f"{member.name!r} is no plain file: links, devices and folders in folders are refused")
    if len(parts) not in (1, 2):
        raise ArchiveError(f"{member.name!r} lies deeper than one folder")
    return (parts[0] if len(parts) == 2 else ""), parts[-1]


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if path.exists():
        raise ArchiveError(f"{member.name!r} is in it twice")
    source = tar.extractfile(member)
    assert source is not None
    left = member.size
    with path.open("xb") as file:
        while piece := source.read(min(left, _PIECE_BYTES)):
            file.write(piece)
            left -= len(piece)
    if left:
        raise ArchiveError(f"it ends within {member.name!r}")


@contextmanager
def _opened(archive: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with archive.open("rb") as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        if not packed:
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield unpacked


def _tar(source: _Forward) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast(BinaryIO, source), mode="r:")
