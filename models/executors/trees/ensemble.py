"""Members of CatBoost models for serving: compact tables if they are quicker, else the native evaluator."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.executors.members import Members
from models.executors.trees import kernel
from models.executors.trees.agreement import agreeing
from models.executors.trees.cbm import UnreadableTrees
from models.executors.trees.link import linked
from models.executors.trees.model import TreeModel, open_model
from models.executors.trees.native import NativeTrees, pooled, raw_pieces
from models.executors.trees.tables import NoTables, PackedTrees, Tables
from models.executors.trees.virtual import Cut, cut
from models.head import Head
from models.schema import Schema

SIZES = (1, 4, 16, 64, 256, 1024)
"""Numbers of rows at which tables and library are timed."""
_PASS_ROWS = 4096
_MARGIN = 0.95
"""Share of the tables' time below which the library is used instead."""


class _Member(NamedTuple):
    """One model file; ``model.native`` is None if only tables are used."""

    model: TreeModel
    how: Cut


class TreeEnsemble:
    """Members of one or several heads from .cbm files; a ``MemberExecutor``.

    Tables are made if the kernel is available and every model fits into them, and kept only if they agree with the
    library on probes. The library's own models (four times as large) are then freed, except one per head, which
    ``measure`` times. Tables run on the calling thread and without the interpreter lock, so threads add up.
    """

    def __init__(
        self,
        paths: Mapping[str, Sequence[Path]],
        heads: Mapping[str, Head],
        schema: Schema,
        *,
        virtual: int = 0,
        threads: int = 1,
        fast: bool = True,
    ) -> None:
        """
        Args:
            paths: head name to the files of its members.
            heads: heads, at least those of ``paths``.
            virtual: number of members that each file is cut into; 0 for none.
            threads: number of threads of the library's evaluator.
            fast: False makes no tables.

        Raises:
            ArtefactError: a file that is damaged or does not fit its head or the schema.
        """
        self.heads = tuple(paths)
        self.crossover: int | None = None
        """Number of rows from which the library is used; None if it is never used while there are tables."""
        self.why_native = ""
        """Reason why there are no tables; empty if there are."""
        self._schema = schema
        self._threads = threads
        self._virtual = virtual
        self._members: dict[str, list[_Member]] = {name: [] for name in paths}
        self._tables: Tables | None = None
        self._native: NativeTrees | None = None
        packed: list[tuple[PackedTrees, Cut]] = []
        library = kernel.load() if fast else None
        if library is None:
            self.why_native = "no compiled kernel" if fast else "not asked for"
        for name, files in paths.items():
            for number, path in enumerate(files):
                model = open_model(path, heads[name], schema)
                if number and np.array_equal(model.classes, self._members[name][0].model.classes):
                    model = replace(
                        model, classes=self._members[name][0].model.classes
                    )  # read concurrently from now on
                member = _Member(model, cut(model, virtual))
                if library is not None and not self.why_native:
                    try:
                        packed.append((agreeing(library, model, member.how, len(schema)), member.how))
                        if number:
                            member = _Member(replace(model, native=None), member.how)
                    except (NoTables, UnreadableTrees) as error:
                        self.why_native = str(error)
                self._members[name].append(member)
        if library is None or self.why_native:
            self._open_native()
        else:
            self._tables = Tables(library, packed)

    @property
    def nbytes(self) -> int:
        """Memory of the tables in bytes; 0 without tables."""
        return self._tables.nbytes if self._tables else 0

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the outputs of each member for rows [n, F]: float32 {head: [M, n, K]}."""
        tables = self._tables
        if tables is None or (self._native is not None and self.crossover is not None and len(rows) >= self.crossover):
            assert self._native is not None
            return self._native(rows)
        starts = range(0, max(len(rows), 1), _PASS_ROWS)
        parts = [self._from_tables(tables, rows[start : start + _PASS_ROWS]) for start in starts]
        return (
            parts[0]
            if len(parts) == 1
            else {name: np.concatenate([part[name] for part in parts], axis=1) for name in self.heads}
        )

    def _from_tables(self, tables: Tables, rows: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        raw = iter(tables(rows))
        answer = {}
        for name, members in self._members.items():
            own = [next(raw) for _ in members]
            if all(member.model.classes is members[0].model.classes for member in members):
                answer[name] = linked(members[0].model, np.concatenate(own))
            else:  # some have not seen all classes
                answer[name] = np.concatenate(
                    [linked(member.model, sums) for member, sums in zip(members, own, strict=True)]
                )
        return answer

    def measure(self, rows: NDArray[np.float32], repeats: int = 3) -> None:
        """Warm up with rows [n, F], and find the number of rows from which the library is quicker, if any.

        One of the library's models per head is timed and counted for all: with all in memory it would find colder
        caches.
        """
        if self._tables is None:
            if self._native is not None:
                self._native(rows[:1])
            return
        firsts = {name: members[0] for name, members in self._members.items()}
        if any(member.model.native is None for member in firsts.values()):
            return  # measured before
        self.crossover = None
        quicker = [self._library_is_quicker(firsts, np.resize(rows, (size, rows.shape[1])), repeats) for size in SIZES]
        slower_up_to = max((number for number, faster in enumerate(quicker) if not faster), default=-1)
        if slower_up_to + 1 < len(SIZES):
            self.crossover = SIZES[slower_up_to + 1]
            self._open_native()
            if slower_up_to < 0:
                self._tables, self.why_native = None, "slower than the library"
        else:
            for members in self._members.values():
                members[0] = _Member(replace(members[0].model, native=None), members[0].how)

    def _library_is_quicker(self, firsts: Mapping[str, _Member], rows: NDArray[np.float32], repeats: int) -> bool:
        def library() -> None:
            pool = pooled(rows, self._threads)
            for member in firsts.values():
                linked(member.model, member.how.members(raw_pieces(member.model, member.how, pool, self._threads)))

        own = _median_seconds(lambda: self(rows), repeats)
        members = np.mean([len(members) for members in self._members.values()])
        return bool(_median_seconds(library, repeats) * members < _MARGIN * own)

    def _open_native(self) -> None:
        """All models in the library's own form."""
        models = {
            name: [
                member.model
                if member.model.native is not None
                else open_model(member.model.path, member.model.head, self._schema)
                for member in members
            ]
            for name, members in self._members.items()
        }
        self._native = NativeTrees(models, threads=self._threads, virtual=self._virtual)


def _median_seconds(call: Callable[[], object], repeats: int) -> float:
    call()
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return float(np.median(durations))
