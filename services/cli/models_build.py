"""``demur models build rows``: a served artefact from trained models and labelled rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click import Choice, argument, option

from models.building import Provenance
from models.manifest import ROWS
from services.cli.options import (
    Options,
    command,
    exclusive,
    json_option,
    many,
    no_replay_set_option,
    require,
    switch,
)
from services.cli.output import BadInput, CommandError, ProgressLine, print_json, table
from services.runtime import row_models
from services.runtime.settings import Settings

_INSTALL = "pip install 'demur[build]'"


@command(
    "build",
    example="demur models build rows --name churn --model churn.onnx --calibration labelled.parquet --target churned",
)
@argument("form", type=Choice((ROWS,)))
@option("--name", required=True, help="Name that the model is served under, such as churn.")
@many(
    "--model",
    required=True,
    metavar="FILE",
    help="Trained model: ONNX, CatBoost, LightGBM text, XGBoost JSON, or a folder of MLflow or MLServer. Several are "
    "the members of an ensemble; TARGET=FILE for models of one target each.",
)
@option("--calibration", type=Path, required=True, help="Labelled rows that the model was not trained on.")
@many("--target", required=True, metavar="COLUMN", help="Column of the labels; several in the order of the outputs.")
@option("--shifted", type=Path, help="Labelled rows of another domain, for figures and the replay set.")
@option("--training", type=Path, help="Rows of the training data, for range and density.  [default: --calibration]")
@option("--group", default="", metavar="COLUMN", help="Column whose rows belong together, such as a customer.")
@option("--retention", type=float, default=0.95, show_default=True, help="Share of in-domain rows to answer.")
@option("--risk", type=float, help="Largest share of unacceptable errors among answered rows, certified.")
@option(
    "--uncertainty",
    default="",
    help="ensemble, native, residual, conformal or confidence.  [default: the best by cross-validated R-AUC]",
)
@option("--outputs", metavar="WORDS", help="Meaning of the model's values, such as mean,variance.")
@option("--quantiles", metavar="LEVELS", help="Levels of the model's quantiles, such as 0.05,0.5,0.95.")
@option("--virtual", type=int, default=0, help="CatBoost: virtual members of each model.  [default: none]")
@option("--schema", type=Path, help="Columns and targets as you edited them; an earlier build wrote the draft.")
@switch("--draft", help="Write the draft of the schema, NAME.schema.toml, and stop.")
@option("--data-source", default="", metavar="TEXT", help="Origin of the data, for the model card.")
@option("--data-licence", default="", metavar="TEXT", help="Licence of the data, for the model card.")
@option("--out", type=Path, metavar="DIR", help="Also keep the artefact in this folder.")
@no_replay_set_option
@json_option
def build(options: Options) -> int:
    """Build, verify and store an artefact of any model of a table, and say how to serve it.

    Uncertainty, thresholds and intervals come from the labelled rows; the model itself stays as it is.
    """
    require(options, "retention", lambda value: 0 < value < 1, "above 0 and below 1")
    exclusive(options, "outputs", "quantiles")
    try:
        row_models.check_name(options.name)
    except ValueError as error:
        raise BadInput(f"--{error}") from error
    try:
        return _build(options)
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing; install what builds need: {_INSTALL}") from error


def _build(options: Options) -> int:
    from models.tasks.rows.artefact.build import Options as OutputOptions
    from models.tasks.rows.artefact.build import draft_of
    from models.tasks.rows.data import draft as drafts
    from models.tasks.rows.refusal import Refused
    from services.app.row_builds import build_and_store

    line = ProgressLine(f"building {options.name}")
    draft_file = Path(f"{options.name}.schema.toml")
    try:
        recipe = _recipe(options)
        groups = _groups(options.model, recipe.targets)
        outputs = OutputOptions(_words(options.outputs or ""), _levels(options.quantiles or ""), options.virtual)
        if options.draft:
            draft_file.write_text(drafts.text(draft_of(recipe, groups, outputs), options.name))
            print(f"{draft_file}: edit units, ranges and texts, and build with --schema {draft_file}")
            return 0
        home = Settings.read().home
        stored = build_and_store(recipe, groups, outputs, home, out=options.out, progress=line)
        built = stored.built
        if options.schema is None and not draft_file.exists():
            draft_file.write_text(drafts.text(built.plan.draft, options.name))
    except Refused as error:
        raise BadInput(str(error)) from error
    except OSError as error:
        raise CommandError(str(error)) from error
    heads = [_head(plan, built.retention[plan.head.name]) for plan in built.heads]
    if options.json:
        document = {"tag": stored.tag, "heads": heads, "fidelity": built.check.text, "serve": stored.serve}
        print_json(document | {"http_port": stored.http_port, "grpc_port": stored.grpc_port})
        return 0
    print(f"built {stored.tag}: {len(built.plan.schema)} columns, {len(built.plan.rows)} calibration rows")
    for plan, head in zip(built.heads, heads, strict=True):
        share = f"{head['retention']:g} of in-domain rows are answered"
        print(f"\n{head['name']}: {head['kind']}{head['classes']}; {share}")
        print("\n".join(f"  {row}" for row in _compared(plan)))
    print(f"\n{built.check.text}")
    if options.schema is None:
        print(f"columns, units and ranges as they were found: {draft_file}; edit it, and build with --schema")
    print(f"\nserve it:\n  {stored.serve}\nor with all others, by `demur up`:\n  demur models enable {options.name}")
    return 0


def _recipe(options: Options) -> Any:
    from models.tasks.rows.artefact.recipe import UNSTATED, Recipe
    from models.tasks.rows.data import draft as drafts
    from models.tasks.rows.data import table as tables

    return Recipe(
        name=options.name,
        calibration=tables.read(options.calibration),
        targets=tuple(options.target),
        shifted=None if options.shifted is None else tables.read(options.shifted),
        training=None if options.training is None else tables.read(options.training),
        group=options.group,
        retention=options.retention,
        risk=options.risk,
        uncertainty=options.uncertainty,
        draft=None if options.schema is None else drafts.read(options.schema),
        replay=not options.no_replay_set,
        provenance=Provenance(options.data_source or UNSTATED.description, options.data_licence or UNSTATED.licence),
    )


def _groups(models: Sequence[str], targets: tuple[str, ...]) -> list[Any]:
    """Return the opened models by the targets that they predict.

    Raises:
        BadInput: models with and without a target, or a target without a model.
    """
    from models.tasks.rows.artefact.members import Group
    from models.tasks.rows.sources import files

    by_target: dict[str, list[Path]] = {}
    for model in models:
        target, equals, path = model.partition("=")
        named = bool(equals) and target in targets and not Path(model).exists()
        by_target.setdefault(target if named else "", []).append(Path(path if named else model))
    if "" in by_target and len(by_target) > 1:
        raise BadInput("--model: either all are TARGET=FILE, or none is")
    if "" not in by_target and (without := [target for target in targets if target not in by_target]):
        raise BadInput(f"--model: target {without[0]} has no model; give {without[0]}=FILE")
    return [
        Group((target,) if target else targets, tuple(files.opened(path) for path in paths))
        for target, paths in by_target.items()
    ]


def _words(text: str) -> tuple[str, ...]:
    from models.tasks.rows.sources.onnx_source import WORDS

    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if unknown := [word for word in words if word not in WORDS]:
        raise BadInput(f"--outputs = {unknown[0]}: must be some of {', '.join(WORDS)}, with commas between")
    return words


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(level) for level in text.split(",") if level.strip())
    except ValueError as error:
        raise BadInput(f"--quantiles = {text}: must be numbers with commas between, such as 0.05,0.5,0.95") from error


def _head(plan: Any, retention: float) -> dict[str, Any]:
    chosen = plan.choice.chosen
    names = plan.head.class_names
    return {
        "name": plan.head.name,
        "kind": "classification" if names else "regression",
        "classes": f" into {', '.join(names)}" if names else "",
        "uncertainty": chosen.kind,
        "measure": chosen.measure,
        "temperature": chosen.temperature,
        "retention": retention,
        "compared": [
            {"uncertainty": one.kind, "measure": one.measure, "r_auc": one.figures.r_auc}
            for one in plan.choice.compared
        ],
        "r_auc_random": chosen.figures.r_auc_random,
        "r_auc_optimal": chosen.figures.r_auc_optimal,
    }


def _compared(plan: Any) -> list[str]:
    """Return the lines of a table of all kinds of uncertainty that apply."""
    from models.tasks.rows.uncertainty.choice import shown

    judged = plan.choice.chosen.figures
    rows = [
        (one.kind, one.measure, shown(one.figures.r_auc), "chosen" if one is plan.choice.chosen else "")
        for one in plan.choice.compared
    ]
    rows += [
        ("random order", "", shown(judged.r_auc_random), ""),
        ("best order", "", shown(judged.r_auc_optimal), ""),
    ]
    return table(("uncertainty", "measure", "R-AUC", ""), rows, left=(0, 1, 3))
