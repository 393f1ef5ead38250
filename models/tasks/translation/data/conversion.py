"""Official files of pairs into one file of the columns that ``select`` and training read.

A file of columns stands for itself; of SGML and of plain text two follow each other, English and Russian. Pairs go
through one at a time, as the training corpus has 62 million of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data import cleaning, corpus, official
from models.tasks.translation.data.cleaning import Lines
from models.tasks.translation.data.corpus import Pair
from models.tasks.translation.text import moses

_SGML = (".sgm", ".sgml")
_TOLD_EVERY = 10_000
"""Pairs between two words on progress."""


@dataclass(frozen=True)
class Converted:
    """What came of some files."""

    read: int
    """Pairs with two sides."""
    kept: int
    held: int
    """Of those kept, the ones for validation."""


def convert(
    files: Sequence[Path],
    out: Path,
    *,
    domain: str,
    key: str | None = None,
    clean: bool = False,
    held: Path | None = None,
    tell: Callable[[int], None] = lambda read: None,
) -> Converted:
    """Write the pairs of official files as ``corpus.read`` takes them.

    Args:
        files: each one of ``official.COLUMNS`` by its name, or two by two English and Russian: SGML where both end so
            (``.sgm``), text of a sentence a line otherwise. All may be packed (``.gz``).
        domain: of all pairs.
        key: of their source; the name of the file up to its first dot if not given. Files of columns have their own.
        clean: whether only pairs without a ``cleaning.fault`` are kept, each once; needs the ``released`` extra.
        held: where every hundredth pair that is kept goes instead of ``out``; nowhere if not given.
        tell: is called now and then with the number of pairs read.

    Raises:
        BadFile: a file that cannot be read, English without Russian, or SGML with text (see ``official``).
        ArtefactError: the tokeniser for ``clean`` is not installed.
        OSError: ``out`` or ``held`` cannot be written.
    """
    sources = [_pairs(part, domain, key) for part in _parts(files)]
    read = kept = validating = 0

    def counted(pairs: Iterable[Pair]) -> Iterator[Pair]:
        nonlocal read
        for pair in pairs:
            if pair.english.strip() and pair.russian.strip():
                read += 1
                if read % _TOLD_EVERY == 0:
                    tell(read)
                yield pair

    pairs = counted(chain.from_iterable(sources))
    with ExitStack() as opened:
        write = opened.enter_context(corpus.writing(out))
        write_held = opened.enter_context(corpus.writing(held)) if held else write
        for kept, pair in enumerate(cleaning.cleaned(pairs, _tokens) if clean else pairs, 1):
            validates = held is not None and cleaning.for_validation(kept)
            validating += validates
            (write_held if validates else write)(pair)
    return Converted(read, kept, validating)


def _parts(files: Sequence[Path]) -> list[tuple[Path, ...]]:
    """Return the files one by one or in twos."""
    parts: list[tuple[Path, ...]] = []
    waiting = list(files)
    while waiting:
        first = waiting.pop(0)
        if official.has_columns(first):
            parts.append((first,))
            continue
        if not waiting or official.has_columns(waiting[0]):
            raise BadFile(
                f"{first} is taken for English, and no file of its Russian follows; only those whose names begin with "
                f"{', '.join(official.COLUMNS)} hold both"
            )
        parts.append((first, waiting.pop(0)))
    return parts


def _pairs(part: tuple[Path, ...], domain: str, key: str | None) -> Iterable[Pair]:
    if len(part) == 1:
        return official.columns(part[0], domain)
    english, russian = part
    name = key or english.name.partition(".")[0]
    if _is_sgml(english) != _is_sgml(russian):
        raise BadFile(f"{english} and {russian} are of two forms; both are SGML or neither is")
    read = official.sgml if _is_sgml(english) else official.parallel
    return read(english, russian, domain, name)


def _is_sgml(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(_SGML)


def _tokens(pair: Pair) -> Lines:
    """Both sides as the recipe sees them when it cleans."""
    return _tokenised(pair.english, moses.ENGLISH), _tokenised(pair.russian, moses.RUSSIAN)


def _tokenised(text: str, language: str) -> str:
    return moses.tokenised(moses.prepared(text, language), language)
