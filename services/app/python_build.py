"""``demur.build``: a served artefact from a trained model in memory and labelled rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.building import Provenance
from models.tasks.rows.artefact.build import Options
from models.tasks.rows.artefact.members import Group
from models.tasks.rows.artefact.recipe import UNSTATED, Recipe
from models.tasks.rows.data import draft as drafts
from models.tasks.rows.data import frames
from models.tasks.rows.data.table import Column, Table
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources import python_models
from services.app.row_builds import Progress, StoredModel, build_and_store
from services.runtime.settings import Settings

_GROUP = "group of rows"


def build(
    model: Any,
    X: Any,
    y: Any,
    *,
    name: str,
    target: str = "",
    shifted: tuple[Any, Any] | None = None,
    training: Any = None,
    groups: Any = None,
    retention: float = 0.95,
    risk: float | None = None,
    uncertainty: str = "",
    outputs: Sequence[str] = (),
    quantiles: Sequence[float] = (),
    virtual: int = 0,
    schema: Path | str | None = None,
    data_source: str = "",
    data_licence: str = "",
    replay_set: bool = True,
    out: Path | str | None = None,
    home: Path | str | None = None,
    progress: Progress = lambda done, what: None,
) -> "BuiltModel":
    """Build, verify and store an artefact of a trained model, which ``demur serve`` then serves.

    Models are converted to ONNX, or kept as CatBoost files; no pickle is written or read. What the artefact answers is
    compared with the model's own predictions.

    Args:
        model: fitted model of scikit-learn (also a pipeline), LightGBM, XGBoost, CatBoost, PyTorch or MAPIE; a list of
            them as members of an ensemble; or a mapping from target to one of both.
        X: rows that the model was not trained on, as the model takes them: a data frame of pandas or polars, a mapping
            of columns, or an array [n, F].
        y: labels of the rows: [n], or a data frame or array [n, T] of several targets.
        name: name that the model is served under, such as ``churn``.
        target: name of the target; empty for the name of ``y``.
        shifted: rows and labels of another domain, for figures and the replay set.
        training: rows of the training data, for range and density of inputs; None for ``X``.
        groups: values [n] that are equal for rows that belong together, such as customers.
        retention: share of in-domain rows to answer, 0 to 1.
        risk: largest share of unacceptable errors among answered rows, certified; replaces ``retention``.
        uncertainty: ensemble, native, residual, conformal or confidence; empty for the best by R-AUC.
        outputs: meaning of the model's values: mean, variance, deviation, log_variance, probabilities, logits.
        quantiles: levels of the quantiles that the model's values are.
        virtual: number of virtual members of each model of CatBoost; 0 for none.
        schema: file of columns and targets, as an earlier build wrote and you edited it.
        data_source: origin of the data, for the model card.
        data_licence: licence of the data, for the model card.
        replay_set: whether inputs become part of an artefact that may run on other devices.
        out: folder that also keeps the artefact.
        home: home directory of the installation; None for that of the settings.
        progress: called with the finished share, 0 to 1, and what is being done.

    Raises:
        Refused: the model, the data or an option cannot be used; the message says which, and what to do.
        ValueError: the name cannot be used.
    """
    labelled = _labelled(model, X, y, target, "X")
    targets = tuple(labelled.targets)
    table = labelled.table
    if groups is not None:
        table = replace(table, columns={**table.columns, _GROUP: _group(groups, len(table))})
    models = _by_targets(model, targets)
    opened = [
        Group(names, tuple(_brought(one, X, table, labelled.columns) for one in members))
        for names, members in models.items()
    ]
    recipe = Recipe(
        name=name,
        calibration=table,
        targets=targets,
        shifted=None if shifted is None else _labelled(model, *shifted, target, "shifted").table,
        training=None if training is None else frames.table(training, "training", labelled.columns),
        group="" if groups is None else _GROUP,
        retention=retention,
        risk=risk,
        uncertainty=uncertainty,
        draft=None if schema is None else drafts.read(Path(schema)),
        replay=replay_set,
        provenance=Provenance(data_source or UNSTATED.description, data_licence or UNSTATED.licence),
    )
    options = Options(tuple(outputs), tuple(quantiles), virtual)
    place = Settings.read().home if home is None else Path(home)
    return BuiltModel(
        build_and_store(recipe, opened, options, place, out=None if out is None else Path(out), progress=progress)
    )


@dataclass(frozen=True)
class BuiltModel:
    """An artefact in the model store, and how it ranks and answers its calibration rows."""

    stored: StoredModel

    @property
    def name(self) -> str:
        """Name that the model is served under."""
        return self.stored.name

    @property
    def tag(self) -> str:
        """Name and version in the model store."""
        return self.stored.tag

    @property
    def serve(self) -> str:
        """Command that serves it."""
        return self.stored.serve

    @property
    def card(self) -> str:
        """Model card, as Markdown."""
        return self.stored.built.card

    @property
    def uncertainty(self) -> Mapping[str, str]:
        """Chosen kind of uncertainty by head."""
        return {plan.head.name: plan.choice.chosen.kind for plan in self.stored.built.heads}

    @property
    def quality(self) -> Mapping[str, Mapping[str, float]]:
        """Figures by name, by data set, as in the model card."""
        return self.stored.built.artefact.manifest.quality

    def __str__(self) -> str:
        kinds = ", ".join(f"{head}: {kind}" for head, kind in self.uncertainty.items())
        return f"{self.tag} ({kinds})\n{self.stored.built.check.text}\nserve it: {self.serve}"


@dataclass(frozen=True)
class _Labelled:
    table: Table
    columns: tuple[str, ...]
    targets: tuple[str, ...]


def _labelled(model: Any, X: Any, y: Any, target: str, source: str) -> _Labelled:
    """Return rows and labels as one table."""
    rows = frames.table(X, source, _names(model))
    labels = frames.labels(y, "y", target)
    if len(rows) != len(labels):
        raise Refused(f"{source} has {len(rows)} rows, and y has {len(labels)}: must be as many")
    if twice := [name for name in labels.columns if name in rows.columns]:
        raise Refused(f"y: the target {twice[0]} is a column of {source} too; a model must not see its label")
    return _Labelled(Table({**rows.columns, **labels.columns}, source), tuple(rows.columns), tuple(labels.columns))


def _names(model: Any) -> tuple[str, ...]:
    """Return the names of an array's columns, where the model knows them."""
    one = next(iter(model.values())) if isinstance(model, Mapping) else model
    one = one[0] if isinstance(one, Sequence) and one else one
    return tuple(str(name) for name in getattr(one, "feature_names_in_", ()))


