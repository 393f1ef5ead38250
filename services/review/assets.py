"""Static files of the page: read at start, compressed, and served under a hash of all of them."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

MEDIA_TYPES: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "md": "text/plain; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
"""Media type by ending; other files are not served."""
PAGE = "index.html"
_MARK = "/static/"
"""Beginning of the addresses of files in the page, behind which the hash goes."""
_SMALL_BYTES = 512


@dataclass(frozen=True, slots=True)
class Asset:
    """Content of a file."""

    content: bytes
    compressed: bytes | None
    """The same with gzip; None where that is not smaller."""
    media_type: str


@dataclass(frozen=True)
class Assets:
    """All files of the page."""

    version: str
    """Hash of all files, 16 hex digits: part of their addresses, so that browsers may keep them for ever."""
    by_path: Mapping[str, Asset]
    page: Asset
    """``index.html``, with the addresses of this version."""


def load() -> Assets:
    """Read the files that come with the package."""
    return of_files(dict(_files(files("services.review") / "static", "")))


def of_files(contents: Mapping[str, bytes]) -> Assets:
    """Return assets of files by their path.

    Raises:
        KeyError: there is no page.
    """
    digest = hashlib.sha256()
    for path, content in sorted(contents.items()):
        digest.update(f"{path}\n{len(content)}\n".encode() + content)
    version = digest.hexdigest()[:16]
    page = contents[PAGE].decode().replace(f'"{_MARK}', f'"{_MARK}{version}/').encode()
    by_path = {
        path: asset(content, path) for path, content in contents.items() if path.rpartition(".")[2] in MEDIA_TYPES
    }
    return Assets(version, by_path, asset(page, PAGE))


def asset(content: bytes, path: str) -> Asset:
    """Return a file with its compressed content."""
    compressed = gzip.compress(content, mtime=0) if len(content) > _SMALL_BYTES else content
    small = compressed if len(compressed) < len(content) else None
    return Asset(content, small, MEDIA_TYPES[path.rpartition(".")[2]])


def _files(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    contents: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            contents += _files(entry, f"{path}/")
        else:
            contents.append((path, entry.read_bytes()))
    return contents
