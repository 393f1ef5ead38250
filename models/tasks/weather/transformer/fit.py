"""Ensemble of networks trained on labelled tables, ready to be joined, calibrated and written."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from models.building import Labelled as Rows
from models.building import require_tables
from models.manifest import Executor
from models.schema import Schema
from models.tasks.weather.artefact.ensemble import Ensemble
from models.tasks.weather.spec import CLASSES, PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer import train
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.export import export
from models.tasks.weather.transformer.scaling import TrainingRows
from models.tasks.weather.transformer.settings import PRESETS
from models.training.progress import ignore
from models.workbench import Progress

GRAPH = "transformer.onnx"


def ensemble(
    data: Mapping[str, Rows],
    schema: Schema,
    folder: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    samples: int = 1,
    most_rows: int | None = None,
    progress: Progress = ignore,
) -> Ensemble:
    """Train networks on ``data["train"]``, watching ``data["dev_in"]``, and export them.

    Args:
        folder: folder of finished members, which are reused.
        samples: frozen dropout masks of each member; 1: no masks.
        most_rows: number of training rows, evenly spaced; None: all.

    Raises:
        ValueError: tables or labels are missing, or there are no members.
        FloatingPointError: training diverged.
    """
    require_tables(data)
    trained = train.train(
        labelled(data["train"], most_rows),
        labelled(data["dev_in"]),
        settings=PRESETS[preset],
        members=members,
        seed=seed,
        classes=CLASSES if PRECIPITATION.name in data["train"].labels else None,
        sentinels=tuple((place, float(value)) for place, value in schema.sentinels),
        checkpoint=folder,
        progress=lambda state: progress(state.share, str(state)),
    )
    return exported(trained.sampled(samples, seed) if samples > 1 else trained)


def exported(trained: TrainedEnsemble) -> Ensemble:
    """Export trained networks as an ensemble of one graph."""
    return Ensemble(
        family=trained.family,
        members=trained.members,
        executors=(Executor(kind="onnx", file=GRAPH, layout="split"),),
        files={GRAPH: export(trained)},
        seeds=trained.seeds,
        training={name: int(value) if isinstance(value, bool) else value for name, value in trained.training.items()},
        samples=trained.samples,
        sample_seed=trained.sample_seed if trained.samples > 1 else None,
    )


def labelled(table: Rows, most_rows: int | None = None) -> TrainingRows:
    """Return rows in the form for training.

    Raises:
        ValueError: the labels do not fit.
    """
    count = len(table) if most_rows is None else min(most_rows, len(table))
    chosen = np.linspace(0, len(table) - 1, count).astype(np.intp)
    labels = {name: np.asarray(values)[chosen] for name, values in table.labels.items()}
    return TrainingRows(
        np.ascontiguousarray(table.features[chosen], np.float32),
        labels.get(TEMPERATURE.name),
        labels.get(PRECIPITATION.name),
    )
