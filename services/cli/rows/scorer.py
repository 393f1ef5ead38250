"""``demur score`` for tasks of rows: a file of any length through the running service, in bounded memory."""

import csv
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import demur
from models.evaluation.row_files import AddRows, RowFiles
from models.inputs.check import possible
from models.schema import Feature, Schema
from models.workbench import Option
from services.cli.output import BadInput, CommandError
from services.cli.rows import reader
from services.cli.rows.chunking import Chunk, Selection, Table, Texts
from services.cli.rows.output_file import replacing
from services.cli.rows.scored_table import Answered, Columns, Scored, member_columns
from services.request.validate import refusal
from services.runtime.task_entry import imported
from services.tasks import ROW_FILES, TENANTS
from services.tasks.scoring import Outcome, Scorer, ScoreRequest, Stopped

OUTPUT = (
    "CSV (also .csv.gz), which `demur evaluate` reads: time_id where the input has it, else the row's number; answers, "
    "decisions and reasons, as <head>.<column> where the task has several heads; error of a row that was refused; then "
    "the input's labels"
)
SHIFTED = "shifted"
"""Column of the input that marks shifted rows; ``demur evaluate`` uses it."""
_NO_TABLES = {".parquet", ".feather", ".arrow", ".json", ".jsonl", ".ndjson", ".npz", ".xlsx"}
_PRINTED = 5
"""Number of refused rows that are printed; the output holds all."""


@dataclass
class _Block:
    """Chunk whose answers are pending."""

    chunk: Chunk
    rows: NDArray[np.intp]
    """Numbers of the rows that were sent."""
    faults: dict[int, str]
    """Errors of the other rows, by row number."""

    @property
    def table(self) -> Table:
        """Rows to send, float32 [n, F]."""
        return self.chunk.table if len(self.rows) == len(self.chunk.table) else self.chunk.table[self.rows]


