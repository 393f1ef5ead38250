"""Split files, written in pieces, and the partition of official files into new ones."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import provenance
from models.evaluation.table import read_pieces
from models.evaluation.unit_errors import BadFile
from models.provenance import PROVENANCE
from models.tasks.weather.data import dummies, official, partition
from models.tasks.weather.data.features import CLIMATE, FACT_TIME
from models.tasks.weather.data.table import CLIMATES, UNKNOWN, Table
from models.workbench import Progress


def partition_files(
    files: Sequence[Path],
    directory: Path,
    rules: partition.Rules,
    seed: int,
    progress: Progress,
    *,
    extension: str = "csv",
    extended: bool = False,
    no_meta: bool = False,
) -> list[Path]:
    """Divide official files with time and climate by ``rules`` into new ones, in two passes with bounded memory.

    Average rows of the files are left out, and those of the new training split are added.

    Raises:
        BadFile: there is no file, or a file has no time, climate or labels; see ``official.read``.
        BadPartition: no row is for training.
        ValueError: an input file would be overwritten.
    """
    if not files:
        raise BadFile("no file to divide; name one or more official files with time and climate")
    time, climate = _times_and_climates(files)
    which = partition.assign(time, climate, rules, seed, extended=extended)
    directory.mkdir(parents=True, exist_ok=True)
    names = [name for index, name in enumerate(partition.SPLITS) if (which == index).any()]
    known: dummies.Sums | None = None
    with contextlib.ExitStack() as stack:
        splits = {name: stack.enter_context(Split(directory, name, extension, no_meta)) for name in names}
        for split in splits.values():
            split.refuse(files)
        start = 0
        for piece in _reports(files):
            place = which[start : start + len(piece)]
            start += len(piece)
            real = ~dummies.found_in(piece)
            for name, split in splits.items():
                rows = piece.rows(real & (place == partition.SPLITS.index(name)))
                if len(rows):
                    split.write(rows)
                    if name == "train":
                        known = dummies.sums(rows) if known is None else known + dummies.sums(rows)
            progress(min(start / len(which), 0.999), f"{start} rows")
        if known is not None:
            splits["train"].write(dummies.dummies(known))
    progress(1.0, directory.name)
    provenance.write(directory, *_provenance(files))
    return [path for split in splits.values() for path in split.paths]


class Split:
    """Writer of one split, optionally with a second file of the features only."""

    def __init__(self, directory: Path, name: str, extension: str, no_meta: bool) -> None:
        self.paths = [directory / f"{name}.{extension}"]
        layouts = ["full"]
        if no_meta:
            self.paths.append(directory / f"{name}_no_meta.{extension}")
            layouts.append("no_meta")
        self._layouts = layouts
        self._stack = contextlib.ExitStack()
        self._writers: list[official.Writer] = []

    def __enter__(self) -> Split:
        for path, layout in zip(self.paths, self._layouts, strict=True):
            self._writers.append(self._stack.enter_context(official.Writer(path, layout)))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def write(self, table: Table) -> None:
        for writer in self._writers:
            writer.write(table)

    def refuse(self, files: Iterable[Path]) -> None:
        """Raise ValueError if an input file would be overwritten."""
        same = {path.resolve() for path in files} & {path.resolve() for path in self.paths}
        if same:
            raise ValueError(f"{min(same)} is read and would be overwritten; give another directory as --out")


def _times_and_climates(files: Sequence[Path]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the time, Unix seconds [N], and climate [N] of all rows; ``UNKNOWN`` for invalid climates."""
    times, climates = [], []
    for path in files:
        for piece in read_pieces(path, [FACT_TIME], [CLIMATE]):
            times.append(piece[FACT_TIME])
            codes = np.full(len(piece[CLIMATE]), UNKNOWN, np.uint8)
            for code, climate in enumerate(CLIMATES):
                codes[piece[CLIMATE] == climate] = code
            climates.append(codes)
    return np.concatenate([np.empty(0), *times]), np.concatenate([np.empty(0, np.uint8), *climates])


def _reports(files: Sequence[Path]) -> Iterator[Table]:
    needed = (*official.LABELS, FACT_TIME, CLIMATE)
    for path in files:
        yield from official.pieces(path, needed=needed, training=True)


def _provenance(files: Sequence[Path]) -> tuple[str, str]:
    """Return description and licence of the files, from the notes beside them."""
    notes = [path.parent / PROVENANCE for path in files]
    known = {note: json.loads(note.read_text()) for note in notes if note.exists()}
    statements = {(str(record.get("description", "")), str(record.get("licence", ""))) for record in known.values()}
    if len(known) == len(set(notes)) and len(statements) == 1:
        description, licence = statements.pop()
        return f"{description}; divided anew", licence
    return "divided from files of the user", "that of the files"
