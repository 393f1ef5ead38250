"""Tables of figures: each cell has a formatted number, and all its digits as its value."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from models.evaluation.evaluate import Evaluation, Section, mean_and_deviation
from models.evaluation.unit_errors import UnitErrors
from services.report import captions, glossary, naming
from services.report.block import Cell, File, Table
from services.report.number_format import MISSING, count, numeral, percent

MOST_ROWS = 200
"""Maximum number of groups shown per column, the largest ones first."""
_OF_MEASURES = ("r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "aupr", "augrc")
_OF_ERRORS = ("error", "r_auc", "prr", "f1_auc", "f1_at_95")
_OF_GROUPS = ("n", *_OF_ERRORS)
_AT_A_GLANCE = (*_OF_ERRORS, "roc_auc")


def glance(files: Sequence[File]) -> Table:
    """Return a few figures of all files, with the best of each in bold."""
    units = files[0].evaluation.units
    scalars = [file.evaluation.full.scalars() for file in files]
    names = [name for name in _AT_A_GLANCE if any(_known(values.get(name)) for values in scalars)]
    best = {name: _best([values.get(name) for values in scalars], name) for name in names}
    rows = [
        (
            Cell(file.name, series=file.place),
            [
                number(values.get(name), units[name], name, file.evaluation.judged, best=file.place in best[name])
                for name in names
            ],
        )
        for file, values in zip(files, scalars, strict=True)
    ]
    if all(file.evaluation.judged.members == 1 for file in files):
        judged = files[0].evaluation.judged
        summary = mean_and_deviation(tuple(file.evaluation.full for file in files))
        for key, label in (("mean", "Mean of the files"), ("sd", "Standard deviation")):
            rows.append((Cell(label), [number(summary[name][key], units[name], name, judged) for name in names]))
    heads = [Cell("File"), *(heading(name, units[name]) for name in names)]
    return Table("Files at a glance; the best of each column in bold", heads, rows)


def of_file(evaluation: Evaluation) -> Iterator[Table]:
    """Yield all tables of one file, in reading order."""
    yield _figures(evaluation)
    if any(section.points for section in _sections(evaluation).values()):
        yield _points(evaluation)
    yield _measures(evaluation)
    if len(evaluation.full.errors) > 1:
        yield _errors(evaluation)
    for column, sections in evaluation.groups.items():
        yield _groups(evaluation, naming.clean(column), sections)


def heading(name: str, unit: str) -> Cell:
    """Return the name of a figure with its unit and its better direction."""
    figure = glossary.definition(name)
    return Cell(figure.label if name == "n" else captions.axis(figure.label, unit), better=figure.better)


def number(value: float | None, unit: str, name: str, judged: UnitErrors, *, best: bool = False) -> Cell:
    """Return the value of a figure, or the reason why it is missing; ``best`` sets it in bold."""
    if value is None or math.isnan(value):
        return Cell(missing=captions.why_missing(name, judged), style="num")
    text = count(int(value)) if name == "n" else numeral(value, unit)
    return Cell(text, value=float(value), style="num best" if best else "num")


def _sections(evaluation: Evaluation) -> dict[str, Section]:
    return {"full": evaluation.full, **evaluation.domains}


def _figures(evaluation: Evaluation) -> Table:
    """Return every figure of one file: for all units, for the domains, and for its members as single models."""
    judged, units = evaluation.judged, evaluation.units
    scalars = {domain: section.scalars() for domain, section in _sections(evaluation).items()}
    singles = mean_and_deviation(evaluation.singles) if evaluation.singles else {}
    rows, missing = [], dict[str, list[str]]()
    for name in dict.fromkeys(name for section in scalars.values() for name in section):
        values = [section.get(name) for section in scalars.values()]
        figure, unit = glossary.definition(name), units.get(name, "")
        if not any(map(_known, values)) and not _known(singles.get(name, {}).get("mean")):
            missing.setdefault(captions.why_missing(name, judged), []).append(figure.label)
            continue
        cells = [_unit(unit), Cell(better=figure.better) if figure.better else Cell(MISSING)]
        cells += [number(value, unit, name, judged) for value in values]
        if singles:
            single = singles.get(name)
            cells += [
                number(single[key], unit, name, judged) if single else Cell(style="num") for key in ("mean", "sd")
            ]
        rows.append((Cell(figure.label), cells))
    heads = ["Figure", "Unit", "Better", *(captions.DOMAINS[domain] for domain in scalars)]
    if singles:
        heads += [f"{len(evaluation.singles)} single models, mean", "± sd"]
    reasons = "; ".join(f"{', '.join(labels)} ({reason})" for reason, labels in missing.items())
    note = f"{MISSING} Not defined here: {reasons}." if reasons else ""
    return Table("All figures", [Cell(head) for head in heads], rows, texts=3, note=note)


def _points(evaluation: Evaluation) -> Table:
    """Return the curves at the retentions of ``--at``."""
    judged, sections = evaluation.judged, _sections(evaluation)
    unit = {"error": judged.error.unit, "answered_error": judged.error.unit, "f1": "1"}
    labels = {"error": "Error over all units", "answered_error": "Mean error of the answers", "f1": "F1"}
    points = [(captions.DOMAINS[domain], point) for domain, section in sections.items() for point in section.points]
    names = [name for name in labels if any(_known(getattr(point, name)) for _, point in points)]
    rows = [
        (
            Cell(percent(point.retention)),
            [
                Cell(domain),
                *(
                    number(getattr(point, name), unit[name], "f1_at" if name == "f1" else name, judged)
                    for name in names
                ),
            ],
        )
        for domain, point in points
    ]
    heads = ["Retention", "Of", *(captions.axis(labels[name], unit[name]) for name in names)]
    return Table("At the retentions asked for", [Cell(head) for head in heads], rows, texts=2)


def _measures(evaluation: Evaluation) -> Table:
    """Return the figures of all units under every measure."""
    judged, units = evaluation.judged, evaluation.units
    table = {name: asdict(figures) for name, figures in evaluation.full.measures.items()}
    names = _shown_columns(_OF_MEASURES, table.values())
    rows = []
    for measure, values in table.items():
        tags = [("tag", "defers")] if measure == judged.measure_name else []
        tags += [("tag warn", captions.NEEDS_THE_LABEL)] if measure in judged.diagnostics else []
        label = Cell(naming.clean(measure), code=True, tags=tuple(tags))
        rows.append((label, [number(values[name], units[name], name, judged) for name in names]))
    heads = [Cell("Measure"), *(heading(name, units[name]) for name in names)]
    return Table("Every measure, on all units", heads, rows)


def _errors(evaluation: Evaluation) -> Table:
    """Return the figures of all units under every error."""
    judged = evaluation.judged
    table = {name: asdict(figures) for name, figures in evaluation.full.errors.items()}
    names = _shown_columns(_OF_ERRORS, table.values())
    rows = []
    for error, values in table.items():
        unit = judged.errors[error].unit
        cells = [number(values[name], unit if name in ("error", "r_auc") else "1", name, judged) for name in names]
        rows.append((Cell(glossary.heading(glossary.error(error).label)), [_unit(unit), *cells]))
    heads = [Cell("Error"), Cell("Unit"), *(heading(name, "1") for name in names)]
    return Table("Every error, under the measure that defers", heads, rows, texts=2)


def _groups(evaluation: Evaluation, column: str, sections: Mapping[str, Section]) -> Table:
    """Return the figures of the groups of a column."""
    judged, units = evaluation.judged, evaluation.units
    table = {value: section.scalars() for value, section in sections.items()}
    largest = set(sorted(table, key=lambda value: -table[value]["n"])[:MOST_ROWS])
    names = _shown_columns(_OF_GROUPS, table.values())
    rows = [
        (Cell(naming.clean(value)), [number(scalars[name], units[name], name, judged) for name in names])
        for value, scalars in table.items()
        if value in largest
    ]
    heads = [Cell(column), *(heading(name, units[name]) for name in names)]
    fewer = len(table) > len(largest)
    note = f"The {MOST_ROWS} largest of {count(len(table))} groups are shown." if fewer else ""
    return Table(f"By {column}", heads, rows, note=note)


def _unit(unit: str) -> Cell:
    return Cell(naming.clean(unit) if unit not in ("", "1") else MISSING)


def _shown_columns(names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the figures that are defined in at least one row."""
    return [name for name in names if any(_known(row.get(name)) for row in rows)]


def _best(values: Sequence[float | None], name: str) -> set[int]:
    """Return the places of the best values; empty if neither direction is better."""
    better = glossary.definition(name).better
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known or not better:
        return set()
    best = min(known) if better == "lower" else max(known)
    return {place for place, value in enumerate(values) if value == best}


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)
