"""Pairs of sentences with their domain and source: tab-separated text, plain or gzipped (``.gz``)."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data.lines import text_lines

COLUMNS = ("domain", "source", "en", "ru")
LARGEST_BYTES = 1 << 30
"""Limit of the size of an unpacked file."""
_SPACES = str.maketrans("\t\r\n", "   ")


@dataclass(frozen=True)
class Pair:
    """An English sentence and its Russian translation."""

    domain: str
    source: str
    """Source as ``<key>:<document>``."""
    english: str
    russian: str

    @property
    def key(self) -> str:
        """Key of the source, which identifies its licence."""
        return self.source.partition(":")[0]


@dataclass(frozen=True)
class Corpus:
    """Pairs in the order of their files."""

    pairs: tuple[Pair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def only(self, keep: Callable[[Pair], bool]) -> Corpus:
        """Return the pairs for which ``keep`` is true."""
        return Corpus(tuple(pair for pair in self.pairs if keep(pair)))

    def of_domains(self, domains: Collection[str]) -> Corpus:
        """Return the pairs of some domains."""
        return self.only(lambda pair: pair.domain in domains)

    def without(self, keys: Collection[str]) -> Corpus:
        """Return the pairs that are not from the sources ``keys``."""
        return self.only(lambda pair: pair.key not in keys)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all pairs in their order, the first 16 hexadecimal digits."""
        digest = hashlib.sha256()
        for pair in self.pairs:
            digest.update("\t".join((pair.domain, pair.source, pair.english, pair.russian, "\n")).encode())
        return digest.hexdigest()[:16]


def read(paths: Sequence[Path]) -> Corpus:
    """Return the pairs of some files, one after the other.

    A file is UTF-8 text of tab-separated lines without quoting; the first line names the columns ``domain``,
    ``source``, ``en`` and ``ru`` in any order; other columns are skipped.

    Raises:
        BadFile: a file cannot be read, is not UTF-8 or lacks a column, or a line has another number of columns or an
            empty side; the message names file and line.
    """
    return Corpus(tuple(pair for path in paths for pair in _pairs(path)))


@contextmanager
def writing(path: Path) -> Iterator[Callable[[Pair], None]]:
    """Open a file for pairs in the format of ``read``, gzipped if its name ends in ``.gz``; yield the function that
    writes.

    The file only appears if all goes well; its folder is created. Tabs and line ends within a text become spaces.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with part.open("wb") as file, _packed(file, path) as packed, io.TextIOWrapper(packed, "utf-8") as text:
            text.write("\t".join(COLUMNS) + "\n")
            yield lambda pair: _write(text, pair)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _packed(file: BinaryIO, path: Path) -> BinaryIO:
    # no name and no time, so that equal pairs give equal files
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else file  # type: ignore[return-value]


def _write(text: TextIO, pair: Pair) -> None:
    cells = (pair.domain, pair.source, pair.english, pair.russian)
    text.write("\t".join(cell.translate(_SPACES) for cell in cells) + "\n")


def _pairs(path: Path) -> Iterator[Pair]:
    lines = text_lines(path, most=LARGEST_BYTES)
    header = next(lines).split("\t")
    if missing := [name for name in COLUMNS if name not in header]:
        raise BadFile(f"{path}, line 1: the column {missing[0]} is missing; there are {', '.join(header)[:200]}")
    places = [header.index(name) for name in COLUMNS]
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(header):
            raise BadFile(f"{path}, line {number} has {len(cells)} columns; the first line names {len(header)}")
        pair = Pair(*(cells[place] for place in places))
        if not pair.english.strip() or not pair.russian.strip():
            raise BadFile(f"{path}, line {number}: {'ru' if pair.english.strip() else 'en'} is empty")
        yield pair
