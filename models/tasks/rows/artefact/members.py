"""Members of each head: what they predict for the calibration rows, and the uncertainty that is chosen for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.executors.trees.library_rows import LibraryTrees
from models.head import Head
from models.schema import Schema
from models.tasks.rows.artefact.plan import Plan, head_of, labels_of
from models.tasks.rows.artefact.recipe import Recipe
from models.tasks.rows.data import draft as drafts
from models.tasks.rows.data.draft import TargetDraft
from models.tasks.rows.data.table import Column
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources import onnx_source
from models.tasks.rows.sources.brought import Brought
from models.tasks.rows.sources.catboost_source import CatBoostSource
from models.tasks.rows.sources.onnx_source import OnnxSource, Wish
from models.tasks.rows.sources.source import Output
from models.tasks.rows.uncertainty import folds
from models.tasks.rows.uncertainty.choice import Choice, choose
from models.tasks.rows.uncertainty.predicted import Predicted, predicted
from models.tasks.rows.uncertainty.spread import Inputs

Source = OnnxSource | CatBoostSource
PROBE_ROWS = 256
"""Number of rows that show what values a model returns."""


@dataclass(frozen=True)
class Group:
    """Models that predict some targets together, one for each member."""

    targets: tuple[str, ...]
    brought: tuple[Brought, ...]


@dataclass(frozen=True)
class HeadPlan:
    """A head, its labels, and how it is answered."""

    head: Head
    target: TargetDraft
    output: Output
    sources: tuple[Source, ...]
    place: int
    """Place of the target among the outputs of its sources."""
    labels: NDArray[Any]
    """Labels of the calibration rows [n]: numbers, or places of classes."""
    raw: NDArray[np.float64]
    """Raw outputs of the models for the calibration rows [M, n, K], as they are served."""
    framework: NDArray[np.float64]
    """The same as the framework predicts; equal to ``raw`` where a model came as a file."""
    choice: Choice

    @property
    def predicted(self) -> Predicted:
        """Predictions of the members for the calibration rows."""
        return predicted(self.output, self.raw)


def targets_of(
    recipe: Recipe, groups: Sequence[Group], rows: NDArray[np.float32], schema: Schema, words: tuple[str, ...]
) -> tuple[TargetDraft, ...]:
    """Return the drafts of all targets: the user's, or what models and labels show."""
    if recipe.draft is not None:
        return tuple(_checked(target, recipe) for target in recipe.draft.targets)
    drafted = {}
    for group in groups:
        for name in group.targets:
            column = recipe.calibration[name]
            classes = _classes(group, column, rows[:PROBE_ROWS], schema, words)
            drafted[name] = drafts.target(name, column, classes=classes)
    return tuple(drafted[name] for name in recipe.targets)


def _checked(target: TargetDraft, recipe: Recipe) -> TargetDraft:
    if target.column not in recipe.targets:
        raise Refused(f"schema: target {target.column} is not one of --target {', '.join(recipe.targets)}")
    if not drafts.HEAD.fullmatch(target.name) or target.name in drafts.RESERVED:
        raise Refused(
            f"schema: target {target.column}: name = {target.name!r}: must be letters, digits and underscores, begin "
            f"with a letter, and be none of {', '.join(sorted(drafts.RESERVED))}, which answers have already"
        )
    if target.kind == "classification" and not target.classes:
        classes = drafts.class_texts(recipe.calibration[target.column].values)
        return msgspec.structs.replace(target, classes=classes)
    return target


