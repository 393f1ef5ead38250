"""Draft of columns and targets: found in data and model, written as TOML, edited, and read again."""

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.schema import Feature, Schema
from models.tasks.rows.data.table import Column, Table, listed
from models.tasks.rows.refusal import Refused

RESERVED = frozenset({"model", "profile", "recorded", "purpose", "shifted_inputs", "heads"})
"""Names of answer fields that are no heads."""
MOST_CATEGORIES = 1000
MOST_CLASSES = 1000
_WIDER = 10.0
"""Widths of the range seen in the data by which the range of possible values is wider, on each side."""
_UNIT = re.compile(r"\[([^\[\]]+)\]\s*$")
HEAD = re.compile("[A-Za-z][A-Za-z0-9_]*")
"""Names of heads."""
_UNUSABLE = re.compile(r'["\\\x00-\x1f]')
"""Characters that no field of a JSON body can have in its name."""


class ColumnDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Column of the model."""

    name: str
    unit: str = "1"
    lower: float = 0.0
    """Smallest possible value; smaller ones are refused."""
    upper: float = 0.0
    description: str = ""
    missing: bool = False
    """True if values may be missing."""
    values: tuple[float, ...] = ()
    """Only possible values; empty for all between ``lower`` and ``upper``."""
    categories: tuple[str, ...] = ()
    """Texts of a categorical column; empty for numbers."""
    other: bool = False
    """True if other texts are accepted, whose rows are flagged as unlike the training data."""

    def feature(self) -> Feature:
        """Return the column of a schema.

        Raises:
            Refused: the range is empty or not finite.
        """
        if self.categories:
            codes = tuple(float(code) for code in range(len(self.categories) + self.other))
            about = self.description or f"Category of {self.name}."
            return Feature(
                self.name,
                "1",
                0.0,
                codes[-1],
                about,
                self.missing,
                values=codes,
                categories=self.categories,
                other=self.other,
            )
        if not -math.inf < self.lower < self.upper < math.inf:
            raise Refused(
                f"column {self.name}: lower = {self.lower:g} and upper = {self.upper:g} {self.unit}: must be numbers, "
                "the "
                "lower one first"
            )
        about = self.description or f"Column {self.name}."
        return Feature(self.name, self.unit, self.lower, self.upper, about, self.missing, values=self.values)


class TargetDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Target of the model, which becomes a head."""

    column: str
    """Column of the labelled data."""
    name: str
    """Name of the head in answers."""
    kind: Literal["regression", "classification"]
    unit: str = "1"
    label: str = ""
    """Description of a label."""
    lower: float | None = None
    """Smallest possible value; predictions below are deferred."""
    upper: float | None = None
    acceptable: float | None = None
    """Largest acceptable squared error, in the square of the unit; of classes: none."""
    classes: tuple[str, ...] = ()
    """Labels of the classes in the order of the model's outputs."""


class Draft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Columns in the order of the model, and targets in the order of its outputs."""

    columns: tuple[ColumnDraft, ...]
    targets: tuple[TargetDraft, ...]

    def schema(self, metadata: Sequence[str]) -> Schema:
        """Return the schema; ``metadata`` are names of columns that may come along and are ignored.

        Raises:
            Refused: two columns of one name, a name that no request could hold, or see ``ColumnDraft.feature``.
        """
        names = [column.name for column in self.columns]
        if unusable := next((name for name in names if _UNUSABLE.search(name)), ""):
            raise Refused(
                f"columns: name = {unusable!r}: must hold no quotation mark, backslash or control character; rename "
                "the column in data and model"
            )
        if doubled := {name for name in names if names.count(name) > 1}:
            raise Refused(f"columns: {sorted(doubled)[0]!r} is there twice; each column needs a name of its own")
        kept = tuple(name for name in metadata if name not in names and not _UNUSABLE.search(name))
        return Schema(tuple(column.feature() for column in self.columns), kept)


def read(path: Path) -> Draft:
    """Read a draft.

    Raises:
        Refused: it cannot be read, or a field is missing, unknown or of another type.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Draft)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise Refused(f"{path}: cannot be read as a schema: {error}") from error


