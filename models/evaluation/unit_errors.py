"""Labelled predictions of a file: the common form between readers, figures and reports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules
from models.assessment.ranking import Floats

Mask = NDArray[np.bool_]


class BadFile(ValueError):
    """The file cannot be evaluated; the message names file, field, value and the required value."""


@dataclass(frozen=True, slots=True)
class ErrorOptions:
    """Options of an evaluation; every reader accepts all, and lists in ``OPTIONS`` those that it uses."""

    convention: Convention = OFFICIAL
    error: str | None = None
    """Name of the error (for generic files: of the column); None takes the task's."""
    acceptable: float | None = None
    """Largest acceptable error; None takes the task's."""
    bins: int | None = None
    """Bins of calibration figures; None takes the released number if there are enough data."""
    by: tuple[str, ...] = ()
    """Columns for which figures are broken down."""
    head: str | None = None
    """Head of a scored table that has several; None takes the first."""
    companions: Mapping[str, Any] = field(default_factory=dict)
    """Other files that a task needs (paths), by option: ``references``, ``domains``, ``flags``, ``scenes``,
    ``ground_truth``."""


@dataclass(frozen=True)
class ErrorColumn:
    """One kind of error of n units."""

    values: Floats
    unit: str
    acceptable: float | None
    """Largest acceptable error in ``unit``; None if the papers name none."""


@dataclass(frozen=True)
class Normals:
    """Predicted normal distributions and observations, for calibration figures; float64 [n] each."""

    mean: Floats
    variance: Floats
    target: Floats
    unit: str
    bins: int | None = None
    """Number of bins; None takes the default."""


@dataclass(frozen=True)
class UnitErrors:
    """Errors and uncertainties of n units of a file."""

    task: str
    source: str
    """Path of the file, as the user gave it."""
    errors: Mapping[str, ErrorColumn]
    """Name of the error to its values; the first is the task's own unless another is chosen."""
    measures: Mapping[str, Floats]
    """Name of the measure to its values [n], larger is less certain; deferral uses the first."""
    diagnostics: frozenset[str] = frozenset()
    """Measures that need the label, so that they cannot be used for deferral."""
    shifted: Mask | None = None
    """Mask of the shifted units; None if the file does not have it."""
    impossible: Mask | None = None
    """Units whose prediction lies outside the possible range of the target, which serving defers; or None."""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns with one value per unit, for which figures can be broken down."""
    rules: Rules = field(default_factory=Rules)
    own: Callable[[Mask | None], dict[str, float]] | None = None
    """Function that returns the task's own figures of a subset (None: of all units)."""
    own_units: Mapping[str, str] = field(default_factory=dict)
    normals: Normals | None = None
    singles: Callable[[], Iterator[UnitErrors]] | None = None
    """Function that yields each member as a single model; None if the file holds one model or no members."""
    members: int | None = None
    """Number of models behind the predictions; None if the file does not have it."""
    labels: str | None = None
    """Digest of the labels, which identifies files of the same units; None if unknown."""
    notes: tuple[str, ...] = ()
    """Notes for readers of the figures, such as units left out."""

    def __len__(self) -> int:
        return len(self.error.values)

    @property
    def error_name(self) -> str:
        """Name of the error in the headline figures."""
        return next(iter(self.errors))

    @property
    def error(self) -> ErrorColumn:
        return self.errors[self.error_name]

    @property
    def measure_name(self) -> str:
        """Name of the measure in the headline figures."""
        return next(iter(self.measures))

    @property
    def uncertainty(self) -> Floats:
        return self.measures[self.measure_name]


def without_errors(
    path: Path,
    task: str,
    target: NDArray[Any],
    rules: Rules,
    *,
    shifted: Mask | None,
    groups: Mapping[str, NDArray[Any]],
    members: int | None,
    notes: tuple[str, ...] = (),
) -> UnitErrors:
    """Return the units of a file, to which errors and measures are added."""
    return UnitErrors(
        task=task,
        source=str(path),
        errors={},
        measures={},
        shifted=shifted,
        groups=groups,
        rules=rules,
        labels=hashlib.sha256(target.tobytes()).hexdigest(),
        members=members,
        notes=notes,
    )


def with_singles(whole: UnitErrors, members: int, evaluated: Callable[[UnitErrors, slice], UnitErrors]) -> UnitErrors:
    """Add errors and measures by a function of the members' slice; those of single members are computed on demand."""

    def singles() -> Iterator[UnitErrors]:
        for number in range(members):
            named = replace(whole, source=f"{whole.source}, member {number + 1}", members=1)
            yield evaluated(named, slice(number, number + 1))

    return replace(evaluated(whole, slice(None)), singles=singles if members > 1 else None)


def ordered(options: ErrorOptions, columns: Mapping[str, ErrorColumn], source: str) -> dict[str, ErrorColumn]:
    """Return the columns with the chosen error first, and with the chosen limit.

    Case, hyphens and underscores of the name do not matter.

    Raises:
        BadFile: no such error.
    """
    chosen = dict(columns)
    if options.error is not None:
        plain = {_plain(key): key for key in columns}
        if _plain(options.error) not in plain:
            raise BadFile(f"{source}: error {options.error!r} is not one of {', '.join(columns)}")
        name = plain[_plain(options.error)]
        chosen = {name: columns[name], **columns}
    if options.acceptable is not None:
        name = next(iter(chosen))
        chosen[name] = replace(chosen[name], acceptable=options.acceptable)
    return chosen


def unranked(uncertainty: Floats) -> tuple[str, ...]:
    """Return a note about units without an uncertainty, if there are any."""
    count = int(np.isnan(uncertainty).sum())
    return (f"{count} units have no uncertainty: they rank as the least certain",) if count else ()


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
