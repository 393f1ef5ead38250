"""What the report shows: files with their curves, and figures in groups with the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.evaluation.evaluate import Evaluation, Section
from services.report.charts import Series
from services.report.curves import Curves, Line, System
from services.report.drawing import Chart
from services.report.palette import Key


@dataclass(frozen=True, slots=True)
class File:
    """One evaluation with its short name and its curves."""

    place: int
    name: str
    evaluation: Evaluation
    curves: dict[str, Curves]
    """Of ``full``, and of ``in`` and ``shifted`` where there are such."""
    system: System | None
    """None without a human to answer what is deferred."""

    def section(self, domain: str) -> Section:
        return self.evaluation.full if domain == "full" else self.evaluation.domains[domain]


@dataclass(frozen=True, slots=True)
class Note:
    """A line of a caption."""

    text: str
    file: File | None = None
    """The file that it is about, where there are several."""

    @property
    def spoken(self) -> str:
        """The line with the file's name."""
        return self.text if self.file is None else f"{self.file.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure and what stands below it."""

    chart: Chart
    caption: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Figures that answer one question."""

    key: str
    title: str
    lead: str
    """One sentence, plain text."""
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, Key], ...] = ()


def file_legend(files: Sequence[File], *, references: bool = False) -> tuple[tuple[str, Key], ...]:
    """The files by their strokes; nothing to tell for one file alone."""
    entries: list[tuple[str, Key]] = [(file.name, file.place) for file in files]
    if references:
        of = f" for {files[0].name}" if len(files) > 1 else ""
        entries += [(f"Random{of}", "random"), (f"Optimal{of}", "optimal")]
    return tuple(entries) if len(entries) > 1 else ()


def references(file: File, files: int, lines: dict[str, Line]) -> list[Series]:
    """What a ranking that says nothing and a perfect one would give, as far as there are such lines."""
    of = f" for {file.name}" if files > 1 else ""
    return [Series(key, f"{key.capitalize()}{of}", *lines[key].points) for key in ("random", "optimal") if key in lines]


def of_first(files: Sequence[File]) -> str:
    """Whose numbers are written in a figure of several files."""
    return f", with the value for {files[0].name}" if len(files) > 1 else ""


def notes(said: Sequence[tuple[File, str]], files: Sequence[File]) -> tuple[Note, ...]:
    """A line a file, which is named where there are several."""
    return tuple(Note(f"{text}.", file if len(files) > 1 else None) for file, text in said)


def spoken(caption: Sequence[Note]) -> str:
    """A caption for those who cannot see strokes."""
    return " ".join(one.spoken for one in caption)
