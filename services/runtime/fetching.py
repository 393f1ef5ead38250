"""Download of a file with limits of size and time, and a check of its SHA-256."""

import hashlib
import posixpath
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit

import fsspec

PIECE_BYTES = 1 << 20
_SILENCE_SECONDS = 30.0
"""Longest wait for the next bytes from a server."""


class FetchError(ValueError):
    """Error for a failed download or a wrong hash. The message names the address and the reason."""


def download(
    url: str,
    target: Path,
    *,
    sha256: str,
    most_bytes: int,
    seconds: float,
    progress: Callable[[int], None] = lambda count: None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Write the bytes at an address to a new file.

    Args:
        url: ``http``, ``https``, a path, or any other address of fsspec.
        sha256: expected hash of the bytes, 64 hex digits.
        most_bytes: largest number of bytes.
        seconds: longest time of the whole download.
        progress: called with the number of bytes so far.

    Raises:
        FetchError: there is no response, a limit is exceeded, or the hash differs. A partial file may then
            exist.
    """
    digest, count, end = hashlib.sha256(), 0, clock() + seconds
    try:
        with _opened(url) as source, target.open("xb") as file:
            while piece := source.read(PIECE_BYTES):
                count += len(piece)
                if count > most_bytes:
                    raise FetchError(f"{_shown(url)}: more than the {most_bytes} bytes that are allowed")
                if clock() > end:
                    raise FetchError(f"{_shown(url)}: {count} bytes came in the {seconds:g} s that are allowed")
                digest.update(piece)
                file.write(piece)
                progress(count)
    except (OSError, ValueError, ImportError) as error:
        if isinstance(error, FetchError):
            raise
        raise FetchError(f"{_shown(url)}: {_reason(error)}") from error
    if digest.hexdigest() != sha256:
        raise FetchError(f"{_shown(url)}: sha256 is {digest.hexdigest()}, {sha256} was asked for; nothing was unpacked")


def below(url: str, name: str) -> str:
    """Return the address of a file in a folder."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}"))


def beside(url: str, name: str) -> str:
    """Return the address of a file next to a folder."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=posixpath.join(posixpath.dirname(parts.path.rstrip("/")), name)))


@contextmanager
def _opened(url: str) -> Iterator[IO[bytes] | Any]:
    """Open a stream of the bytes at an address."""
    if urlsplit(url).scheme in ("http", "https"):
        with urllib.request.urlopen(url, timeout=_SILENCE_SECONDS) as answer:  # noqa: S310 - of these two kinds
            yield answer
        return
    with fsspec.open(url, "rb") as file:
        yield file


def _shown(url: str) -> str:
    """Return an address without name, password and query, which may be secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"cannot be reached: {error.reason}"
    if isinstance(error, ImportError):
        return f"addresses of this kind need another package: {error}"
    return str(error) or type(error).__name__
