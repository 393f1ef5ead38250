"""Conversion of official files of pairs to one file of the columns that ``select`` and training read.

A file of columns contains both languages; SGML and plain text come as two files, English and Russian. Pairs are
streamed, as the training corpus has 62 million of them.
"""

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
"""Number of pairs between two progress reports."""


@dataclass(frozen=True)
class Converted:
    """Counts of a conversion."""

    read: int
    """Number of pairs with two sides."""
    kept: int
    held: int
    """Number of kept pairs that are for validation."""


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
    """Write the pairs of official files in the format of ``corpus.read``.

    Args:
        files: each one of ``official.COLUMNS`` by its name, or pairs of English and Russian: SGML if both have the
            suffix ``.sgm``, else text with a sentence per line. All may be gzipped (``.gz``).
        domain: domain of all pairs.
        key: key of their source; the name of the file up to its first dot if not given. Files of columns have their
            own.
        clean: whether only pairs without a ``cleaning.fault`` are kept, each once; needs the ``released`` extra.
        held: file for every hundredth kept pair, instead of ``out``; by default none is held out.
        tell: called from time to time with the number of pairs read.

    Raises:
        BadFile: a file cannot be read, English comes without Russian, or SGML with text (see ``official``).
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
    """Group the files: one of columns, or two of English and Russian."""
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
    """Return both sides as tokenised for cleaning in the recipe."""
    return _tokenised(pair.english, moses.ENGLISH), _tokenised(pair.russian, moses.RUSSIAN)


def _tokenised(text: str, language: str) -> str:
    return moses.tokenised(moses.prepared(text, language), language)
