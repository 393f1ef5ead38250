"""Build of a complete artefact from trained models and labelled rows."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models import artefact as artefacts
from models import building, card, npz, row_artefact
from models.artefact import Artefact
from models.building import CARD, GOLDEN, Labelled
from models.calibration import Calibration
from models.executors.reduced import MOST_ROWS
from models.manifest import Manifest
from models.predictive import Predictives
from models.profile import profile
from models.rows import executors as of_rows
from models.rows import replay_set
from models.rows.executors import RowExecutors
from models.tasks.rows.artefact import cards, certified, figures, members, verification
from models.tasks.rows.artefact.members import Group, HeadPlan
from models.tasks.rows.artefact.model_files import ModelFiles, model_files
from models.tasks.rows.artefact.plan import Plan, Shape, check_targets, columns_of, labels_of, plan
from models.tasks.rows.artefact.recipe import Recipe
from models.tasks.rows.data import draft as drafts
from models.tasks.rows.data.table import Table
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources.brought import Brought
from models.tasks.rows.sources.catboost_source import CatBoostSource
from models.tasks.rows.uncertainty import folds

MEASURES = {
    ("gaussian", True): ("tvar", "varm", "mvar"),
    ("gaussian", False): ("variance",),
    ("categorical", True): ("entropy", "confidence", "mi"),
    ("categorical", False): ("entropy", "confidence"),
}
"""Measures that a policy may defer by, for ensembles and single models."""
SCHEMA = "schema.toml"
"""File of the artefact with its columns and targets, as they may be edited."""
GOLDEN_TOLERANCE = 1e-3
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Options:
    """What a build is told of the models' outputs."""

    words: tuple[str, ...] = ()
    """Meanings of the models' values (``onnx_source.WORDS``); empty to find out."""
    levels: tuple[float, ...] = ()
    """Levels of the quantiles that the models' values are; empty if they are none."""
    virtual: int = 0
    """Number of virtual members of each model of CatBoost; 0 for none."""


@dataclass(frozen=True)
class Built:
    """An artefact, and what its maker should know."""

    artefact: Artefact
    heads: tuple[HeadPlan, ...]
    plan: Plan
    check: verification.Check
    retention: Mapping[str, float]
    """Head name to target retention."""
    card: str
    """Model card, as Markdown."""


def build(
    recipe: Recipe,
    groups: Sequence[Group],
    directory: Path,
    options: Options = Options(),
    progress: Progress = lambda done, what: None,
) -> Built:
    """Write an artefact into ``directory``, replacing an older one there, and verify it.

    Nothing is written unless everything succeeds.

    Args:
        groups: models by the targets that they predict together.

    Raises:
        Refused: models, data or options cannot be used.
    """
    check_targets(recipe)
    progress(0.0, "reading columns")
    brought = [one for group in groups for one in group.brought]
    drafted = _plan(recipe, groups, brought, options)
    heads = members.head_plans(
        recipe,
        groups,
        drafted,
        words=options.words,
        levels=options.levels,
        virtual=options.virtual,
        progress=lambda done, what: progress(0.1 + 0.6 * done, what),
    )
    made = model_files(heads, drafted.schema, options.virtual)
    retention = {
        plan.head.name: recipe.retention if recipe.risk is None else certified.retention(plan, recipe.risk)
        for plan in heads
    }
    progress(0.75, "calibrating")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as folder:
        staged = _written(recipe, drafted, heads, made, retention, brought, options, Path(folder) / "artefact")
        opened = of_rows.of_artefact(staged)
        opened.prepare(drafted.rows[:64])
        served = _served(opened, drafted.rows, lambda done: progress(0.75 + 0.2 * done, "verifying"))
        check = verification.check(heads, served)
        finished = _finished(recipe, drafted, heads, staged, opened, served, check)
        progress(0.97, "writing")
        final = artefacts.copy(finished, Path(folder) / "final")
        _replace(final.directory, directory)
    made_artefact = artefacts.read(directory)
    text = made_artefact.path(CARD).read_text(encoding="utf-8")
    return Built(made_artefact, heads, drafted, check, retention, text)


def draft_of(recipe: Recipe, groups: Sequence[Group], options: Options = Options()) -> drafts.Draft:
    """Return columns and targets as models and data show them, without building anything.

    Raises:
        Refused: models or data cannot be used.
    """
    check_targets(recipe)
    return _plan(recipe, groups, [one for group in groups for one in group.brought], options).draft


def _plan(recipe: Recipe, groups: Sequence[Group], brought: Sequence[Brought], options: Options) -> Plan:
    """Return columns and targets, found in models and data or edited by the user."""
    widths = {one.width for one in brought if one.width}
    if len(widths) > 1:
        raise Refused(
            f"the models take other numbers of columns ({', '.join(map(str, sorted(widths)))}); all need the same"
        )
    first = brought[0]
    texts = frozenset(first.model.texts)
    shape = Shape(first.names, max(widths, default=0), first.categories, texts, _others(first))
    columns = columns_of(recipe, shape)
    schema = drafts.Draft(columns=columns, targets=()).schema(())
    rows = drafts.encoded(recipe.calibration, schema)
    return plan(recipe, columns, members.targets_of(recipe, groups, rows, schema, options.words))


def _others(brought: Brought) -> frozenset[int]:
    """Return the positions of the columns that accept any text: CatBoost has no error for new categories."""
    return frozenset(brought.model.texts) if isinstance(brought.model, CatBoostSource) else frozenset()