def text(draft: Draft, name: str) -> str:
    """Return a draft as TOML with comments for the person who edits it."""
    lines = [
        f"# Columns and targets of {name}. Edit units, ranges and descriptions, and build again with --schema.",
        "# Values outside a range are refused; values unlike the training data are flagged without it.",
        "# Keep the order of the columns: it is that of the model.",
    ]
    for table, entries in (("columns", draft.columns), ("targets", draft.targets)):
        entry: ColumnDraft | TargetDraft
        for entry in entries:
            lines += ["", f"[[{table}]]"]
            numeric = isinstance(entry, ColumnDraft) and not entry.categories
            shown = dict(msgspec.to_builtins(entry))
            if numeric:
                shown = {field: getattr(entry, field) for field in ("name", "unit", "lower", "upper")} | shown
            lines += [f"{field} = {_toml(value)}" for field, value in shown.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def column(name: str, data: Column, categories: tuple[str, ...] = (), *, other: bool = False) -> ColumnDraft:
    """Return the draft of a column from its data.

    Args:
        categories: texts in the order that the model fixes; empty to sort those of the data.

    Raises:
        Refused: a column without values or with too many different texts.
    """
    present = data.values[~data.missing]
    missing = bool(data.missing.any())
    if not len(present):
        raise Refused(f"column {name}: has no value in any row; leave it out of data and model")
    if data.text:
        known = categories or tuple(sorted(set(present)))
        if len(known) > MOST_CATEGORIES:
            raise Refused(
                f"column {name}: {len(known)} different texts; a category has at most {MOST_CATEGORIES}. An identifier "
                "is "
                "no input; leave it out of data and model"
            )
        return ColumnDraft(name=name, missing=missing, categories=known, other=other)
    unit = data.unit or ((match := _UNIT.search(name)) and match.group(1)) or "1"
    if data.flag:
        return ColumnDraft(name=name, unit="1", lower=0.0, upper=1.0, missing=missing, values=(0.0, 1.0))
    low, high = float(present.min()), float(present.max())
    reach = _WIDER * ((high - low) or abs(high) or 1.0)
    return ColumnDraft(name=name, unit=unit, lower=_rounded(low - reach), upper=_rounded(high + reach), missing=missing)


def target(name: str, data: Column, *, classes: tuple[str, ...] | None) -> TargetDraft:
    """Return the draft of a target.

    Args:
        classes: labels in the order of the model's outputs; None for numbers.
    """
    head = re.sub("[^A-Za-z0-9_]+", "_", _UNIT.sub("", name)).strip("_") or "target"
    head = head if HEAD.fullmatch(head) else f"target_{head}"
    head = f"{head}_value" if head in RESERVED else head
    if classes is not None:
        return TargetDraft(column=name, name=head, kind="classification", classes=classes)
    unit = data.unit or ((match := _UNIT.search(name)) and match.group(1)) or "1"
    return TargetDraft(column=name, name=head, kind="regression", unit=unit)


def class_texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Return the different labels as texts, numbers in their order."""
    different = set(values)
    if all(isinstance(value, str) for value in different):
        return tuple(sorted(different))
    return tuple(label_text(value) for value in sorted(different))


def label_text(value: Any) -> str:
    """Return a label as text: whole numbers without a decimal point."""
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def encoded(table: Table, schema: Schema) -> NDArray[np.float32]:
    """Return the rows [n, F] of a table, texts as codes.

    Raises:
        Refused: a column is missing, holds texts where numbers are needed or the other way round, an unknown text, a
            missing value where there may be none, or a value outside its range.
    """
    rows = np.empty((len(table), len(schema)), np.float32)
    for position, feature in enumerate(schema.features):
        data = table.column(feature.name, "column")
        if data.text != bool(feature.categories):
            kinds = ("numbers", "texts")
            raise Refused(
                f"column {feature.name}: {table.source} holds {kinds[data.text]} and the model takes "
                f"{kinds[not data.text]}; convert the column, or bring a model that takes {kinds[data.text]} (a "
                "pipeline "
                "with its encoder)"
            )
        rows[:, position] = _codes(data, feature, table.source) if data.text else data.values
        if not feature.nullable and (gone := np.flatnonzero(np.isnan(rows[:, position]))).size:
            raise Refused(
                f"column {feature.name}: row {gone[0]} of {table.source} has no value; set missing = true in the "
                "schema if "
                "the model takes missing values"
            )
    outside = ~np.isnan(rows) & ((rows < schema.lower) | (rows > schema.upper))
    if outside.any():
        row, position = np.argwhere(outside)[0]
        feature = schema.features[position]
        raise Refused(
            f"column {feature.name}: row {row} of {table.source} = {rows[row, position]:g}{feature.unit_text}: must be "
            f"{feature.lower:g} to {feature.upper:g}; correct the data, or the range in the schema"
        )
    return rows


def _codes(data: Column, feature: Feature, source: str) -> NDArray[np.float64]:
    code: Mapping[Any, float] = {name: float(number) for number, name in enumerate(feature.categories)}
    other = float(len(feature.categories)) if feature.other else None
    codes = np.array([np.nan if v is None else code.get(v, np.inf if other is None else other) for v in data.values])
    if (unknown := np.flatnonzero(np.isinf(codes))).size:
        raise Refused(
            f"column {feature.name}: row {unknown[0]} of {source} = {data.values[unknown[0]]!r}: must be one of "
            f"{listed(feature.categories)}; set other = true in the schema to accept other texts"
        )
    return codes


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
