"""What commands print: JSON for programs, lines and a progress bar for people."""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec


class CommandError(Exception):
    """A command failed; the message says why and what to do."""


class BadInput(CommandError):
    """What the user gave cannot be used; the message names file and field. Nothing was written."""


def print_json(value: Any) -> None:
    """One indented JSON document on standard output."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


class ProgressLine:
    """One line on standard error that is rewritten on a terminal, and repeated now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._shown = -10.0

    def interrupt(self, text: str) -> None:
        """Prints lines on standard output; on a terminal they take the place of the line, which comes again below."""
        if self._terminal:
            print(f"\r{'':<100}\r", end="", file=sys.stderr, flush=True)
        print(text, flush=True)

    def __call__(self, fraction: float, note: str = "") -> None:
        """Shows the share done, 0 to 1, and the time left at the present pace."""
        elapsed = time.monotonic() - self._start
        if fraction < 1 and elapsed - self._shown < (0.2 if self._terminal else 10.0):
            return
        if not self._terminal and self._shown < 0 and elapsed < 2:
            return  # what takes no time needs no line in a log
        self._shown = elapsed
        left = f"{elapsed / fraction - elapsed:.0f} s left" if 0 < fraction < 1 else f"{elapsed:.0f} s"
        line = f"{self._title}: {fraction:6.1%}  {left}  {note}"
        end = "\n" if not self._terminal or fraction >= 1 else ""
        print(f"\r{line:<100}" if self._terminal else line, end=end, file=sys.stderr, flush=True)
