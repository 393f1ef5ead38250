"""Pairs of sentences in the official files: SGML, columns, and text with a sentence per line.

Files may be gzipped (``.gz``), and are read a line at a time: the training corpus has 62 million pairs. Some files have
empty sides (news commentary separates documents by them); they are left out here, while the recipe drops them later.
"""

import html
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data.corpus import Pair
from models.tasks.translation.data.lines import text_lines

ENGLISH, RUSSIAN = "en", "ru"
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "news-commentary": (ENGLISH, RUSSIAN),
    "wikititles": (RUSSIAN, ENGLISH),
    "WikiMatrix": ("score", ENGLISH, RUSSIAN),
}
"""Columns of a training file, by the beginning of its name; further columns, such as detected languages, are
ignored.
"""
LONGEST_LINE = 1 << 20
"""Limit of the bytes of a line."""


@dataclass(frozen=True)
class Segment:
    """Sentence of an SGML file."""

    document: str
    number: str
    """Number within the document."""
    text: str
    place: str
    """File and line, for messages."""


def has_columns(path: Path) -> bool:
    """Return whether the name of a file is that of a file of columns."""
    return _columns_key(path) is not None


def columns(path: Path, domain: str) -> Iterator[Pair]:
    """Yield the pairs of a training file, whose name determines its columns.

    Raises:
        BadFile: the name is not in ``COLUMNS``, the file cannot be read or is not UTF-8, or a line has too few columns;
            the message names file and line.
    """
    key = _columns_key(path)
    if key is None:
        raise BadFile(f"{path}: columns are known by the name of a file, which begins with {', '.join(COLUMNS)}")
    order = COLUMNS[key]
    english, russian = order.index(ENGLISH), order.index(RUSSIAN)
    for number, line in _lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) < len(order):
            raise BadFile(f"{path}, line {number} has {len(cells)} columns; {', '.join(order)} are needed")
        yield from _pair(domain, f"{key.lower()}:{path.name}", cells[english], cells[russian])


def parallel(english: Path, russian: Path, domain: str, key: str) -> Iterator[Pair]:
    """Yield the pairs of two text files, line by line.

    Such files are ``reddit_dev.en`` and ``.ru``, ``eval.en`` and ``.ru``, and most training files.

    Args:
        key: key of the source, which identifies its licence.

    Raises:
        BadFile: see ``columns``; or the files differ in length.
    """
    missing = (0, "")
    for (number, ours), (other, theirs) in itertools.zip_longest(_lines(english), _lines(russian), fillvalue=missing):
        if not (number and other):
            short, long = (english, russian) if other else (russian, english)
            raise BadFile(f"{short} ends before line {number or other}, which {long} has; pairs are line by line")
        yield from _pair(domain, f"{key}:{english.name}", ours, theirs)


def sgml(source: Path, reference: Path, domain: str, key: str, *, decode: bool = True) -> list[Pair]:
    """Return the pairs of two SGML files, such as ``newstest2019-enru-src.en.sgm`` and ``-ref.ru.sgm``.

    Sources are ``<key>:<document>``. Empty sides are kept, since predictions are matched by line number.

    Args:
        decode: whether entities become characters. The recipe leaves them, so that ``&amp;`` counts as five there.

    Raises:
        BadFile: see ``segments``; or the files differ in segments or their order.
    """
    pairs = []
    for ours, theirs in itertools.zip_longest(segments(source, decode=decode), segments(reference, decode=decode)):
        if ours is None or theirs is None:
            extra, other = (theirs, source) if ours is None else (ours, reference)
            raise BadFile(f"{extra.place}: segment {extra.number} of {extra.document!r} is not in {other}")
        if (ours.document, ours.number) != (theirs.document, theirs.number):
            raise BadFile(
                f"{theirs.place}: segment {theirs.number} of {theirs.document!r}, where {ours.place} has segment "
                f"{ours.number} of {ours.document!r}; both files need one order"
            )
        pairs.append(Pair(domain, f"{key}:{ours.document}", ours.text, theirs.text))
    return pairs


_DOCUMENT = re.compile(r"<doc\b([^>]*)>", re.IGNORECASE)
_DOCUMENT_NAME = re.compile(r"""\bdocid\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_SEGMENT = re.compile(r"""<seg\s+id\s*=\s*["']?(\d+)["']?\s*>""", re.IGNORECASE)
_SEGMENT_END = re.compile(r"</seg>", re.IGNORECASE)
_ANY = re.compile(r"<(?:doc|/doc|seg)\b", re.IGNORECASE)


def segments(path: Path, *, decode: bool = True) -> list[Segment]:
    """Return the segments of an SGML file, each on a separate line as the recipe requires.

    Raises:
        BadFile: the file cannot be read, is not UTF-8 or has no segment, or a segment is outside a document, has no
            number, occurs twice in a document, or is not closed in its line; the message names the line.
    """
    collected: list[Segment] = []
    document: str | None = None
    seen: set[tuple[str, str]] = set()
    for number, line in _lines(path):
        place = f"{path}, line {number}"
        for tag in _ANY.finditer(line):
            kind = tag.group().lower()
            if kind == "</doc":
                document = None
            elif kind == "<doc":
                document = _document(line, tag.start(), place)
            elif document is None:
                raise BadFile(f"{place}: a segment outside a document (<doc docid=...>)")
            else:
                segment = _segment(line, tag.start(), document, place, decode)
                if (document, segment.number) in seen:
                    raise BadFile(f"{place}: segment {segment.number} of {document!r} is given twice")
                seen.add((document, segment.number))
                collected.append(segment)
    if not collected:
        raise BadFile(f"{path} has no segments (<seg id=...>)")
    return collected


def _document(line: str, start: int, place: str) -> str:
    opened = _DOCUMENT.match(line, start)
    named = _DOCUMENT_NAME.search(opened[1]) if opened else None
    if named is None:
        raise BadFile(f"{place}: a document without a name (docid)")
    return html.unescape(named[1] if named[1] is not None else named[2])


def _segment(line: str, start: int, document: str, place: str, decode: bool) -> Segment:
    opened = _SEGMENT.match(line, start)
    if opened is None:
        raise BadFile(f"{place}: a segment without a number (<seg id=...>)")
    end = _SEGMENT_END.search(line, opened.end())
    if end is None:
        raise BadFile(f"{place}: segment {opened[1]} of {document!r} is not closed (</seg>) in its line")
    text = line[opened.end() : end.start()].strip()
    return Segment(document, opened[1], html.unescape(text) if decode else text, place)


def _columns_key(path: Path) -> str | None:
    return next((key for key in COLUMNS if path.name.lower().startswith(key.lower())), None)


def _pair(domain: str, source: str, english: str, russian: str) -> Iterator[Pair]:
    if english.strip() and russian.strip():
        yield Pair(domain, source, english, russian)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the numbered lines of a file, from 1."""
    return enumerate(text_lines(path, longest=LONGEST_LINE), 1)
