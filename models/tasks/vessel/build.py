"""Makes a complete artefact of a trained vessel ensemble: graph, calibration, golden replies, model card.

Everything that is calibrated is computed from the served graph itself, under its numeric profile.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from models import calibration, npz, uncertainty
from models.artefact import Artefact, Executor, Manifest, Range, Source, write
from models.assessment.errors import squared_error
from models.calibration import Calibration
from models.executors.onnx import OnnxGraph
from models.predictive import Gaussian
from models.schema import Schema
from models.tasks.vessel import card, scoring
from models.tasks.vessel.ensemble import TrainedEnsemble
from models.tasks.vessel.export import export
from models.tasks.vessel.features import FEATURES
from models.tasks.vessel.spec import POWER

if TYPE_CHECKING:
    from models.tasks.vessel.simulator.dataset import Table

PROFILE = "cpu-fp32-stacked"
GRAPH, GOLDEN, CARD = "ensemble.onnx", "golden.npz", "MODEL_CARD.md"
RANGE_LEVEL = 1e-4
"""Training range: from this quantile to one minus it."""
GOLDEN_TOLERANCE = 1e-3
"""Set by varm, a small difference of large float32 numbers; mean and mvar repeat to 1e-6 on one machine."""


@dataclass(frozen=True)
class Provenance:
    """Where the data came from."""

    description: str
    licence: str


UNSTATED = Provenance("labelled files given to training", "not stated")
SIMULATED = Provenance("simulated by models/tasks/vessel/simulator of this repository", "CC0-1.0")


def build(
    ensemble: TrainedEnsemble,
    data: Mapping[str, Table],
    directory: Path,
    *,
    provenance: Provenance = UNSTATED,
) -> Artefact:
    """Writes the artefact into ``directory`` (replacing an older one there) and verifies it.

    ``data`` may hold train (training range, fingerprint), dev_in (calibration) and further labelled
    tables (quality figures). Without dev_in the artefact has no calibration and can be served only with a
    fixed threshold or deferring everything.
    """
    schema = Schema(FEATURES)
    content = export(ensemble)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / GRAPH
        path.write_bytes(content)
        graph = OnnxGraph(path)
        judged = {name: table for name, table in data.items() if name != "train"}
        chunk = scoring.rows_per_pass(ensemble.size)
        predicted = {name: scoring.predict(graph, table.features, chunk) for name, table in judged.items()}
        rows = golden_rows(data, schema)
        golden = {"rows": rows, **_arrays(scoring.predict(graph, rows))}
    calibrated = {}
    if "dev_in" in data:
        calibrated[PROFILE] = calibrate(predicted["dev_in"], data["dev_in"].power)
    manifest = Manifest(
        task="vessel",
        family=ensemble.family,
        members=ensemble.members,
        samples=ensemble.samples,
        sample_seed=ensemble.sample_seed if ensemble.samples > 1 else None,
        schema=schema.features,
        schema_hash=schema.hash,
        executor=Executor(kind="onnx", file=GRAPH),
        heads={POWER.name: calibrated},
        training_range=training_range(data["train"].features) if "train" in data else None,
        golden=GOLDEN,
        golden_tolerance=GOLDEN_TOLERANCE,
        sources=_sources(data, provenance),
        seeds=ensemble.seeds,
        training=ensemble.training,
        quality={name: scoring.figures(predicted[name], table.power).rounded() for name, table in judged.items()},
        versions=_versions(),
        files={},
    )
    files = {GRAPH: content, GOLDEN: npz.encode(golden), CARD: card.text(manifest, POWER).encode()}
    return write(directory, manifest, files)


def calibrate(predictive: Gaussian, power: NDArray[Any]) -> Calibration:
    """Retention, reference, intervals and expected error from in-domain labelled units."""
    single = predictive.varm is None
    measure = POWER.single_measure if single else POWER.ensemble_measure
    recorded = (measure,) if single else ("tvar", "mvar", "varm")
    scores = uncertainty.score(predictive, measure)
    return Calibration(
        retention=calibration.retention_table(measure, scores),
        reference={name: calibration.reference_quantiles(uncertainty.score(predictive, name)) for name in recorded},
        intervals=calibration.interval_table(predictive.mean, predictive.tvar, power),
        expected_error=calibration.expected_error(measure, scores, squared_error(power, predictive.mean)),
    )


def training_range(features: NDArray[Any]) -> Range:
    """Quantiles ``RANGE_LEVEL`` and 1 - ``RANGE_LEVEL`` of training inputs [N, F]."""
    lower, upper = np.quantile(features, (RANGE_LEVEL, 1 - RANGE_LEVEL), axis=0)
    return Range(tuple(map(float, lower)), tuple(map(float, upper)))


def golden_rows(data: Mapping[str, Table], schema: Schema, count: int = 48) -> NDArray[np.float32]:
    """Inputs to replay, float32 [G, F]: rows of the dev tables, and rows at the edge of what is possible."""
    middle = (schema.lower + schema.upper) / 2
    parts = [middle[None, :]]
    for name in ("dev_in", "dev_out"):
        if name in data:
            features = np.asarray(data[name].features, np.float32)
            parts.append(features[np.linspace(0, len(features) - 1, count // 2).astype(int)])
    typical = np.median(np.concatenate(parts[1:] or parts), axis=0)
    edge = np.repeat(typical[None, :], 16, axis=0).astype(np.float32)
    for index, column in enumerate(np.linspace(0, len(schema) - 1, 16).astype(int)):
        edge[index, column] = (schema.lower, schema.upper)[index % 2][column]
    return np.concatenate([*parts, edge]).astype(np.float32)


def fingerprint(table: Table) -> str:
    """sha256 over time_id, features and power of a table (little-endian float64, C order)."""
    digest = hashlib.sha256()
    for array in (table.time_id, table.features, table.power):
        digest.update(np.ascontiguousarray(array, "<f8").tobytes())
    return digest.hexdigest()


def _sources(data: Mapping[str, Table], provenance: Provenance) -> tuple[Source, ...]:
    roles = {"train": "training", "dev_in": "calibration and early stopping"}
    known = tuple(
        Source(role, provenance.description, provenance.licence, fingerprint(data[name]), len(data[name].power))
        for name, role in roles.items()
        if name in data
    )
    return known or (Source("training", provenance.description, provenance.licence, "unknown", 0),)


def _arrays(predictive: Gaussian) -> dict[str, NDArray[np.float32]]:
    arrays = {"mean": predictive.mean, "mvar": predictive.mvar, "varm": predictive.varm}
    return {name: array for name, array in arrays.items() if array is not None}


def _versions() -> dict[str, str]:
    """Versions of what made the artefact; ONNX Runtime comes under the names of two distributions."""
    found = {name: importlib.metadata.version(name) for name in ("numpy", "onnx", "torch")}
    return found | {"onnxruntime": onnxruntime.__version__}
