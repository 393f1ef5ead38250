"""Tables of a report: real ones, with the whole number behind each shown one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from models.evaluation.compare import Comparison
from models.evaluation.evaluate import Evaluation, Section, mean_and_deviation
from models.evaluation.unit_errors import UnitErrors
from services.report import glossary, naming, words
from services.report.block import File
from services.report.judgement import compared, reading
from services.report.marks import named
from services.report.numerals import MISSING, count, numeral, percent

MOST_ROWS = 200
"""Groups shown of one column: the largest ones."""
_OF_MEASURES = ("r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "aupr", "augrc")
_OF_GROUPS = ("n", "error", "r_auc", "prr", "f1_auc", "f1_at_95")
_AT_A_GLANCE = ("error", "r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc")


def glance(files: Sequence[File]) -> str:
    """All files in a few figures, the best of each in bold."""
    units = files[0].evaluation.units
    names = [name for name in _AT_A_GLANCE if any(_known(_value(file.evaluation.full, name)) for file in files)]
    best = {name: _best([_value(file.evaluation.full, name) for file in files], name) for name in names}
    rows = []
    for file in files:
        cells = [
            _cell(
                _value(file.evaluation.full, name), units[name], name, file.evaluation.judged, file.place in best[name]
            )
            for name in names
        ]
        rows.append((named(file.place, file.name), cells))
    rows += _spread(files, names, units)
    heads = [_head(name, units[name]) for name in names]
    return _table("Files at a glance; the best of each column in bold", ["File", *heads], rows)


def figures(evaluation: Evaluation) -> str:
    """Every figure of one file: of all units, of the domains, and of its members one by one."""
    judged, units = evaluation.judged, evaluation.units
    sections = {"full": evaluation.full, **evaluation.domains}
    scalars = {name: part.scalars() for name, part in sections.items()}
    singles = mean_and_deviation(evaluation.singles) if evaluation.singles else {}
    rows, missing = [], []
    for name in dict.fromkeys(name for part in scalars.values() for name in part):
        values = [part.get(name) for part in scalars.values()]
        if not any(_known(value) for value in values) and not _known(singles.get(name, {}).get("mean")):
            missing.append(name)
            continue
        known, unit = glossary.definition(name), units.get(name, "")
        cells = [_unit(unit), f"<td>{_direction(known.better)}</td>"]
        cells += [_cell(value, unit, name, judged) for value in values]
        if singles:
            for key in ("mean", "sd"):
                one = singles.get(name)
                cells.append(_cell(one[key], unit, name, judged) if one else '<td class="num"></td>')
        rows.append((escape(known.label), cells))
    heads = ["Figure", "Unit", "Better", *(words.DOMAINS[name] for name in sections)]
    if singles:
        heads += [f"{len(evaluation.singles)} single models, mean", "± sd"]
    return _table("All figures", heads, rows, texts=3) + _absent(missing, judged)


def points(evaluation: Evaluation) -> str:
    """The curves at the retentions that were asked for; nothing where none were."""
    judged = evaluation.judged
    unit = {"error": judged.error.unit, "answered_error": judged.error.unit, "f1": "1"}
    labels = {"error": "Error over all units", "answered_error": "Mean error of the answers", "f1": "F1"}
    sections = {"full": evaluation.full, **evaluation.domains}
    shown = [
        name for name in labels if any(_known(getattr(at, name)) for part in sections.values() for at in part.points)
    ]
    rows = [
        (
            percent(at.retention),
            [f"<td>{words.DOMAINS[domain]}</td>"]
            + [_cell(getattr(at, name), unit[name], "f1_at" if name == "f1" else name, judged) for name in shown],
        )
        for domain, part in sections.items()
        for at in part.points
    ]
    heads = ["Retention", "Of", *(escape(words.axis(labels[name], unit[name])) for name in shown)]
    return _table("At the retentions asked for", heads, rows, texts=2) if rows else ""


def measures(evaluation: Evaluation) -> str:
    """All units under every measure."""
    units = evaluation.units
    table = {name: asdict(one) for name, one in evaluation.full.measures.items()}
    names = _shown_columns(_OF_MEASURES, table)
    rows = []
    for measure, values in table.items():
        label = f"<code>{escape(naming.clean(measure))}</code>"
        if measure == evaluation.judged.measure_name:
            label += ' <span class="tag">defers</span>'
        if measure in evaluation.judged.diagnostics:
            label += f' <span class="tag warn">{words.NEEDS_THE_LABEL}</span>'
        rows.append((label, [_cell(values[name], units[name], name, evaluation.judged) for name in names]))
    heads = ["Measure", *(_head(name, units[name]) for name in names)]
    return _table("Every measure, on all units", heads, rows)


def errors(evaluation: Evaluation) -> str:
    """All units under every error; nothing where there is one."""
    if len(evaluation.full.errors) < 2:
        return ""
    judged = evaluation.judged
    table = {name: asdict(one) for name, one in evaluation.full.errors.items()}
    names = _shown_columns(("error", "r_auc", "prr", "f1_auc", "f1_at_95"), table)
    rows = []
    for error, values in table.items():
        column = judged.errors[error]
        unit = {name: column.unit if name in ("error", "r_auc") else "1" for name in names}
        cells = [_unit(column.unit)]
        cells += [_cell(values[name], unit[name], name, judged) for name in names]
        rows.append((escape(glossary.heading(glossary.error(error).label)), cells))
    heads = ["Error", "Unit", *(_head(name, "1") for name in names)]
    return _table("Every error, under the measure that defers", heads, rows, texts=2)


def groups(evaluation: Evaluation) -> str:
    """One table for each column that figures are broken down by."""
    judged, units = evaluation.judged, evaluation.units
    parts = []
    for column, sections in evaluation.groups.items():
        table = {value: section.scalars() for value, section in sections.items()}
        largest = sorted(table, key=lambda value: -table[value]["n"])[:MOST_ROWS]
        names = _shown_columns(_OF_GROUPS, table)
        rows = [
            (
                escape(naming.clean(value)) or "<em>empty</em>",
                [_cell(table[value][name], units[name], name, judged) for name in names],
            )
            for value in (value for value in table if value in set(largest))
        ]
        heads = [escape(naming.clean(column)), *(_head(name, units[name]) for name in names)]
        parts.append(_table(f"By {naming.clean(column)}", heads, rows))
        if len(table) > len(largest):
            parts.append(f"<p class=note>The {MOST_ROWS} largest of {count(len(table))} groups are shown.</p>")
    return "".join(parts)


def comparison(files: Sequence[File], compared_files: Comparison) -> str:
    """Differences from the reference with their intervals and what these say."""
    units = files[0].evaluation.units
    places = {file.evaluation.judged.source: file for file in files}
    judged = files[0].evaluation.judged
    rows = []
    for source, found in compared_files.differences.items():
        file = places.get(source)
        name = named(file.place, file.name) if file else escape(naming.clean(source))
        for figure in compared(compared_files):
            if figure not in found:
                continue
            one, unit = found[figure], units.get(figure, "1")
            said = reading(figure, one)
            cells = [f"<td>{_head(figure, unit)}</td>"]
            cells += [_cell(value, unit, figure, judged) for value in (one.difference, one.low, one.high)]
            cells.insert(1, f'<td class="{"faint" if said == "not told apart" else "sure"}">{said}</td>')
            rows.append((name, cells))
    level = f"{100 * compared_files.level:g}\u202f%"
    heads = ["File", "Figure", "Reading", "Difference", f"{level} from", "to"]
    return _table("Differences from the reference", heads, rows, texts=3)


OF_A_FILE = (figures, points, measures, errors, groups)
"""All tables of one file in reading order."""


def _spread(files: Sequence[File], names: Sequence[str], units: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Mean and standard deviation over files that each hold a single model."""
    if any(file.evaluation.judged.members != 1 for file in files):
        return []
    found = mean_and_deviation(tuple(file.evaluation.full for file in files))
    judged = files[0].evaluation.judged
    labels = {"mean": "Mean of the files", "sd": "Standard deviation"}
    return [
        (label, [_cell(found[name][key], units[name], name, judged) for name in names]) for key, label in labels.items()
    ]


