"""What a file of predictions amounts to once labels are known: the one form between readers, figures and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules
from models.assessment.ranking import Floats

Mask = NDArray[np.bool_]


class BadFile(ValueError):
    """A file cannot be judged; the message names file, field, what was found and what is needed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user chose; every reader takes the same, and names in ``OPTIONS`` what of it it has a use for."""

    convention: Convention = OFFICIAL
    error: str | None = None
    """Name of the error (for generic files: of the column); None takes the task's."""
    acceptable: float | None = None
    """Largest acceptable error; None takes the task's."""
    bins: int | None = None
    """Bins of calibration figures; None takes the released number where the data are enough."""
    by: tuple[str, ...] = ()
    """Columns that figures are broken down by."""
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
    """Largest acceptable error in ``unit``; None where the papers name none."""


@dataclass(frozen=True)
class Normals:
    """Predicted normal distributions and what was observed, for calibration figures; float64 [n] each."""

    mean: Floats
    variance: Floats
    target: Floats
    unit: str
    bins: int | None = None
    """Bins that were asked for."""


@dataclass(frozen=True)
class Judged:
    """n units with their errors and uncertainties."""

    task: str
    source: str
    """File that it was read from, as the user named it."""
    errors: Mapping[str, ErrorColumn]
    """Name of the error to its values; the first is the task's own unless another was asked for."""
    measures: Mapping[str, Floats]
    """Name of the measure to its values [n], larger is less certain; the first is the one that defers."""
    diagnostics: frozenset[str] = frozenset()
    """Measures among these that need the label, so that nobody can defer by them."""
    shifted: Mask | None = None
    """Whether each unit is shifted; None where the file does not say."""
    impossible: Mask | None = None
    """Units whose prediction lies outside the possible range of the target, which serving defers; None: none."""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns of one value a unit that figures can be broken down by."""
    rules: Rules = field(default_factory=Rules)
    own: Callable[[Mask | None], dict[str, float]] | None = None
    """The task's own figures of a subset (None: of all)."""
    own_units: Mapping[str, str] = field(default_factory=dict)
    normals: Normals | None = None
    singles: Callable[[], Iterator[Judged]] | None = None
    """The members one by one, each judged as a single model; None where the file holds one model or no members."""
    members: int | None = None
    """Models behind the predictions; None where the file does not say."""
    labels: str | None = None
    """Digest of the labels, so that files judged side by side are known to be about the same units; None: unknown."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures should know, such as units left out."""

    def __len__(self) -> int:
        return len(self.error.values)

    @property
    def error_name(self) -> str:
        """The error that the headline figures are about."""
        return next(iter(self.errors))

    @property
    def error(self) -> ErrorColumn:
        return self.errors[self.error_name]

    @property
    def measure_name(self) -> str:
        """The measure that the headline figures are about."""
        return next(iter(self.measures))

    @property
    def uncertainty(self) -> Floats:
        return self.measures[self.measure_name]


def ordered(asked: Asked, columns: Mapping[str, ErrorColumn], source: str) -> dict[str, ErrorColumn]:
    """The columns with the error that was asked for first, and with the limit that was asked for in the first.

    Case, hyphens and underscores of the name do not matter.

    Raises:
        BadFile: no such error.
    """
    chosen = dict(columns)
    if asked.error is not None:
        plain = {_plain(key): key for key in columns}
        if _plain(asked.error) not in plain:
            raise BadFile(f"{source}: error {asked.error!r} is not one of {', '.join(columns)}")
        name = plain[_plain(asked.error)]
        chosen = {name: columns[name], **columns}
    if asked.acceptable is not None:
        name = next(iter(chosen))
        chosen[name] = replace(chosen[name], acceptable=asked.acceptable)
    return chosen


def unranked(uncertainty: Floats) -> tuple[str, ...]:
    """A note about units without an uncertainty, if there are any."""
    count = int(np.isnan(uncertainty).sum())
    return (f"{count} units have no uncertainty: they rank as the least certain",) if count else ()


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
