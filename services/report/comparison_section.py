"""Section of the comparison: differences between files, with their intervals."""

from collections.abc import Sequence

from models.evaluation.compare import Comparison, Interval
from services.report import captions, charts, glossary, naming
from services.report.block import Block, Cell, File, Panel, Table
from services.report.charts import Span
from services.report.drawing import LARGEST, Frame
from services.report.number_format import count, percent
from services.report.tables import heading, number

_NOT_TOLD_APART = "not told apart"
_TITLE = "Do the files differ?"


def differences(files: Sequence[File], comparison: Comparison) -> Block | None:
    """Return differences from the reference, a panel per figure and all in a table; None if there are none."""
    if not any(comparison.differences.values()):
        return None
    places = {file.evaluation.judged.source: file for file in files}
    figures = list(dict.fromkeys(name for intervals in comparison.differences.values() for name in intervals))
    panels = [panel for figure in figures if (panel := _panel(figure, files, comparison)) is not None]
    table = _table(figures, files, comparison)
    if not panels:
        return Block("comparison", _TITLE, table=table)
    first = places.get(comparison.reference)
    reference = first.name if first else naming.labels([comparison.reference])[0]
    lead = (
        f"Each file minus {reference}, with {percent(comparison.level)} intervals from {count(comparison.resamples)} "
        "paired resamples of the units. A full dot: the interval leaves zero out. A hollow one: it does not."
    )
    return Block("comparison", _TITLE, lead, tuple(panels), table=table)


def reading(figure: str, interval: Interval) -> str:
    """Return the reading of an interval: better, worse or not distinguishable from the reference."""
    if not (interval.low > 0 or interval.high < 0):
        return _NOT_TOLD_APART
    better = glossary.definition(figure).better
    if not better:
        return "higher" if interval.low > 0 else "lower"
    return "better" if (interval.high < 0) == (better == "lower") else "worse"


def _panel(figure: str, files: Sequence[File], comparison: Comparison) -> Panel | None:
    """Return the intervals of one figure; None if none can be drawn."""
    places = {file.evaluation.judged.source: file for file in files}
    spans, readings = [], []
    for source, intervals in comparison.differences.items():
        interval = intervals.get(figure)
        if interval is None:
            continue
        if not all(abs(end) <= LARGEST for end in (interval.difference, interval.low, interval.high)):
            continue
        file = places.get(source)
        name = file.name if file else naming.clean(source)
        spans.append(Span(file.place if file else 0, name, interval.difference, interval.low, interval.high))
        readings.append(f"{name} {reading(figure, interval)}")
    if not spans:
        return None
    known = glossary.definition(figure)
    frame = Frame(
        f"difference-{figure.replace('_', '-')}",
        f"{known.label} ({known.better} is better)" if known.better else known.label,
        captions.axis("difference", files[0].evaluation.units.get(figure, "1")),
        "",
        f"Difference in {known.label}. {' '.join(readings)}",
        height=84 + 44 * len(spans),
    )
    return Panel(charts.intervals(frame, spans), ())


def _table(figures: Sequence[str], files: Sequence[File], comparison: Comparison) -> Table:
    """Return the differences with their intervals and readings."""
    judged, units = files[0].evaluation.judged, files[0].evaluation.units
    places = {file.evaluation.judged.source: file for file in files}
    rows = []
    for source, intervals in comparison.differences.items():
        file = places.get(source)
        label = Cell(file.name, series=file.place) if file else Cell(naming.clean(source))
        for figure in figures:
            if figure not in intervals:
                continue
            interval, unit = intervals[figure], units.get(figure, "1")
            verdict = reading(figure, interval)
            ends = [number(end, unit, figure, judged) for end in (interval.difference, interval.low, interval.high)]
            style = "faint" if verdict == _NOT_TOLD_APART else "sure"
            rows.append((label, [heading(figure, unit), Cell(verdict, style=style), *ends]))
    heads = ["File", "Figure", "Reading", "Difference", f"{100 * comparison.level:g}\u202f% from", "to"]
    return Table("Differences from the reference", [Cell(head) for head in heads], rows, texts=3)
