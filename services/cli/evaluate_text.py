"""The tables that ``demur evaluate`` prints for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from models.evaluation.compare import Comparison, Interval
from models.evaluation.evaluate import Evaluation, Section, mean_and_deviation

HEADLINE = (
    "n",
    "error",
    "r_auc",
    "r_auc_random",
    "r_auc_optimal",
    "prr",
    "f1_auc",
    "f1_auc_random",
    "f1_auc_optimal",
    "f1_at_95",
    "roc_auc",
    "aupr",
    "augrc",
    "e_aurc",
)
MOST_GROUPS = 200
PER_MEASURE = ("r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "aupr", "augrc")


def lines(
    evaluations: Sequence[Evaluation], comparison: Comparison | None, mean_sd: Mapping[str, Mapping[str, float]] | None
) -> Iterator[str]:
    """Tables of each file, then what is found between them."""
    for number, one in enumerate(evaluations):
        yield from _file(one, first=number == 0)
    if mean_sd:
        yield from ("", f"mean ± σ of {len(evaluations)} files")
        yield from table([], ([name, _spread(mean_sd, name)] for name in mean_sd if _exists(mean_sd[name]["mean"])))
    if comparison:
        yield from ("", f"difference from {comparison.reference}, {comparison.level:.0%} paired-bootstrap interval")
        yield f"of {comparison.resamples} resamples; * excludes 0"
        rows = (
            [name, *(_interval(found[name]) for found in comparison.differences.values())]
            for name in next(iter(comparison.differences.values()))
        )
        yield from table(["", *comparison.differences], rows)


def _file(one: Evaluation, *, first: bool) -> Iterator[str]:
    judged = one.judged
    unit = "" if judged.error.unit == "1" else f" {judged.error.unit}"
    limit = "none" if judged.error.acceptable is None else f"{judged.error.acceptable:g}{unit}"
    if not first:
        yield ""
    yield judged.source
    yield (
        f"error: {judged.error_name}{unit and ' in' + unit}; acceptable: {limit}; "
        f"measure: {judged.measure_name}; convention: {judged.rules.convention.name}"
    )
    sections = {"full": one.full, **one.domains}
    values = {name: part.scalars() for name, part in sections.items()}
    names = [*HEADLINE, *one.full.own]
    kept = [name for name in names if any(_exists(found[name]) for found in values.values())]
    singles = mean_and_deviation(one.singles) if one.singles else {}
    head = ["", *sections, *(["a member alone"] if singles else [])]
    rows = (
        [name, *(_number(found[name]) for found in values.values()), *([_spread(singles, name)] if singles else [])]
        for name in kept
    )
    yield from table(head, rows)
    if one.full.points:
        yield ""
        yield from _points(sections)
    for column, parts in one.groups.items():
        yield ""
        yield from _groups(column, parts)
    if len(one.full.measures) > 1:
        yield ""
        yield from _measures(one.full, judged.diagnostics)
    if len(one.full.errors) > 1:
        yield ""
        kept = _existing(one.full.errors.values(), ("error", *PER_MEASURE))
        rows = ([name, *(_number(getattr(found, key)) for key in kept)] for name, found in one.full.errors.items())
        yield from table(["error", *(key.replace("error", "mean") for key in kept)], rows)
    yield from (f"note: {note}" for note in judged.notes)


def _groups(column: str, parts: Mapping[str, Section]) -> Iterator[str]:
    """The largest groups of a column, one a row."""
    largest = sorted(parts, key=lambda value: -parts[value].headline.n)[:MOST_GROUPS]
    shown = [value for value in parts if value in set(largest)]
    kept = _existing([parts[value].headline for value in shown], ("n", "error", *PER_MEASURE))
    yield from table(
        [column, *kept], ([value, *(_number(getattr(parts[value].headline, name)) for name in kept)] for value in shown)
    )
    if len(shown) < len(parts):
        yield f"the {len(shown)} largest of {len(parts)} groups; --json has all"


def _points(sections: Mapping[str, Section]) -> Iterator[str]:
    head = ["retention", "", "error, of all", "error, of the answered", "f1"]
    rows = (
        [f"{point.retention:g}", name, _number(point.error), _number(point.answered_error), _number(point.f1)]
        for name, part in sections.items()
        for point in part.points
    )
    yield from table(head, rows)


def _measures(part: Section, diagnostics: frozenset[str]) -> Iterator[str]:
    kept = _existing(part.measures.values(), PER_MEASURE)
    rows = (
        [name + (" *" if name in diagnostics else ""), *(_number(getattr(found, key)) for key in kept)]
        for name, found in part.measures.items()
    )
    yield from table(["measure", *kept], rows)
    if diagnostics & part.measures.keys():
        yield "* needs the label: a diagnostic, not a measure to defer by"


def _existing(found: Iterable[object], names: Sequence[str]) -> list[str]:
    rows = list(found)
    return [name for name in names if any(_exists(getattr(row, name)) for row in rows)]


def _exists(value: float) -> bool:
    return not math.isnan(value)


def _spread(found: Mapping[str, Mapping[str, float]], name: str) -> str:
    """Mean and standard deviation over members; nothing for what members do not have in common, such as n."""
    return f"{_number(found[name]['mean'])} ± {_number(found[name]['sd'])}" if name in found else ""


def _interval(one: Interval) -> str:
    mark = "*" if one.low > 0 or one.high < 0 else " "
    return f"{_number(one.difference)} [{_number(one.low)}, {_number(one.high)}]{mark}"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "–" if math.isnan(value) else f"{value:.5g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """First column to the left, numbers to the right."""
    cells = [list(head)] * bool(head) + [list(row) for row in rows]
    if not cells:
        return
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        line = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(line).rstrip()
