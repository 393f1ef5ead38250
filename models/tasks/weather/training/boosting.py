"""Training of gradient-boosted trees for both heads: CatBoost with uncertainty (Shifts 1.0, C.4; Malinin et al. 2021).

Needs only the packages of serving. Finished members are kept in a folder, so that an interrupted run resumes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.building import Labelled, require_tables
from models.head import Head
from models.manifest import Executor
from models.schema import Schema
from models.tasks.weather.artefact.ensemble import VIRTUAL, Ensemble
from models.training.parallel_training import seeds as seeds_of
from models.training.training_folder import claim


@dataclass(frozen=True)
class Trees:
    """Size and learning rate of one head's models."""

    depth: int
    iterations: int
    rate: float


@dataclass(frozen=True)
class Settings:
    """Training settings; ``gaussian`` and ``categorical`` are for heads of these kinds."""

    gaussian: Trees
    categorical: Trees
    patience: int
    """Iterations without a better dev_in score after which a model stops; it is cut back to its best."""
    threads: int = 0
    """Number of training threads; 0: one per core."""
    borders: int = 254
    """Largest number of borders of a feature; equal for all members, so that they share one binarisation."""
    max_rows: int | None = None
    """Number of training rows, evenly spaced; None: all."""


FULL = Settings(Trees(8, 20_000, 0.3), Trees(6, 10_000, 0.4), patience=1000)
"""Settings of the papers (Shifts 1.0, C.4)."""
FAST = Settings(Trees(6, 64, 0.25), Trees(4, 64, 0.4), patience=40, borders=64, max_rows=200_000)
"""Settings for small files and minutes of training."""
PRESETS = {"fast": FAST, "full": FULL}


@dataclass(frozen=True, slots=True)
class Progress:
    """State after some iterations of a member."""

    head: str
    member: int
    members: int
    iteration: int
    iterations: int
    share: float
    """Share of the whole run that is done, 0 to 1."""
    eta: float
    """Seconds left if no model stops early."""

    def __str__(self) -> str:
        return (
            f"{self.head} member {self.member + 1}/{self.members} tree {self.iteration}/{self.iterations}  "
            f"ETA {self.eta:.0f} s"
        )


@dataclass
class _Clock:
    """Progress of a run."""

    work: float
    """Work of all members, in trees."""
    report: Callable[[Progress], None] | None
    done: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def say(self, head: str, member: int, members: int, iteration: int, iterations: int) -> None:
        if self.report is None:
            return
        share = (self.done + iteration) / self.work
        eta = (time.monotonic() - self.started) / max(share, 1e-9) * (1 - share)
        self.report(Progress(head, member, members, iteration, iterations, min(share, 1.0), eta))