def _classes(
    group: Group, column: Column, rows: NDArray[np.float32], schema: Schema, words: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the classes of a target, in the order of the model; None for numbers."""
    model = group.brought[0].model
    if isinstance(model, CatBoostSource):
        if model.outputs[0].meaning != "logits":
            return None
        return model.outputs[0].classes or drafts.class_texts(column.values)
    declared = bool(model.labels or set(words) & {"probabilities", "logits"})
    if declared or column.text or column.flag:
        return group.brought[0].classes or model.classes or drafts.class_texts(column.values)
    if len(group.targets) > 1 or words or not column.whole:
        return None
    shown = onnx_source.evaluated(model, rows, schema)
    width = next(iter(shown.values())).shape[1]
    if len(shown) == 1 and width > 1 and set(column.values.tolist()) <= set(range(width)):
        return tuple(str(number) for number in range(width))
    return None


def head_plans(
    recipe: Recipe,
    groups: Sequence[Group],
    plan: Plan,
    *,
    words: tuple[str, ...] = (),
    levels: tuple[float, ...] = (),
    virtual: int = 0,
    progress: Callable[[float, str], None] = lambda done, what: None,
) -> tuple[HeadPlan, ...]:
    """Return a plan of each head, in the order of the targets.

    Args:
        words: meanings of the models' values (``onnx_source.WORDS``); empty to find out.
        levels: levels of the quantiles that the models' values are; empty if they are none.
        virtual: number of virtual members of each model of CatBoost; 0 for none.

    Raises:
        Refused: outputs without a clear meaning, another number of classes than the labels have, or predictions that
            are not finite.
    """
    by_target: dict[str, HeadPlan] = {}
    drafted = {target.column: target for target in plan.draft.targets}
    for number, group in enumerate(groups):
        progress(number / len(groups), "predicting")
        classes = tuple(drafted[target].kind == "classification" for target in group.targets)
        wish = Wish(group.targets, classes, words, levels or group.brought[0].levels)
        sources = tuple(_source(brought, wish, plan) for brought in group.brought)
        raws = [_raw(source, plan, virtual) for source in sources]
        frameworks = [
            own if brought.expected is None else _expected(source, brought.expected, own)
            for source, brought, own in zip(sources, group.brought, raws, strict=True)
        ]
        for place, name in enumerate(group.targets):
            raw, framework = (np.concatenate([outputs[place] for outputs in each]) for each in (raws, frameworks))
            by_target[name] = _head(recipe, plan, drafted[name], sources, place, raw, framework)
            progress((number + (place + 1) / len(group.targets)) / len(groups), f"uncertainty of {name}")
    return tuple(by_target[name] for name in recipe.targets)


def _source(brought: Brought, wish: Wish, plan: Plan) -> Source:
    if isinstance(brought.model, CatBoostSource):
        if len(wish.targets) > 1:
            raise Refused(f"{brought.model.path}: predicts one target; give each its model: --model price=a.cbm")
        return brought.model
    return onnx_source.interpreted(brought.model, brought.family, wish, plan.rows[:PROBE_ROWS], plan.schema)


def _raw(source: Source, plan: Plan, virtual: int) -> list[NDArray[np.float64]]:
    """Return the raw outputs of a model for the calibration rows, [members, n, K] of each target."""
    if not isinstance(source, OnnxSource):
        trees = LibraryTrees({"target": [source.content]}, plan.schema, virtual=virtual)
        return [trees(plan.rows)["target"].astype(np.float64)]
    return [array[None] for array in source.run(plan.rows, plan.schema)]


def _expected(
    source: Source, predictions: NDArray[np.float64], own: list[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the predictions of the framework in the form of the raw outputs; those themselves if they differ in kind.

    Args:
        predictions: of the calibration rows, [n], [n, targets] or [n, C].
        own: raw outputs of the converted model, [1, n, K] of each target.
    """
    if not isinstance(source, OnnxSource):
        return own
    if not all(output.meaning in ("mean", "probabilities") for output in source.outputs):
        return own
    if any(part.word == "logits" for parts in source.parts for part in parts):
        return own
    columns = predictions.reshape(len(predictions), -1)
    return [columns[None]] if len(own) == 1 else [columns[None, :, [place]] for place in range(len(own))]


def _head(
    recipe: Recipe,
    plan: Plan,
    target: TargetDraft,
    sources: tuple[Source, ...],
    place: int,
    raw: NDArray[np.float64],
    framework: NDArray[np.float64],
) -> HeadPlan:
    output = sources[0].outputs[place]
    where = f"target {target.column}"
    if not np.isfinite(raw).all():
        row = int(np.argwhere(~np.isfinite(raw))[0][1])
        raise Refused(
            f"{where}: the model returns no number for row {row} of {recipe.calibration.source}; if it cannot take "
            "missing "
            "values, leave such rows out"
        )
    if target.kind == "classification":
        width = 2 if output.width == 1 else output.width
        if width != len(target.classes):
            raise Refused(
                f"{where}: the model has {width} classes, the labels {len(target.classes)} "
                f"({', '.join(target.classes[:8])}); name them in the schema, in the model's order"
            )
    labels = labels_of(target, recipe.calibration)
    categories = tuple(len(f.categories) + f.other if f.categories else 0 for f in plan.schema.features)
    fold = folds.numbers(len(labels), plan.groups)

    def inputs(mean: NDArray[np.float64]) -> Inputs:
        return Inputs(plan.rows, mean, labels - mean, fold, categories)

    choice = choose(predicted(output, raw), labels, inputs, recipe.uncertainty)
    head = head_of(target, choice.chosen, len(raw) > 1)
    return HeadPlan(head, target, output, sources, place, labels, raw, framework, choice)