def _by_targets(model: Any, targets: tuple[str, ...]) -> Mapping[tuple[str, ...], tuple[Any, ...]]:
    """Return the members by the targets that they predict."""
    if isinstance(model, Mapping):
        if missing := [name for name in targets if name not in model]:
            raise Refused(f"model: target {missing[0]} has no model; the mapping has {', '.join(map(str, model))}")
        return {(name,): _members(model[name]) for name in targets}
    return {targets: _members(model)}


def _members(model: Any) -> tuple[Any, ...]:
    members = tuple(model) if isinstance(model, list | tuple) else (model,)
    if not members:
        raise Refused("model = []: must be a model, or a list of at least one")
    return members


def _brought(model: Any, X: Any, table: Table, columns: tuple[str, ...]) -> Any:
    converted = python_models.converted(model, table, columns)
    expected = python_models.predictions(model, _as_taken(model, X, table, columns))
    return replace(converted, names=converted.names or columns, expected=expected)


def _as_taken(model: Any, X: Any, table: Table, columns: tuple[str, ...]) -> Any:
    """Return rows as the model takes them, with numbers in the single precision that a service receives."""
    named = hasattr(model, "feature_names_in_") or any(table[name].text for name in columns)
    if not named:
        return np.column_stack([table[name].values for name in columns]).astype(np.float32)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    elif isinstance(X, Mapping):
        import pandas

        X = pandas.DataFrame(X)
    if hasattr(X, "dtypes") and hasattr(X, "astype"):
        return X.astype({name: np.float32 for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") == "f"})
    return np.asarray(X, np.float32)


def _group(groups: Any, count: int) -> Column:
    values: NDArray[Any] = np.array([str(value) for value in groups], object)
    if len(values) != count:
        raise Refused(f"groups has {len(values)} values, and X has {count} rows: must be as many")
    return Column(values)
