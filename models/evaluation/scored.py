"""Reader of tables from ``demur score``, CSV or Parquet: answers of a head, with the labels of the input."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.assessment.figures import Rules
from models.evaluation.files import Array, shifted_flags
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile, ErrorOptions, Mask, UnitErrors, unranked, without_errors

SUFFIXES = (".csv", ".csv.gz", ".parquet")
"""Suffixes of tables; other files of predictions are NPZ, or a submission."""
SHIFTED = "input.shifted"
"""Column ``shifted`` of the input: the true domain of a unit. The table's own ``shifted`` is from the service."""
_ALWAYS = ("total", "data", "knowledge", "uncertainty")


@dataclass(frozen=True)
class ScoredHead:
    """Units of a head that have a prediction and a label."""

    columns: Mapping[str, Array]
    """Predictions, ``total``, ``data``, ``knowledge`` and ``uncertainty`` as float64 [n]; NaN for an empty cell."""
    members: tuple[Mapping[str, Array], ...]
    """Predictions of each member by their names [n]; empty if the table does not have them."""
    target: Array
    """Labels, float64 [n]."""
    shifted: Mask | None
    groups: Mapping[str, Array]
    notes: tuple[str, ...]

    @property
    def ensemble(self) -> bool:
        """True if there is knowledge uncertainty, which needs several members."""
        return not np.isnan(self.columns["knowledge"]).all()

    def units(self, path: Path, task: str, target: Array, rules: Rules) -> UnitErrors:
        """Return the units, to which errors and measures are added."""
        members = len(self.members) or (None if self.ensemble else 1)
        return without_errors(
            path,
            task,
            target,
            rules,
            shifted=self.shifted,
            groups=self.groups,
            members=members,
            notes=self.notes,
        )

    def stacked(self, *names: str) -> Array:
        """Stack columns of the members as float64 [M, n, len(names)]."""
        return np.stack([np.stack([member[name] for name in names], axis=-1) for member in self.members])


def is_table(path: Path) -> bool:
    """Return whether a file is a table, by its name."""
    return path.name.lower().endswith(SUFFIXES)


def read(
    path: Path,
    options: ErrorOptions,
    *,
    prefix: str,
    predictions: Sequence[str],
    of_member: str,
    label: str,
    class_names: Sequence[str] = (),
) -> ScoredHead:
    """Read one head of a table.

    Args:
        prefix: prefix of the head's columns, such as ``temperature.``; empty if the task has only one head.
        predictions: columns of the prediction, without the prefix.
        of_member: pattern of the names of a member's columns after ``member1.``.
        label: column of the labels.
        class_names: labels of the classes, whose places are the target; empty if labels are numbers.

    Raises:
        BadFile: an unknown class, a column is missing or not numeric, or no row has a prediction and a label.
    """
    have = column_names(path)
    if label not in have:
        raise BadFile(
            f"{path}: column {label} with the labels is missing: score a file that has it, and it is copied to the "
            "output"
        )
    if missing := [name for name in predictions if prefix + name not in have]:
        raise BadFile(f"{path}: column {prefix}{missing[0]} is missing; `demur score` writes it")
    pattern = re.compile(rf"{re.escape(prefix)}member(\d+)\.({of_member})")
    members = {name: match for name in have if (match := pattern.fullmatch(name))}
    own = [prefix + name for name in (*predictions, *_ALWAYS)]
    numeric = [*own, *([] if class_names else [label]), *members, *([SHIFTED] if SHIFTED in have else [])]
    groups = [name for name in options.by if name not in numeric]
    table = read_columns(path, numeric, [*groups, label] if class_names else groups)
    if class_names:
        table[label] = _places(path, label, table[label], class_names)
    predicted = ~np.isnan(np.stack([table[prefix + name] for name in predictions])).any(axis=0)
    labelled = ~np.isnan(table[label])
    kept = predicted & labelled
    if not kept.any():
        raise BadFile(f"{path}: no row has both a prediction and a label in column {label}")
    table = {name: values[kept] for name, values in table.items()}
    numbers = sorted({int(match[1]) for match in members.values()})
    uncertainty = table[f"{prefix}uncertainty"]
    return ScoredHead(
        columns={name: table[prefix + name] for name in (*predictions, *_ALWAYS)},
        members=tuple(
            {match[2]: table[name] for name, match in members.items() if int(match[1]) == number} for number in numbers
        ),
        target=table[label],
        shifted=shifted_flags(path, SHIFTED, table.get(SHIFTED), int(kept.sum())),
        groups={name: table[name] for name in options.by},
        notes=(
            *_left_out(~predicted, "have no prediction (refused, or withheld)"),
            *_left_out(predicted & ~labelled, f"have no label in column {label}"),
            *unranked(uncertainty),
        ),
    )


def _places(path: Path, label: str, labels: Array, class_names: Sequence[str]) -> Array:
    """Return the places of labels among the classes, float64 [n]; NaN for an empty cell."""
    place = {name: float(number) for number, name in enumerate(class_names)} | {"": np.nan}
    texts = [text if text in place else text.removesuffix(".0") for text in map(str, labels.tolist())]
    if unknown := next((text for text in texts if text not in place), ""):
        raise BadFile(f"{path}: {label} = {unknown!r}: must be one of {', '.join(class_names)}")
    return np.array([place[text] for text in texts], np.float64)


def _left_out(rows: Mask, why: str) -> tuple[str, ...]:
    count = int(np.count_nonzero(rows))
    return (f"{count} rows {why}: they are left out",) if count else ()
