"""Table that ``demur score`` writes: a row per row of the input, flat columns per head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import demur
from services.cli.rows.chunking import IDENTITY, Chunk
from services.tasks.scoring import INVALID

Columns = Mapping[str, NDArray[Any]]

UNCERTAINTIES = ("total", "data", "knowledge", "uncertainty")
DECISIONS = ("deferred", "shifted", "prediction_id", "reason", "shift_reasons", "shifted_inputs")
"""Columns of each head, by the names of ``to_dict``."""
ERROR = "error"
"""Column with the error of a row that could not be scored; it stands between answers and kept columns."""
TAKEN = "input."
"""Prefix of a kept column whose name is also that of an answer."""
_EMPTY = ""


class Writer(Protocol):
    """The part of ``csv.writer`` that is used here."""

    def writerow(self, row: Any, /) -> Any:
        """Writes a row."""
        ...

    def writerows(self, rows: Any, /) -> Any:
        """Writes rows."""
        ...


@dataclass(frozen=True)
class Answered:
    """Answers to the rows of a chunk, and their errors."""

    rows: NDArray[np.intp]
    """Numbers of the answered rows within the chunk, ascending [n]."""
    columns: Columns
    """Their answers [n]."""
    faults: Mapping[int, str]
    """Errors of the other rows, by row number within the chunk."""

    def before(self, row: int) -> Answered:
        """Return the answers to the rows before a row, all of which must have one."""
        return Answered(self.rows[:row], {name: values[:row] for name, values in self.columns.items()}, {})


class Scored:
    """Writes answers as they come, and counts what was deferred.

    Columns are named as the client's ``to_dict`` names them: without the head's name where a task's answer is that
    of its only head, else ``<head>.<column>``. What the model does not have is an empty column. A row that could not be
    scored has no answers: it is deferred, its reason is ``invalid_input``, and ``error`` says why.
    """

    def __init__(
        self,
        writer: Writer,
        heads: Sequence[demur.Head],
        *,
        named: bool | None = None,
        kept: Sequence[str] = (),
        skip: bool = False,
    ) -> None:
        """
        Args:
            named: whether columns begin with the head's name; None: where there are several.
            kept: columns of the input that are written behind the answers, where it has them.
            skip: whether rows that could not be scored are left out.
        """
        self._writer = writer
        self._heads = heads
        named = len(heads) > 1 if named is None else named
        self._prefixes = {head.name: f"{head.name}." if named else "" for head in heads}
        self._selected = kept
        self._skip = skip
        self._names: list[str] = []
        self._kept: list[str] = []
        self._begun = False
        self.rows = 0
        """Rows of the input so far."""
        self.failed = 0
        """Rows among them that could not be scored."""
        self._counts = {head.name: {"deferred": 0, "shifted": 0} for head in heads}
        self._reasons: dict[str, Counter[str]] = {head.name: Counter() for head in heads}

    def add(self, chunk: Chunk, answered: Answered) -> None:
        """Write the answers to a chunk."""
        if not self._begun:
            self._begin(chunk, answered.columns)
        self.rows += len(chunk.ids)
        self.failed += len(answered.faults)
        self._count(answered)
        places = answered.rows if self._skip else np.arange(len(chunk.ids))
        whole = len(answered.rows) == len(places)
        columns = [self._column(name, answered, len(chunk.ids), whole) for name in self._names]
        errors = [answered.faults.get(row, _EMPTY) for row in places.tolist()]
        kept = [_chosen(chunk.kept.get(name, ()), places, len(chunk.ids)) for name in self._kept]
        self._writer.writerows(zip(_chosen(chunk.ids, places, len(chunk.ids)), *columns, errors, *kept, strict=True))

    def close(self) -> None:
        """Writes the header that stands alone, where the file has no rows."""
        if not self._begun:
            self._begin(None, {})

    def counts(self) -> dict[str, Any]:
        """Return the number of rows, and of deferred and shifted ones per head, with reasons; flat as the columns."""
        heads = {name: counts | {"reasons": dict(self._reasons[name])} for name, counts in self._counts.items()}
        return {"rows": self.rows, "failed": self.failed} | (heads if self._named else next(iter(heads.values())))

    def text(self) -> str:
        """Return the counts in a line for people."""
        parts = [f"{name}: " * self._named + _counted(counts) for name, counts in self._counts.items()]
        failed = f", {self.failed} refused" + (" and left out" if self._skip else "") if self.failed else ""
        return f"{self.rows} rows, {'; '.join(parts)}{failed}"

    @property
    def _named(self) -> bool:
        return any(self._prefixes.values())

    def _begin(self, chunk: Chunk | None, columns: Columns) -> None:
        self._begun = True
        for head in self._heads:
            names = [*_predictions(head), *UNCERTAINTIES, *DECISIONS]
            prefix = self._prefixes[head.name]
            members = [name for name in columns if name.startswith(f"{prefix}member")]
            self._names += [*(prefix + name for name in names), *members]
        # flat tables have always called the first column so, which their readers know
        first = "row" if self._named and (chunk is None or chunk.numbered) else IDENTITY
        taken = {first, *self._names, ERROR, *DECISIONS}  # with the head's name or without
        self._kept = [name for name in self._selected if chunk is not None and name in chunk.kept]
        kept = [f"{TAKEN}{name}" if name in taken else name for name in self._kept]
        self._writer.writerow([first, *self._names, ERROR, *kept])

    def _column(self, name: str, answered: Answered, rows: int, whole: bool) -> list[Any]:
        values = answered.columns.get(name)
        shown = _shown(values) if values is not None else [_EMPTY] * len(answered.rows)
        if whole:
            return shown
        column: list[Any] = [{"deferred": 1, "reason": INVALID}.get(name.rpartition(".")[2], _EMPTY)] * rows
        for row, value in zip(answered.rows.tolist(), shown, strict=True):
            column[row] = value
        return column

    def _count(self, answered: Answered) -> None:
        for name, counts in self._counts.items():
            prefix = self._prefixes[name]
            for count in counts:
                counts[count] += int(np.count_nonzero(answered.columns.get(prefix + count, ())))
            words = answered.columns.get(f"{prefix}reason")
            if words is not None:
                reasons, numbers = np.unique(words, return_counts=True)
                self._reasons[name].update({w: n for w, n in zip(reasons.tolist(), numbers.tolist(), strict=True) if w})


def member_columns(answer: Any) -> dict[str, NDArray[Any]]:
    """Return the predictions of the members by column, [n]: as ``member1.mean`` or ``member1.p0``.

    With several heads, names start with that of the head. Without members in the answer, the result is empty.
    """
    if hasattr(answer, "heads"):
        return {
            f"{head}.{name}": values
            for head, part in answer.heads.items()
            for name, values in member_columns(part).items()
        }
    columns: dict[str, NDArray[Any]] = {}
    if isinstance(answer, demur.CategoricalAnswer):
        if answer.member_probabilities is not None:
            for number, rows in enumerate(answer.member_probabilities, 1):
                columns |= {f"member{number}.p{place}": rows[:, place] for place in range(rows.shape[1])}
    elif answer.member_means is not None and answer.member_variances is not None:
        pairs = zip(answer.member_means, answer.member_variances, strict=True)
        for number, (mean, variance) in enumerate(pairs, 1):
            columns |= {f"member{number}.mean": mean, f"member{number}.variance": variance}
    return columns


def _predictions(head: demur.Head) -> list[str]:
    """Return the prediction columns of a head."""
    if head.kind == "categorical":
        return ["class", *(f"p{place}" for place in range(len(head.class_names)))]
    return ["mean"]


def _shown(values: NDArray[Any]) -> list[Any]:
    return values.astype(int).tolist() if values.dtype == np.bool_ else values.tolist()  # type: ignore[no-any-return]


def _chosen(values: Sequence[Any], places: NDArray[np.intp], rows: int) -> Sequence[Any]:
    """Return the values at some places; empty cells if there are no values."""
    if not values:
        return [_EMPTY] * len(places)
    if len(places) == rows:
        return values
    return [values[place] for place in places.tolist()]


def _counted(counts: Mapping[str, int]) -> str:
    return f"{counts['deferred']} deferred, {counts['shifted']} shifted"
