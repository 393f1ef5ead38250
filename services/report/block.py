"""Data of the report: files with their curves, sections with figures and captions, and tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.evaluation.evaluate import Evaluation, Section
from services.report.charts import Series
from services.report.curves import Curves, Line, System
from services.report.drawing import Chart
from services.report.palette import Key


@dataclass(frozen=True, slots=True)
class File:
    """Evaluation with its short name and its curves."""

    place: int
    name: str
    evaluation: Evaluation
    curves: dict[str, Curves]
    """Curves by part of the units: ``full``, and ``in`` and ``shifted`` if the file has domains."""
    system: System | None
    """Error of model and human together; None without a human who answers deferred units."""

    def section(self, domain: str) -> Section:
        """Return the figures of a part of the units."""
        return self.evaluation.full if domain == "full" else self.evaluation.domains[domain]


@dataclass(frozen=True, slots=True)
class Tile:
    """Headline figure at the top of a page."""

    label: str
    value: str
    unit: str
    foot: str


@dataclass(frozen=True, slots=True)
class Cell:
    """Content of a heading or a cell: text, a number with all its digits, or the reason why there is no number."""

    text: str = ""
    value: float | None = None
    missing: str = ""
    """Reason why the number does not exist."""
    style: str = ""
    """CSS classes of the cell."""
    better: str = ""
    """Better direction, ``lower`` or ``higher``, shown as an arrow; empty for none."""
    series: Key | None = None
    """Series whose stroke is shown before the text."""
    code: bool = False
    tags: tuple[tuple[str, str], ...] = ()
    """CSS classes and texts of tags after the text."""


@dataclass(frozen=True, slots=True)
class Table:
    """Table of the page."""

    caption: str
    heads: Sequence[Cell]
    rows: Sequence[tuple[Cell, Sequence[Cell]]]
    """Heading and cells of each row."""
    texts: int = 1
    """Columns from the left that hold text; the others hold numbers."""
    note: str = ""
    """Sentence below the table."""


@dataclass(frozen=True, slots=True)
class Note:
    """Line of a caption."""

    text: str
    file: File | None = None
    """File that the line is about, if there are several."""

    @property
    def spoken(self) -> str:
        """Line with the file's name."""
        return self.text if self.file is None else f"{self.file.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class Panel:
    """Figure and the caption below it."""

    chart: Chart
    caption: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Section of the page: figures that answer one question."""

    key: str
    title: str
    lead: str = ""
    """Introduction of one or two sentences, plain text."""
    panels: tuple[Panel, ...] = ()
    legend: tuple[tuple[str, Key], ...] = ()
    table: Table | None = None
    """Table below the figures."""
    remark: str = ""
    """Sentence below the section."""


def file_legend(files: Sequence[File], *, references: bool = False) -> tuple[tuple[str, Key], ...]:
    """Return the files and the reference lines by their strokes; empty for one file without references."""
    entries: list[tuple[str, Key]] = [(file.name, file.place) for file in files]
    if references:
        of = f" for {files[0].name}" if len(files) > 1 else ""
        entries += [(f"Random{of}", "random"), (f"Optimal{of}", "optimal")]
    return tuple(entries) if len(entries) > 1 else ()


def references(file: File, files: int, lines: dict[str, Line]) -> list[Series]:
    """Return the random and the optimal ranking as series, if their lines exist."""
    of = f" for {file.name}" if files > 1 else ""
    return [Series(key, f"{key.capitalize()}{of}", *lines[key].points) for key in ("random", "optimal") if key in lines]


def of_first(files: Sequence[File]) -> str:
    """Return the clause that names the file whose values are written in a figure of several files."""
    return f", with the value for {files[0].name}" if len(files) > 1 else ""


def notes(texts: Sequence[tuple[File, str]], files: Sequence[File]) -> tuple[Note, ...]:
    """Return a caption line for each file, with its name if there are several."""
    return tuple(Note(f"{text}.", file if len(files) > 1 else None) for file, text in texts)


def spoken(caption: Sequence[Note]) -> str:
    """Return a caption as text for screen readers, which cannot show strokes."""
    return " ".join(note.spoken for note in caption)