def train(
    data: Mapping[str, Labelled],
    heads: Sequence[Head],
    schema: Schema,
    folder: Path,
    *,
    members: int = 10,
    seed: int = 0,
    settings: Settings = FAST,
    virtual: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Ensemble:
    """Train ``members`` models per head on ``data["train"]``, watching ``data["dev_in"]``.

    Args:
        folder: folder of finished models, which the same training reuses.
        virtual: whether to train for virtual ensembles (stochastic gradient Langevin boosting), one model per head.

    Raises:
        ValueError: there are no members, tables or labels of a head are missing, the folder belongs to another
            training, or CatBoost refuses the data.
    """
    seeds = seeds_of(seed, members)
    require_tables(data)
    claim(folder, _description(data, schema, settings, virtual))
    sizes = {head.name: getattr(settings, head.kind) for head in heads}
    clock = _Clock(work=sum(size.iterations for size in sizes.values()) * members, report=progress)
    models: dict[str, tuple[str, ...]] = {}
    for head in heads:
        pools = _pools(data, head, schema, settings)
        names = []
        for member, member_seed in enumerate(seeds):
            name = f"{head.name}-{member + 1}.cbm"
            if not (folder / name).exists():
                _fit(
                    pools,
                    head,
                    sizes[head.name],
                    settings,
                    member_seed,
                    virtual,
                    folder / name,
                    clock,
                    (member, members),
                )
            clock.done += sizes[head.name].iterations
            names.append(name)
        models[head.name] = tuple(names)
    return Ensemble(
        family="catboost_virtual" if virtual else "catboost",
        members=members,
        executors=(Executor(kind="catboost", layout="trees", models=models, virtual=VIRTUAL if virtual else 0),),
        files={name: folder / name for names in models.values() for name in names},
        seeds=seeds,
        training=_record(settings, heads, len(_chosen(data["train"], settings)), virtual),
        samples=VIRTUAL if virtual else 1,
    )


def _description(data: Mapping[str, Labelled], schema: Schema, settings: Settings, virtual: bool) -> dict[str, str]:
    """Return everything that determines the models of a seed."""
    import catboost

    return {
        "settings": repr(replace(settings, threads=0)),
        "virtual": str(virtual),
        "features": ", ".join(schema.names),
        "rows": data["train"].fingerprint,
        "dev": data["dev_in"].fingerprint,
        "catboost": catboost.__version__,
    }


def _pools(data: Mapping[str, Labelled], head: Head, schema: Schema, settings: Settings) -> tuple[Any, Any]:
    """Return training and dev rows, binarised with the same borders for all members."""
    from catboost import Pool

    train = data["train"]
    chosen = _chosen(train, settings)
    names = list(schema.names)
    pool = Pool(_rows(train.features[chosen]), _labels(head, train, chosen), feature_names=names)
    pool.quantize(border_count=settings.borders, feature_border_type="GreedyLogSum")
    dev = data["dev_in"]
    return pool, Pool(_rows(dev.features), _labels(head, dev, slice(None)), feature_names=names)


def _fit(
    pools: tuple[Any, Any],
    head: Head,
    size: Trees,
    settings: Settings,
    seed: int,
    virtual: bool,
    path: Path,
    clock: _Clock,
    place: tuple[int, int],
) -> None:
    import catboost

    class Say:
        """Callback of CatBoost after each tree."""

        def after_iteration(self, info: Any) -> bool:
            clock.say(head.name, *place, info.iteration, size.iterations)
            return True

    kind = catboost.CatBoostRegressor if head.kind == "gaussian" else catboost.CatBoostClassifier
    own: dict[str, Any] = (
        {"loss_function": "RMSEWithUncertainty", "eval_metric": "RMSE"}
        if head.kind == "gaussian"
        else {"loss_function": "MultiClass", "classes_count": head.classes}
    )
    model = kind(
        **own,
        depth=size.depth,
        iterations=size.iterations,
        learning_rate=size.rate,
        random_seed=seed,
        thread_count=settings.threads or -1,
        posterior_sampling=virtual,
        od_type="Iter",
        od_wait=settings.patience,
        allow_writing_files=False,
        verbose=False,
    )
    try:
        model.fit(pools[0], eval_set=pools[1], use_best_model=not virtual, callbacks=[Say()])
    except catboost.CatBoostError as error:
        raise ValueError(f"CatBoost cannot train {head.name}: {error}") from error
    part = path.with_suffix(".part")
    model.save_model(str(part))
    part.replace(path)


def _chosen(table: Labelled, settings: Settings) -> NDArray[np.intp]:
    count = len(table) if settings.max_rows is None else min(settings.max_rows, len(table))
    return np.linspace(0, len(table) - 1, count).astype(np.intp)


def _rows(features: NDArray[Any]) -> NDArray[np.float32]:
    return np.asfortranarray(features, np.float32)


def _labels(head: Head, table: Labelled, chosen: Any) -> NDArray[Any]:
    if head.name not in table.labels:
        raise ValueError(f"the table has no labels of the head {head.name}")
    return np.asarray(table.labels[head.name][chosen])


def _record(settings: Settings, heads: Sequence[Head], rows: int, virtual: bool) -> dict[str, float | int | str]:
    import catboost

    record: dict[str, float | int | str] = {"rows": rows, "borders": settings.borders, "patience": settings.patience}
    for head in heads:
        record |= {f"{head.name}.{name}": value for name, value in asdict(getattr(settings, head.kind)).items()}
    loss = "RMSEWithUncertainty, MultiClass"
    return record | {"loss": loss, "posterior_sampling": int(virtual), "catboost": catboost.__version__}