def _table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, list[str]]], texts: int = 1) -> str:
    """A table; ``texts`` columns from the left are words, the others numbers. Heads and rows are HTML."""
    head = "".join(
        f'<th scope="col"{"" if place < texts else " class=num"}>{one}</th>' for place, one in enumerate(heads)
    )
    body = "".join(f'<tr><th scope="row">{label}</th>{"".join(cells)}</tr>' for label, cells in rows)
    label = escape(caption)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table>'
        f"<caption><span>{label}</span></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: float | None, unit: str, name: str, judged: UnitErrors, best: bool = False) -> str:
    return f'<td class="num{" best" if best else ""}">{_number(value, unit, name, judged)}</td>'


def _number(value: float | None, unit: str, name: str, judged: UnitErrors) -> str:
    if value is None or math.isnan(value):
        return f'<span class="none" title="{escape(words.why_missing(name, judged))}">{MISSING}</span>'
    text = count(int(value)) if name == "n" else numeral(value, unit)
    whole = repr(float(value))
    return f'<data value="{whole}" title="{whole}">{text}</data>'


def _head(name: str, unit: str) -> str:
    better = glossary.definition(name).better
    arrow = f' <span class="arrow">{_direction(better)}</span>' if better else ""
    label = glossary.definition(name).label
    return f"{escape(label if name == 'n' else words.axis(label, unit))}{arrow}"


def _unit(unit: str) -> str:
    return f"<td>{escape(naming.clean(unit)) if unit not in ('', '1') else MISSING}</td>"


def _direction(better: str) -> str:
    if not better:
        return MISSING
    sign = "↓" if better == "lower" else "↑"
    return f'<abbr title="{better} is better">{sign}</abbr>'


def _absent(names: Sequence[str], judged: UnitErrors) -> str:
    reasons: dict[str, list[str]] = {}
    for name in names:
        reasons.setdefault(words.why_missing(name, judged), []).append(glossary.definition(name).label)
    said = "; ".join(f"{', '.join(labels)} ({reason})" for reason, labels in reasons.items())
    return f"<p class=note>{MISSING} Not defined here: {escape(said)}.</p>" if said else ""


def _shown_columns(names: Sequence[str], table: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [name for name in names if any(_known(row.get(name)) for row in table.values())]


def _best(values: Sequence[float | None], name: str) -> set[int]:
    better = glossary.definition(name).better
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known or not better:
        return set()
    best = min(known) if better == "lower" else max(known)
    return {place for place, value in enumerate(values) if value == best}


def _value(section: Section, name: str) -> float | None:
    return section.scalars().get(name)


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)
