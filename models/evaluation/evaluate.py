"""Evaluation of labelled predictions: the figures of a report by measure, domain and group."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from models.assessment.figures import Errors, Figures, OperatingPoint, figures, operating_points
from models.evaluation.unit_errors import BadFile, Mask, UnitErrors

UNITS = {"n": "units", "prr": "1", "f1_auc": "1", "f1_auc_random": "1", "f1_auc_optimal": "1", "f1_at_95": "1"}
UNITS |= {"roc_auc": "1", "aupr": "1"}
IN_ERROR_UNIT = ("error", "r_auc", "r_auc_random", "r_auc_optimal", "aurc", "e_aurc", "augrc")


@dataclass(frozen=True)
class Section:
    """Figures of a part of the units: a domain, a group, or all."""

    headline: Figures
    """Figures of the first error under the first measure."""
    own: dict[str, float]
    """Task-specific figures by name."""
    measures: dict[str, Figures]
    """Figures of the first error, by measure."""
    errors: dict[str, Figures]
    """Figures under the first measure, by error."""
    points: tuple[OperatingPoint, ...] = ()
    """Operating points of the first error under the first measure, at the chosen retentions."""

    def scalars(self) -> dict[str, float]:
        """Return headline and own figures by name."""
        return {**asdict(self.headline), **self.own}


@dataclass(frozen=True)
class Evaluation:
    """Evaluation of one file."""

    judged: UnitErrors
    full: Section
    domains: dict[str, Section]
    """Domains ``in`` and ``shifted``, if the file has them."""
    groups: dict[str, dict[str, Section]]
    """Figures by column and value."""
    singles: tuple[Section, ...]
    """Figures of each member as a single model, on all units."""

    @property
    def units(self) -> dict[str, str]:
        """Unit of each figure by name."""
        of_error = dict.fromkeys((*IN_ERROR_UNIT, "acceptable"), self.judged.error.unit)
        return {**of_error, **UNITS, **self.judged.own_units}

    def document(self) -> dict[str, Any]:
        """Return the evaluation with units as nested names and numbers; NaN and infinities are kept."""
        judged = self.judged
        return {
            "task": judged.task,
            "file": judged.source,
            "convention": judged.rules.convention.name,
            "error_name": judged.error_name,
            "acceptable": judged.error.acceptable,
            "measure": judged.measure_name,
            "diagnostics": sorted(judged.diagnostics),
            **self._section(self.full),
            **{name: self._section(section) for name, section in self.domains.items()},
            "full": self._section(self.full),
            **({"by": self._by()} if self.groups else {}),
            **({"singles": mean_and_deviation(self.singles)} if self.singles else {}),
            "units": self.units,
            "notes": list(judged.notes),
        }

    def _by(self) -> dict[str, Any]:
        return {
            column: {value: self._section(section) for value, section in sections.items()}
            for column, sections in self.groups.items()
        }

    def _section(self, part: Section) -> dict[str, Any]:
        columns = self.judged.errors
        return {
            **part.scalars(),
            "measures": {name: asdict(measure) for name, measure in part.measures.items()},
            "errors": {
                name: {**asdict(error), "unit": columns[name].unit, "acceptable": columns[name].acceptable}
                for name, error in part.errors.items()
            },
            **({"at": [asdict(point) for point in part.points]} if part.points else {}),
        }


def evaluate(judged: UnitErrors, by: tuple[str, ...] = (), at: tuple[float, ...] = ()) -> Evaluation:
    """Evaluate all units, the two domains, the groups of each column in ``by``, and each member.

    Args:
        at: retentions in [0, 1] of the operating points.

    Raises:
        BadFile: a column in ``by`` does not exist.
        ValueError: an error is NaN, or a retention outside [0, 1].
    """
    for column in by:
        if column not in judged.groups:
            have = ", ".join(judged.groups) or "none"
            raise BadFile(f"{judged.source}: there is no column {column!r} to break figures down by; it has {have}")
    return Evaluation(
        judged,
        full=section(judged, None, at),
        domains={name: section(judged, mask, at) for name, mask in domains(judged)},
        groups={column: dict(_groups(judged, column, at)) for column in by},
        singles=tuple(section(single, None) for single in judged.singles()) if judged.singles else (),
    )


def section(judged: UnitErrors, mask: Mask | None, at: tuple[float, ...] = ()) -> Section:
    """Return the figures of the units in a mask [n]; None takes all without copying them."""
    part = judged if mask is None else select(judged, mask)
    columns = {name: Errors(column.values, column.acceptable, part.rules) for name, column in part.errors.items()}
    errors = columns[part.error_name]
    measures = {name: figures(errors, values, part.shifted) for name, values in part.measures.items()}
    headline = measures[part.measure_name]
    others = {
        name: figures(other, part.uncertainty, part.shifted) for name, other in columns.items() if other is not errors
    }
    return Section(
        headline=headline,
        own=judged.own(mask) if judged.own else {},
        measures=measures,
        errors={part.error_name: headline, **others},
        points=operating_points(errors, part.uncertainty, at) if at else (),
    )


def select(judged: UnitErrors, mask: Mask) -> UnitErrors:
    """Return the units in a mask; other fields than errors, measures and ``shifted`` still refer to all units."""
    return replace(
        judged,
        errors={name: replace(column, values=column.values[mask]) for name, column in judged.errors.items()},
        measures={name: values[mask] for name, values in judged.measures.items()},
        shifted=None if judged.shifted is None else judged.shifted[mask],
    )


def domains(judged: UnitErrors) -> Iterator[tuple[str, Mask]]:
    """Yield ``in`` and ``shifted`` with their units; a domain without units is left out."""
    if judged.shifted is None:
        return
    for name, mask in (("in", ~judged.shifted), ("shifted", judged.shifted)):
        if mask.any():
            yield name, mask


def mean_and_deviation(sections: tuple[Section, ...]) -> dict[str, dict[str, float]]:
    """Return mean and standard deviation (ddof 0) over single models, of each figure that all of them have."""
    rows = [part.scalars() for part in sections]
    names = [name for name in rows[0] if name != "n" and all(name in row for row in rows)]
    values = {name: np.array([row[name] for row in rows], float) for name in names}
    with np.errstate(over="ignore", invalid="ignore"):
        return {name: {"mean": float(np.mean(column)), "sd": float(np.std(column))} for name, column in values.items()}


def _groups(judged: UnitErrors, column: str, at: tuple[float, ...]) -> Iterator[tuple[str, Section]]:
    values = judged.groups[column].astype(str)  # NaN, which equals nothing, is a group too
    for value in np.unique(values):
        yield str(value), section(judged, values == value, at)


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with None instead of NaN and infinities, which JSON does not have."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        if isinstance(value, float | np.floating):
            return float(value) if np.isfinite(value) else None
        return value

    return {key: clean(value) for key, value in document.items()}
