"""Pairs of sentences with their domain and source: tab-separated text, plain or packed (``.gz``)."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from models.evaluation.judged import BadFile

COLUMNS = ("domain", "source", "en", "ru")
LARGEST_BYTES = 1 << 30
"""Of a file when it is unpacked."""


@dataclass(frozen=True)
class Pair:
    """One English sentence and its Russian translation."""

    domain: str
    source: str
    """``<key>:<document>``."""
    english: str
    russian: str

    @property
    def key(self) -> str:
        """Of the source, by which its licence is known."""
        return self.source.partition(":")[0]


@dataclass(frozen=True)
class Corpus:
    """Pairs in the order of their files."""

    pairs: tuple[Pair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def only(self, keep: Callable[[Pair], bool]) -> Corpus:
        """The pairs that ``keep`` is true of."""
        return Corpus(tuple(pair for pair in self.pairs if keep(pair)))

    def of_domains(self, domains: Collection[str]) -> Corpus:
        """The pairs of some domains."""
        return self.only(lambda pair: pair.domain in domains)

    def without(self, keys: Collection[str]) -> Corpus:
        """The pairs that do not come from some sources."""
        return self.only(lambda pair: pair.key not in keys)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all pairs in their order, the first 16 hexadecimal digits."""
        digest = hashlib.sha256()
        for pair in self.pairs:
            digest.update("\t".join((pair.domain, pair.source, pair.english, pair.russian, "\n")).encode())
        return digest.hexdigest()[:16]


def read(paths: Sequence[Path]) -> Corpus:
    """The pairs of some files, one after the other.

    A file is UTF-8 text of tab-separated lines without quoting; the first line names the columns ``domain``,
    ``source``, ``en`` and ``ru`` in any order, others are skipped.

    Raises:
        BadFile: a file that cannot be read, is not UTF-8, lacks a column, or has a line of other columns or an empty
            side; the message names file and line.
    """
    return Corpus(tuple(pair for path in paths for pair in _pairs(path)))


def _pairs(path: Path) -> Iterator[Pair]:
    lines = _lines(path)
    try:
        header = next(lines)[1].split("\t")
    except StopIteration:
        raise BadFile(f"{path} is empty") from None
    if missing := [name for name in COLUMNS if name not in header]:
        raise BadFile(f"{path}, line 1: the column {missing[0]} is missing; there are {', '.join(header)[:200]}")
    places = [header.index(name) for name in COLUMNS]
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) != len(header):
            raise BadFile(f"{path}, line {number} has {len(cells)} columns; the first line names {len(header)}")
        pair = Pair(*(cells[place] for place in places))
        if not pair.english.strip() or not pair.russian.strip():
            raise BadFile(f"{path}, line {number}: {'ru' if pair.english.strip() else 'en'} is empty")
        yield pair


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    read = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(_bounded(file, path), 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                yield number, text
                read = number
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is not UTF-8 text, in line {read + 1}: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{path} cannot be read: {error}") from error


def _bounded(file: BinaryIO | gzip.GzipFile, path: Path) -> Iterator[bytes]:
    total = 0
    while line := file.readline(LARGEST_BYTES - total + 1):
        total += len(line)
        if total > LARGEST_BYTES:
            raise BadFile(f"{path}: more than {LARGEST_BYTES} bytes of text")
        yield line