def _written(
    recipe: Recipe,
    drafted: Plan,
    heads: Sequence[HeadPlan],
    made: ModelFiles,
    retention: Mapping[str, float],
    brought: Sequence[Brought],
    options: Options,
    folder: Path,
) -> Artefact:
    """Write model files and calibrations, still without card and golden answers."""
    schema, numeric = drafted.schema, profile([made.executor]).name
    training = drafted.rows if recipe.training is None else drafts.encoded(recipe.training, schema)
    inputs = building.training_inputs(training, drafted.rows, schema)
    shifted = _shifted(recipe, drafted, heads)
    manifest = Manifest(
        format=4,
        task=recipe.name,
        family=brought[0].family,
        members=made.members,
        samples=options.virtual or 1,
        schema=schema.features,
        metadata=schema.metadata,
        schema_hash=schema.hash,
        executor=made.executor,
        heads={plan.head.name: {numeric: _calibration(plan)} for plan in heads},
        outputs=tuple(plan.head for plan in heads),
        retention=dict(retention),
        training_range=building.training_range(training, schema),
        training_inputs=next(iter(inputs)),
        golden=GOLDEN,
        golden_tolerance=GOLDEN_TOLERANCE,
        sources=building.sources_by_role(
            {"calibration": _labelled(drafted.rows, heads), "shifted": None if shifted is None else shifted[0]},
            recipe.provenance,
        ),
        seeds=(folds.SEED,),
        training={"origin": "trained elsewhere; only uncertainty, thresholds and intervals were fitted here"},
        quality={},
        versions=building.versions("numpy", "onnx", "catboost"),
        files={},
    )
    golden = {"rows": building.golden_rows([drafted.rows, *([] if shifted is None else [shifted[0].features])], schema)}
    files: dict[str, bytes | Path] = {
        **inputs,
        **made.files,
        GOLDEN: npz.encode(golden),
        SCHEMA: drafts.text(drafted.draft, recipe.name).encode(),
    }
    return artefacts.write(folder, manifest, files)


def _finished(
    recipe: Recipe,
    drafted: Plan,
    heads: Sequence[HeadPlan],
    staged: Artefact,
    opened: RowExecutors,
    served: Predictives,
    check: verification.Check,
) -> Artefact:
    """Add golden answers, figures, card and replay set."""
    with np.load(staged.path(GOLDEN)) as recorded:
        rows = recorded["rows"]
    outputs = opened.replayed.outputs
    answers = dict(zip(outputs, opened.replayed.run({"rows": rows}, outputs), strict=True))
    golden = {"rows": rows} | {name: array for name, array in answers.items() if _repeatable(name, array)}
    shifted = _shifted(recipe, drafted, heads)
    quality = {
        "calibration": figures.quality(
            heads,
            {plan.head.name: plan.choice.chosen.predictive for plan in heads},
            {plan.head.name: plan.labels for plan in heads},
        )
    }
    if shifted is not None:
        quality["shifted"] = figures.quality(
            heads, _served(opened, shifted[0].features, lambda done: None), shifted[0].labels
        )
    manifest = msgspec.structs.replace(staged.manifest, quality=quality)
    text = card.text(manifest, manifest.outputs, cards.WORDS) + cards.sections(heads, check, manifest, recipe)
    files: dict[str, bytes | Path] = {name: staged.path(name) for name in manifest.files}
    files |= {GOLDEN: npz.encode(golden), CARD: text.encode()}
    complete = artefacts.write(staged.directory.with_name("complete"), manifest, files)
    if not recipe.replay or manifest.executor.layout == "trees":  # trees compute the same on every device
        return complete
    data = {"dev_in": _labelled(drafted.rows, heads)}
    if shifted is not None:
        data["dev_out"] = shifted[0]
    return row_artefact.with_replay_set(complete, data, replay_set.encode, recipe.provenance)


def _repeatable(name: str, array: NDArray[Any]) -> bool:
    """Return whether an output may be compared at start: differences of large numbers may not."""
    return not name.endswith((".varm", ".expected_entropy")) and bool(np.isfinite(array).all())


def _calibration(plan: HeadPlan) -> Calibration:
    several = len(plan.raw) > 1
    chosen, measures = plan.choice.chosen, MEASURES[plan.head.kind, several]
    own = plan.head.own_measure(several)
    others = tuple(name for name in measures if name != own)
    return building.calibrate(
        plan.head, chosen.predictive, plan.labels, ensemble=several, reference=measures, others=others
    )


def _served(opened: RowExecutors, rows: NDArray[np.float32], progress: Callable[[float], None]) -> Predictives:
    """Return what the artefact answers for rows [n, F]."""
    parts = []
    for start in range(0, len(rows), MOST_ROWS):
        parts.append(opened.plain(np.ascontiguousarray(rows[start : start + MOST_ROWS], np.float32)))
        progress(min((start + MOST_ROWS) / len(rows), 1.0))
    return opened.read(tuple(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))[0]


def _labelled(rows: NDArray[np.float32], heads: Sequence[HeadPlan]) -> Labelled:
    return Labelled(rows, {plan.head.name: plan.labels for plan in heads})


def _shifted(recipe: Recipe, drafted: Plan, heads: Sequence[HeadPlan]) -> tuple[Labelled, Table] | None:
    """Return the rows of another domain with their labels; None if there are none."""
    if (table := recipe.shifted) is None:
        return None
    rows = drafts.encoded(table, drafted.schema)
    return Labelled(rows, {plan.head.name: labels_of(plan.target, table) for plan in heads}), table


def _replace(new: Path, directory: Path) -> None:
    """Put a complete folder in the place of an older one."""
    import shutil

    old = directory.with_name(f"{directory.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    new.rename(directory)
    shutil.rmtree(old, ignore_errors=True)
