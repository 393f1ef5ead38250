"""Columns, targets and labels of a build, checked against the models: what is asked becomes what can be built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.schema import Schema
from models.tasks.rows.artefact.recipe import FEWEST_ROWS, Recipe
from models.tasks.rows.data import draft as drafts
from models.tasks.rows.data.draft import ColumnDraft, Draft, TargetDraft
from models.tasks.rows.data.table import Column, Table, listed
from models.tasks.rows.refusal import Refused
from models.tasks.rows.uncertainty.choice import Candidate

_REPEATS = 0.999_999
"""Correlation with the target from which a column counts as the target itself."""


@dataclass(frozen=True)
class Shape:
    """What the models say of their columns."""

    names: tuple[str, ...]
    """Names in order; empty if the models have none."""
    width: int
    """Number of columns; 0 for any."""
    categories: Mapping[str, tuple[str, ...]]
    """Texts of columns, in the order of their codes, where the models fix it."""
    texts: frozenset[int] = frozenset()
    """Positions of the columns that the models take as texts."""
    others: frozenset[int] = frozenset()
    """Positions of the columns for which the models accept any text."""


def check_targets(recipe: Recipe) -> None:
    """Check that the table has labels that can be learned from.

    Raises:
        Refused: too few rows, no such column, a missing label, or the same label in every row.
    """
    table = recipe.calibration
    if not recipe.targets:
        raise Refused("--target is missing: name the column of the labels; it has " + listed(table.columns))
    for name in recipe.targets:
        column = table.column(name, "--target")
        if (gone := np.flatnonzero(column.missing)).size:
            raise Refused(f"--target = {name}: row {gone[0]} of {table.source} has no label; leave such rows out")
        if len(set(column.values.tolist())) < 2 and len(table):
            raise Refused(
                f"--target = {name}: is {column.values[0]!r} in every row of {table.source}; nothing can be calibrated "
                "with a constant"
            )
    if len(table) < FEWEST_ROWS:
        raise Refused(
            f"{table.source}: {len(table)} labelled rows; {FEWEST_ROWS} or more are needed for thresholds and "
            "intervals, "
            "and a thousand make them narrow"
        )
    if recipe.group:
        table.column(recipe.group, "--group")


def columns_of(recipe: Recipe, shape: Shape) -> tuple[ColumnDraft, ...]:
    """Return the columns of the model in its order, from names, data and the user's draft.

    Raises:
        Refused: the data do not have the columns that the model takes, or a column repeats a target.
    """
    table, draft = recipe.calibration, recipe.draft
    if draft is not None:
        names = tuple(column.name for column in draft.columns)
    else:
        apart = {*recipe.targets, *([recipe.group] if recipe.group else [])}
        names = shape.names or tuple(name for name in table.columns if name not in apart)
    if shape.width and len(names) != shape.width:
        raise Refused(
            f"the model takes {shape.width} columns; {table.source} has {len(names)} beside target and group "
            f"({listed(names)}): leave the others out, or list the model's columns in its order with --schema"
        )
    for name in names:
        table.column(name, "column of the model")
        _check_leak(name, table, recipe.targets)
    for position, name in enumerate(names):
        _check_kind(table[name].text, position in shape.texts or name in shape.categories, name, table.source)
    if draft is not None:
        return draft.columns
    return tuple(
        drafts.column(name, table[name], shape.categories.get(name, ()), other=position in shape.others)
        for position, name in enumerate(names)
    )


def _check_kind(text: bool, taken_as_text: bool, name: str, source: str) -> None:
    """Raises Refused if a column holds texts and the model takes numbers, or the other way round."""
    if text and not taken_as_text:
        raise Refused(
            f"column {name}: {source} holds texts, and the model takes numbers; bring the model with its encoder (a "
            "pipeline), a LightGBM or CatBoost model with categories, or numbers"
        )
    if taken_as_text and not text:
        raise Refused(f"column {name}: {source} holds numbers, and the model takes texts; convert the column to texts")


def _check_leak(name: str, table: Table, targets: Sequence[str]) -> None:
    """Raises Refused if a column is a target or repeats one."""
    for target in targets:
        if name == target or _same(table[name], table[target]):
            raise Refused(
                f"column {name}: repeats the target {target} in {table.source}; a model that sees its label cannot be "
                "calibrated: leave the column out of data and model"
            )


def _same(column: Column, target: Column) -> bool:
    if column.text != target.text:
        return False
    if column.text:
        return bool((column.values == target.values).all())
    both = ~(column.missing | target.missing)
    first, second = column.values[both], target.values[both]
    if len(first) < FEWEST_ROWS or first.std() == 0 or second.std() == 0:
        return False
    if len(set(second.tolist())) <= 2:  # a good binary column may agree with a binary label by chance of few rows
        return bool((first == second).all())
    return bool(abs(np.corrcoef(first, second)[0, 1]) > _REPEATS)


def labels_of(target: TargetDraft, table: Table) -> NDArray[Any]:
    """Return the labels of a target [n]: numbers, or the place of each class.

    Raises:
        Refused: no such column, a text where a number is needed, or an unknown class.
    """
    column = table.column(target.column, "target")
    if target.kind == "regression":
        if column.text:
            raise Refused(f"target {target.column}: {table.source} holds texts; a regression needs numbers")
        return np.asarray(column.values, np.float64)
    place = {name: number for number, name in enumerate(target.classes)}
    texts = [drafts.label_text(value) for value in column.values]
    unknown = [(row, text) for row, text in enumerate(texts) if text not in place]
    if unknown:
        row, text = unknown[0]
        raise Refused(
            f"target {target.column}: row {row} of {table.source} = {text!r}: must be one of the model's classes "
            f"{listed(target.classes)}"
        )
    return np.array([place[text] for text in texts], np.intp)


def head_of(target: TargetDraft, candidate: Candidate, several: bool) -> Head:
    """Return the head of a target, deferred by the measure of the chosen uncertainty."""
    measure = candidate.measure
    if target.kind == "classification":
        return Head(
            name=target.name,
            kind="categorical",
            unit="1",
            label=target.label or f"class of {target.column}",
            error="error_rate",
            error_unit="1",
            acceptable=None,
            ensemble_measure=measure,
            single_measure="entropy" if several else measure,
            knowledge_measure="mi" if several else None,
            classes=len(target.classes),
            class_names=target.classes,
        )
    unit = target.unit
    return Head(
        name=target.name,
        kind="gaussian",
        unit=unit,
        label=target.label or f"{target.column}{'' if unit == '1' else f', {unit}'}",
        error="squared_error",
        error_unit="1" if unit == "1" else f"{unit}²",
        acceptable=target.acceptable,
        ensemble_measure=measure if several else "tvar",
        single_measure="variance",
        knowledge_measure="varm" if several else None,
        lower=target.lower,
        upper=target.upper,
    )


@dataclass(frozen=True)
class Plan:
    """Checked request."""

    draft: Draft
    schema: Schema
    rows: NDArray[np.float32]
    """Calibration rows [n, F]."""
    groups: NDArray[Any] | None


def plan(recipe: Recipe, columns: tuple[ColumnDraft, ...], targets: tuple[TargetDraft, ...]) -> Plan:
    """Return the plan of a build.

    Raises:
        Refused: see ``models.tasks.rows.data.draft``.
    """
    draft = Draft(columns=columns, targets=targets)
    schema = draft.schema(tuple(recipe.calibration.columns))
    rows = drafts.encoded(recipe.calibration, schema)
    groups = np.array([str(value) for value in recipe.calibration[recipe.group].values]) if recipe.group else None
    return Plan(draft, schema, rows, groups)
