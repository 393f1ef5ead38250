"""Anomalies that annotators marked in the benchmark's Reddit sentences, used as groups of figures.

Shifts 1.0 (appendix D.1) names seven flags that do not exclude each other; sentences of news have none. The papers do
not specify the file of flags. Supported are JSON lines, ``{"id": 0, "slang": 1, ...}`` with all seven or ``{"id": 0,
"flags": ["slang"]}``, and columns of 0 and 1, a line per sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile, Mask
from models.tasks.translation.data.lines import identifier, records, text_lines

FLAGS: Mapping[str, str] = {
    "punctuation": "marks are missing or wrong, or there is markup such as a wiki's",
    "spelling": "words are misspelt or run together, hyphens are wrong",
    "capitalization": "capitals where small letters belong, or the other way round",
    "fluency": "prepositions or pronouns are missing or wrong, or forms ungrammatical",
    "slang": "words or abbreviations of slang, such as idk and cuz",
    "emoji": "emoji at the end or instead of words",
    "tags": "marks of user names or code, such as r/username",
}
"""Meaning of each flag, in the order of the paper."""
COUNT = "anomalies"
"""Name of the group by the number of flags."""
YES, NO, UNKNOWN = "yes", "no", "unknown"
"""Values of a flag; sentences without annotation, such as those of news, are unknown."""

Row = tuple[bool, ...]
"""The seven flags in order."""


@dataclass(frozen=True)
class Anomalies:
    """Flags of sentences, by id or by line."""

    path: Path
    by_id: Mapping[int, Row] | None
    by_line: tuple[Row, ...]
    """Flags of each line, if there are no ids."""

    def groups(self, ids: NDArray[np.int64], shifted: Mask | None, source: Path) -> dict[str, NDArray[np.str_]]:
        """Return each flag of N sentences, and the number of flags, as text [N].

        Lines without ids refer either to all sentences or, if ``shifted`` is known, to the shifted ones only.

        Args:
            ids: ascending, [N].
            source: path of the predictions, for messages.

        Raises:
            BadFile: there are flags of a sentence without prediction, or the number of lines differs.
        """
        rows = self._rows(ids, shifted, source)
        columns = {
            flag: np.array([UNKNOWN if row is None else YES if row[place] else NO for row in rows])
            for place, flag in enumerate(FLAGS)
        }
        return {**columns, COUNT: np.array([UNKNOWN if row is None else str(sum(row)) for row in rows])}

    def _rows(self, ids: NDArray[np.int64], shifted: Mask | None, source: Path) -> Sequence[Row | None]:
        if self.by_id is not None:
            if strange := self.by_id.keys() - set(ids.tolist()):
                raise BadFile(
                    f"{source}: id {min(strange)} of {self.path} has no prediction; is this its file of flags?"
                )
            return [self.by_id.get(key) for key in ids.tolist()]
        total = len(self.by_line)
        if total == len(ids):
            return self.by_line
        if shifted is None:
            raise BadFile(
                f"{self.path} has {total} lines and {source} {len(ids)} sentences; if the lines are about the shifted "
                "ones only, say which these are (--domains)"
            )
        count = int(shifted.sum())
        if total != count:
            raise BadFile(f"{self.path} has {total} lines; {source} has {len(ids)} sentences, {count} of them shifted")
        left = iter(self.by_line)
        return [next(left) if is_shifted else None for is_shifted in shifted.tolist()]


def read(path: Path) -> Anomalies:
    """Read the flags of a file: JSON lines, or columns separated by tabs, commas or spaces.

    The first line names the columns (the seven in any order, and optionally ``id``); without names, the seven are in
    the order of the paper.

    Raises:
        BadFile: the file cannot be read, is not UTF-8 or is empty, a flag is missing, unknown or neither 0 nor 1, or an
            id occurs twice; the message names the line.
    """
    if path.suffix in (".json", ".jsonl") or next(iter(text_lines(path))).lstrip().startswith("{"):
        return _of_records(path)
    return _of_columns(path)


def _of_records(path: Path) -> Anomalies:
    rows: dict[int, Row] = {}
    for place, record in records(path):
        key = identifier(place, record)
        if key in rows:
            raise BadFile(f"{place}: id {key} is given twice")
        rows[key] = _of_record(place, record)
    return Anomalies(path, rows, ())


def _of_record(place: str, record: Mapping[str, Any]) -> Row:
    listed = record.get("flags")
    if listed is not None:
        if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
            raise BadFile(f"{place}: flags is no list of names")
        names = [_plain(entry) for entry in listed]
        if strange := [word for word in names if word not in FLAGS]:
            raise BadFile(f"{place}: flag {strange[0]!r} is not one of {', '.join(FLAGS)}")
        return tuple(flag in names for flag in FLAGS)
    values = {_plain(name): value for name, value in record.items()}
    if missing := [flag for flag in FLAGS if flag not in values]:
        raise BadFile(f"{place}: {missing[0]} is missing; all of {', '.join(FLAGS)} are needed, or a list of flags")
    return tuple(_flag(place, flag, values[flag]) for flag in FLAGS)


def _of_columns(path: Path) -> Anomalies:
    rows = enumerate(text_lines(path), 1)
    number, first = next(rows)
    separator = next((character for character in "\t," if character in first), None)
    names = [_plain(name) for name in first.split(separator)]
    cells: list[tuple[int, str]] = list(rows)
    if not set(names) & FLAGS.keys():
        names, cells = list(FLAGS), [(number, first), *cells]
    elif missing := [flag for flag in FLAGS if flag not in names]:
        raise BadFile(f"{path}, line 1: the column {missing[0]} is missing; there are {', '.join(names)[:200]}")
    by_id: dict[int, Row] = {}
    by_line: list[Row] = []
    for number, line in cells:
        place = f"{path}, line {number}"
        values = line.split(separator)
        if len(values) != len(names):
            raise BadFile(f"{place} has {len(values)} columns; {', '.join(names)[:200]} are needed")
        named = dict(zip(names, values, strict=True))
        row = tuple(_flag(place, flag, named[flag].strip()) for flag in FLAGS)
        if "id" not in named:
            by_line.append(row)
            continue
        key = _identifier(place, named["id"])
        if key in by_id:
            raise BadFile(f"{place}: id {key} is given twice")
        by_id[key] = row
    return Anomalies(path, by_id if "id" in names else None, tuple(by_line))


def _identifier(place: str, cell: str) -> int:
    if not (cell.strip().isascii() and cell.strip().isdecimal() and len(cell) < 20):
        raise BadFile(f"{place}: id is {cell[:40]!r}; a whole number from 0 is needed")
    return int(cell)


_VALUES: Mapping[Any, bool] = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True}


def _flag(place: str, name: str, value: object) -> bool:
    known = value.lower() if isinstance(value, str) else value
    if not isinstance(known, str | int | float) or known not in _VALUES:
        raise BadFile(f"{place}: {name} is {value!r}; 0 or 1 is needed")
    return _VALUES[known]


def _plain(name: str) -> str:
    """Return the canonical name of a flag, also for "Punctuation anomalies" and "capitalisation"."""
    plain = name.strip().strip('"').lower().replace("_", " ").replace("-", " ")
    plain = plain.removesuffix(" anomalies").removesuffix(" anomaly").replace("capitalisation", "capitalization")
    return {"emojis": "emoji", "tag": "tags"}.get(plain, plain)
