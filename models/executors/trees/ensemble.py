"""Members of CatBoost models for serving: compact tables if they are quicker, else the native evaluator."""

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.executors.members import Members
from models.executors.trees import kernel
from models.executors.trees.agreement import agreeing
from models.executors.trees.cbm import UnreadableTrees
from models.executors.trees.library import InProcess, Library, median_seconds
from models.executors.trees.link import linked
from models.executors.trees.model import TreeModel, open_model
from models.executors.trees.native import NativeTrees
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
    """One model file; ``model.native`` is None if only tables are used, or the library is in another process."""

    model: TreeModel
    how: Cut


class TreeEnsemble:
    """Members of one or several heads from .cbm files; a ``MemberExecutor``.

    Tables are made if the kernel is available and every model fits into them, and kept only if they agree with the
    library on probes. The library's own models (four times as large) are then freed, except one per head, which
    ``measure`` times before it closes the library. Tables run on the calling thread and without the interpreter lock,
    so threads add up.
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
        library: Callable[[], Library] = InProcess,
    ) -> None:
        """
        Args:
            paths: head name to the files of its members.
            heads: heads, at least those of ``paths``.
            virtual: number of members that each file is cut into; 0 for none.
            threads: number of threads of the library's evaluator.
            fast: False makes no tables.
            library: opens the library that tables are compared with; models that it runs itself are opened in this
                process.

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
        self._library: Library | None = None
        """Open from here to ``measure``."""
        compiled = kernel.load() if fast else None
        if compiled is None:
            self.why_native = "no compiled kernel" if fast else "not asked for"
        self._library = InProcess() if compiled is None else library()
        try:
            packed = list(self._packed(paths, heads, compiled))
        except BaseException:
            self._close()
            raise
        if compiled is None or self.why_native:
            self._open_native()
        else:
            self._tables = Tables(compiled, packed)

    def _packed(
        self, paths: Mapping[str, Sequence[Path]], heads: Mapping[str, Head], compiled: ctypes.CDLL | None
    ) -> Iterator[tuple[PackedTrees, Cut]]:
        """Open and check all models; yield their tables until one has none."""
        for name, files in paths.items():
            for number, path in enumerate(files):
                assert self._library is not None
                model = self._library.open(path, heads[name], self._schema)
                if number and np.array_equal(model.classes, self._members[name][0].model.classes):
                    model = replace(
                        model, classes=self._members[name][0].model.classes
                    )  # read concurrently from now on
                member = _Member(model, cut(model, self._virtual))
                if compiled is not None and not self.why_native:
                    try:
                        yield agreeing(compiled, self._library, model, member.how, len(self._schema)), member.how
                        if number:
                            member = _Member(self._library.release(model), member.how)
                    except (NoTables, UnreadableTrees) as error:
                        self.why_native = str(error)
                        self._close()
                        self._library = InProcess()
                self._members[name].append(member)

    def _close(self) -> None:
        if self._library is not None:
            self._library.close()
            self._library = None

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
        caches. With one thread, times are processor time: services that start together interrupt each other.
        """
        try:
            self._measure(rows, repeats)
        finally:
            self._close()

    def _measure(self, rows: NDArray[np.float32], repeats: int) -> None:
        if self._tables is None:
            if self._native is not None:
                self._native(rows[:1])
            return
        if self._library is None:
            return  # measured before
        self.crossover = None
        library = self._library
        quicker = [self._library_is_quicker(library, np.resize(rows, (size, rows.shape[1])), repeats) for size in SIZES]
        slower_up_to = max((number for number, faster in enumerate(quicker) if not faster), default=-1)
        if slower_up_to + 1 < len(SIZES):
            self.crossover = SIZES[slower_up_to + 1]
            self._open_native()
            if slower_up_to < 0:
                self._tables, self.why_native = None, "slower than the library"
        else:
            for members in self._members.values():
                members[0] = _Member(library.release(members[0].model), members[0].how)

    def _library_is_quicker(self, library: Library, rows: NDArray[np.float32], repeats: int) -> bool:
        clock = time.thread_time if self._threads == 1 else time.perf_counter
        own = median_seconds(lambda: self(rows), repeats, clock)
        firsts = [members[0] for members in self._members.values()]
        members = np.mean([len(members) for members in self._members.values()])
        return bool(library.seconds(firsts, rows, self._threads, repeats) * members < _MARGIN * own)

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
