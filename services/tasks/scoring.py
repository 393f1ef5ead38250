"""Interface between ``demur score`` and the scorers of tasks: paths of input and output, and an outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from models.workbench import Option, Progress

OnError = Literal["defer", "skip", "fail"]
"""Treatment of an item that cannot be scored: a deferred row with the reason, no row, or the end of the run. Earlier
results stay.
"""
INVALID = "invalid_input"
"""Reason of an item that was deferred because it could not be scored; see also ``DecidedUnit.reason``."""


class Stopped(ValueError):
    """Error that ends a run under ``--on-error fail``; the message names the item."""


@dataclass(frozen=True)
class ScoreRequest:
    """Files to score, and options of the run."""

    task: str
    source: Path
    output: Path
    target: str
    """Address of the gRPC service, as host:port."""
    purpose: Literal["decide", "explore", "replay"]
    progress: Progress
    tell: Callable[[str], None]
    """Function that prints a line for people at once."""
    on_error: OnError = "defer"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Values of the scorer's own options by ``Option.key``."""

    def check_folder(self) -> None:
        """Check that the output can be a folder.

        Raises:
            ValueError: the output is a file.
        """
        if self.output.exists() and not self.output.is_dir():
            raise ValueError(f"{self.output} is a file: the output must be a folder")

    def failed(
        self, item: str, error: object, add: Callable[[Mapping[str, Any]], None], row: Mapping[str, Any]
    ) -> None:
        """Report an item that could not be scored, and write its row under ``--on-error defer``.

        Args:
            item: name of the item.
            error: why it could not be scored.
            add: writes a row of a summary.
            row: known values of the item.

        Raises:
            Stopped: under ``--on-error fail``.
        """
        if self.on_error == "fail":
            raise Stopped(f"{item}: {error} (stopped because of --on-error fail; earlier results are written)")
        self.tell(f"{item}: failed: {error}")
        if self.on_error == "defer":
            add({**row, "decision": "defer", "reason": INVALID, "error": str(error)})


@dataclass(frozen=True)
class Outcome:
    """Result of a run."""

    document: Mapping[str, Any]
    """Counts as JSON, for programs."""
    text: str
    """Counts as a line of text, for people."""
    failed: bool = False
    """True if something could not be scored; the rest was scored."""


@dataclass(frozen=True)
class Scorer:
    """Scorer of files of a task."""

    source: str
    """Description of the input, for the help text."""
    output: str
    """Description of the output, for the help text."""
    run: Callable[[ScoreRequest], Outcome]
    """Function that scores; raises ValueError, OSError and ``demur.DemurError`` with a message."""
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    """Example command lines, for the help text."""


def summary_row(answer: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of an answer that are columns of a summary, with lists of words as text."""
    row = {name: getattr(answer, name) for name in columns if hasattr(answer, name)}
    row["shift_reasons"] = " ".join(answer.shift_reasons)
    row["remarks"] = " ".join(remark.code for remark in answer.remarks)
    return row


def counted(counts: Mapping[str, int], words: Mapping[str, str]) -> str:
    """Return the counts that are not 0, each with its words, as in ``, 2 withheld, 1 failed``."""
    return "".join(f", {counts[name]} {text}" for name, text in words.items() if counts[name])