@dataclass
class _Run:
    """State of a run: chunks in flight, the output and its counts."""

    request: ScoreRequest
    schema: Schema
    scored: Scored
    submit: AddRows | None
    sent: deque[_Block] = field(default_factory=deque)
    broken: ValueError | None = None
    """Error that ended the reading of the file."""
    left_out: int = 0
    """Number of rows that are not in the submission."""

    def tables(self, chunks: Iterator[Chunk]) -> Iterator[Any]:
        """Yield the rows to send, float32 [n, F], and keep their chunks until they are answered."""
        while True:
            try:
                chunk = next(chunks, None)
            except ValueError as error:  # rows read before it are still answered and written
                self.broken = error
                return
            if chunk is None:
                return
            block = self._checked(chunk)
            self.sent.append(block)
            if len(block.rows):
                yield block.table
            if block.faults and self.request.on_error == "fail":
                return

    def answered(self, columns: Columns) -> None:
        """Writes the answers to the first rows in flight.

        Raises:
            Stopped: a row was refused, and the run is to end there.
        """
        block = self.sent.popleft()
        self._write(block.chunk, Answered(block.rows, columns, block.faults))
        self.flush()

    def refused(self, service: Any, error: demur.DemurError, *, members: bool) -> None:
        """Writes the answers to the first rows in flight, of which the service refused some.

        Raises:
            demur.DemurError: the failure is not about a row.
            Stopped: as ``answered``.
        """
        if not isinstance(error, demur.InvalidInput) or error.index is None:
            raise error
        block = self.sent.popleft()

        def predict(table: Table) -> Columns:
            return _columns(service.predict(table, purpose=self.request.purpose, members=members))

        parts, places, faults = salvaged(predict, block.table)
        columns = {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
        known = block.faults | {int(block.rows[place]): text for place, text in faults.items()}
        self._write(block.chunk, Answered(block.rows[np.array(places, np.intp)], columns, known))
        self.flush()

    def flush(self) -> None:
        """Writes the blocks before the first that was sent: none of their rows could be.

        Raises:
            Stopped: as ``answered``.
        """
        while self.sent and not len(self.sent[0].rows):
            block = self.sent.popleft()
            self._write(block.chunk, Answered(block.rows, {}, block.faults))

    def _checked(self, chunk: Chunk) -> _Block:
        """Return a chunk with the rows that can be sent, by the ranges that the service describes."""
        faults = dict(chunk.faults)
        fine = possible(self.schema, chunk.table)
        if fine is not None:
            for row in np.flatnonzero(~fine.all(axis=1)).tolist():
                if row not in faults:
                    single = slice(row, row + 1)
                    faults[row] = str(refusal(self.schema, chunk.table[single], fine[single], 0)).replace(
                        " in row 0", "", 1
                    )
        rows = np.arange(len(chunk.table))
        if faults and self.request.on_error == "fail":
            return _Block(chunk, rows[: min(faults)], faults)
        return _Block(chunk, np.delete(rows, list(faults)) if faults else rows, faults)

    def _write(self, chunk: Chunk, answered: Answered) -> None:
        first = min(answered.faults, default=0)
        stops = bool(answered.faults) and self.request.on_error == "fail"
        fault = answered.faults.get(first, "")
        if stops:
            chunk, answered = chunk.head(first), answered.before(first)
        for row, text in islice(sorted(answered.faults.items()), max(0, _PRINTED - self.scored.failed)):
            self.request.tell(f"row {chunk.start + row} (from 0) is refused: {text}")
        if len(chunk.ids):
            self.scored.add(chunk, answered)
        if self.submit is not None and len(answered.rows):
            ids = [chunk.ids[row] for row in answered.rows.tolist()]
            self.left_out += self.submit(chunk.start + answered.rows, ids, answered.columns)
        self.left_out += len(answered.faults)
        if stops:
            raise Stopped(f"row {chunk.start + first} (from 0): {fault}")


def run(request: ScoreRequest) -> Outcome:
    """Stream a file through the service and write the answers.

    Raises:
        BadInput: the output's name says another form than CSV.
        CommandError: the file cannot be scored, or not to its end; the message says after how many rows. These rows
            are written.
    """
    if request.output.suffix.lower() in _NO_TABLES:
        raise BadInput(f"{request.output}: the output is CSV; give a name that ends in .csv or .csv.gz")
    task = _files(request.task)
    members = bool(request.options["members"])
    scored = None
    try:
        with ExitStack() as stack:
            client = stack.enter_context(demur.connect(request.target))
            service = getattr(client, request.task) if request.task in TENANTS else client.rows(request.task)
            described = service.describe()
            selection = _selection(described, task, request.options["keep"] or ())
            read, share = stack.enter_context(reader.opened(request.source, selection))
            file = stack.enter_context(replacing(request.output, request.source))
            submit = _submission(request, task, stack)
            scored = Scored(
                csv.writer(file),
                described.heads,
                named=task.named_heads,
                kept=selection.kept,
                skip=request.on_error == "skip",
            )
            state = _Run(request, _schema(described.features), scored, submit)
            stream = service.stream(state.tables(read), purpose=request.purpose, members=members, on_error="yield")
            for outcome in stream:
                state.flush()
                if isinstance(outcome, demur.ChunkError):
                    state.refused(service, outcome.error, members=members)
                else:
                    state.answered(_columns(outcome))
                request.progress(min(share(), 0.999), f"{scored.failed} refused" if scored.failed else "")
            state.flush()
            if state.broken is not None:
                raise state.broken
            scored.close()
    except (demur.DemurError, OSError, ValueError) as error:
        rows = scored.rows if scored is not None else 0
        where = f", which are in {request.output}" if rows else ""
        text = without_row(error) if isinstance(error, demur.InvalidInput) else str(error)
        raise CommandError(f"{text} (after {rows} rows{where})") from error
    request.progress(1.0, "")
    return _outcome(request, scored, state.left_out)


def _outcome(request: ScoreRequest, scored: Scored, left_out: int) -> Outcome:
    document, text = scored.counts(), scored.text()
    if (submission := request.options["submission"]) is not None:
        document |= {"submission": str(submission), "left_out": left_out}
        text += f", {left_out} not in the submission" if left_out else ""
    return Outcome(document, text, failed=bool(scored.failed))


def _files(task: str) -> RowFiles:
    """Return the description of a task's files."""
    if task not in ROW_FILES:
        return RowFiles()
    files: RowFiles = imported(ROW_FILES[task])
    return files


def _selection(described: demur.Description, task: RowFiles, more: Sequence[str]) -> Selection:
    features = described.features
    return Selection(
        names=[feature.name for feature in features],
        nullable=frozenset(feature.name for feature in features if feature.nullable),
        flags=frozenset(feature.name for feature in features if set(feature.values) == {0.0, 1.0}),
        kept=list(dict.fromkeys((*described.metadata, *task.labels, SHIFTED, *more))),
        texts={feature.name: _texts(feature) for feature in features if feature.categories},
    )


def _texts(feature: demur.Feature) -> Texts:
    codes = {text: float(code) for code, text in enumerate(feature.categories)}
    return Texts(codes, float(len(codes)) if feature.other else None)


def _schema(features: Iterable[demur.Feature]) -> Schema:
    """Return the schema of the columns that the service describes and checks."""
    return Schema.of(
        Feature(
            feature.name,
            feature.unit,
            feature.lower,
            feature.upper,
            feature.description,
            feature.nullable,
            feature.sentinels,
            feature.values,
            feature.categories,
            feature.other,
        )
        for feature in features
    )


def _submission(request: ScoreRequest, task: RowFiles, stack: ExitStack) -> AddRows | None:
    path: Path | None = request.options["submission"]
    if path is None:
        return None
    if task.submission is None:
        raise BadInput("--submission: the benchmark has no submission of this task")
    if path.resolve() in (request.source.resolve(), request.output.resolve()):
        raise BadInput(f"--submission {path} is the input or the output; give another name")
    return stack.enter_context(task.submission.opened(path))


def _columns(answer: Any) -> Columns:
    columns: Columns = answer.to_dict() | member_columns(answer)
    return columns


SCORER = Scorer(
    f"{reader.FORMATS} with the columns of the task; others are ignored",
    OUTPUT,
    run,
    options=(
        Option("--members", "also columns of what each member of the ensemble says", kind=None),
        Option("--keep", "also keep columns of the input, beside its labels", count="+", metavar="COLUMN"),
        Option(
            "--submission",
            "also write the benchmark's file: vessel-power-estimates.json, or df_submission.tar.gz of weather",
            kind=Path,
            metavar="FILE",
        ),
    ),
    examples=(
        "demur score vessel rows.csv scored.csv",
        "demur score weather rows.jsonl.gz scored.csv.gz --members --on-error skip",
        "demur score churn customers.parquet scored.csv",
        "demur score vessel merchant-vessel-features.json scored.csv --submission vessel-power-estimates.json",
        "demur evaluate --task vessel --predictions scored.csv",
    ),
)


A = TypeVar("A")

PIECE_ROWS = 64
"""Rows of one request: a chunk of n rows, b of them bad, is at most n / 64 + 2 b requests."""


def salvaged(predict: Callable[[Table], A], table: Table) -> tuple[list[A], list[int], dict[int, str]]:
    """Predict all rows but those that the service refuses individually.

    Args:
        predict: predicts some of the rows, one request each.
        table: the rows [n, F].

    Returns:
        The answers, in order; the indices of their rows; the errors of refused rows, by index.

    Raises:
        demur.InvalidInput: an error that names no row, so it concerns all of them.
        demur.DemurError: any other failure.
    """
    answers: list[A] = []
    rows: list[int] = []
    faults: dict[int, str] = {}
    pending = deque((start, min(start + PIECE_ROWS, len(table))) for start in range(0, len(table), PIECE_ROWS))
    while pending:
        start, stop = pending.popleft()
        if start == stop:
            continue
        try:
            answers.append(predict(table[start:stop]))
            rows.extend(range(start, stop))
        except demur.InvalidInput as error:
            if error.index is None or not 0 <= error.index < stop - start:
                raise
            bad = start + error.index
            faults[bad] = without_row(error)
            pending.extendleft(((bad + 1, stop), (start, bad)))
    return answers, rows, faults


def without_row(error: demur.InvalidInput) -> str:
    """Return the message of an error without its row number, which counts within the request."""
    return str(error).replace(f" in row {error.index}", "", 1)
