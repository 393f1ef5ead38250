"""Output of commands: errors, JSON documents, tables and progress."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from rich.progress import Progress

LOG_SECONDS = 10.0
"""Time between two lines of progress where standard error is no terminal."""


class CommandError(Exception):
    """A command failed; the message says why and what to do."""


class BadInput(CommandError):
    """The command cannot use its input; the message names file and field. Nothing was written."""


def print_json(value: Any) -> None:
    """Print one indented JSON document on standard output."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the lines of a table as wide as its content.

    Args:
        head: titles of the columns; empty for none.
        rows: cells by row.
        left: numbers of the columns that are aligned left; numbers are best read aligned right.
    """
    from rich.console import Console  # late: most commands print no table
    from rich.table import Table

    cells = [list(row) for row in rows]
    if not (head or cells):
        return []
    grid = Table(box=None, pad_edge=False, show_header=bool(head))
    for number in range(len(head or cells[0])):
        title = head[number] if head else ""
        grid.add_column(title, justify="left" if number in left else "right", no_wrap=True)
    for row in cells:
        grid.add_row(*row)
    console = Console(file=io.StringIO(), width=100_000, markup=False, emoji=False, highlight=False)
    with console.capture() as text:
        console.print(grid)
    return [line.rstrip() for line in text.get().splitlines()]


class ProgressLine:
    """Progress on standard error: a bar on a terminal, else a line now and then."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = time.monotonic()
        self._last = -LOG_SECONDS
        self._bar: Progress | None = None

    def interrupt(self, text: str) -> None:
        """Print lines on standard output, above the bar."""
        if self._bar is not None:
            self._bar.stop()
        print(text, flush=True)
        if self._bar is not None:
            self._bar.start()

    def __call__(self, fraction: float, note: str = "") -> None:
        """Show the finished share, 0 to 1, with the remaining time at the present pace."""
        elapsed = time.monotonic() - self._start
        if sys.stderr.isatty():
            self._show_bar(fraction, note)
            return
        if (fraction < 1 and elapsed - self._last < LOG_SECONDS) or (self._last < 0 and elapsed < 2):
            return  # a log needs no line about work of a moment
        self._last = elapsed
        left = f"{elapsed / fraction - elapsed:.0f} s left" if 0 < fraction < 1 else f"{elapsed:.0f} s"
        print(f"{self._title}: {fraction:6.1%}  {left}  {note}", file=sys.stderr, flush=True)

    def _show_bar(self, fraction: float, note: str) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:5.1f} %"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), redirect_stdout=False, redirect_stderr=False)
            self._bar.add_task(self._title, total=1.0, note="")
            self._bar.start()
            if (context := click.get_current_context(silent=True)) is not None:
                context.call_on_close(self._bar.stop)  # also after an error
        self._bar.update(self._bar.task_ids[0], completed=fraction, note=note)
        if fraction >= 1:
            self._bar.stop()
            self._bar = None
