"""Build of a complete artefact from a trained vessel ensemble: graph, calibration, golden replies, model card.

Calibration uses the served graph itself, under its numeric profile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models import building, card, npz, row_artefact, training_labels
from models.artefact import Artefact, write
from models.building import CARD, GOLDEN, UNSTATED, Labelled, Provenance
from models.calibration import Calibration
from models.executors.device import CPU, Device, described
from models.executors.onnx import OnnxGraph
from models.manifest import Executor, Manifest
from models.predictive import Gaussian
from models.profile import profile
from models.schema import Schema
from models.tasks.vessel import spec
from models.tasks.vessel.artefact import replay_set
from models.tasks.vessel.artefact.ensemble import TrainedEnsemble
from models.tasks.vessel.artefact.export import export
from models.tasks.vessel.data.table import FEATURES
from models.tasks.vessel.inference import scoring
from models.tasks.vessel.spec import HEADS, POWER

if TYPE_CHECKING:
    from models.tasks.vessel.data.table import Table

GRAPH = "ensemble.onnx"
SPEED = "stw"
"""Column against which reviewers see power."""
TRAINED_ON = ("train", "low_speed")
"""Training tables, which are not evaluated."""
GOLDEN_TOLERANCE = 1e-3
"""Relative tolerance of golden replies, for varm, a small difference of large float32 numbers; mean and mvar repeat to
1e-6 on one machine.
"""


SIMULATED = Provenance("simulated by simulators/vessel of this repository", "CC0-1.0")


def build(
    ensemble: TrainedEnsemble,
    data: Mapping[str, Table],
    directory: Path,
    *,
    provenance: Provenance = UNSTATED,
    device: Device = CPU,
) -> Artefact:
    """Write the artefact into ``directory`` (replacing an older one there) and verify it.

    ``data`` may hold train (training range, fingerprint), low_speed (fingerprint), dev_in (calibration) and further
    labelled tables (quality figures). Without dev_in the artefact has neither calibration nor replay set and can be
    served only with a fixed threshold or deferring everything. The replay set consists of rows of dev_in and dev_out.

    Args:
        device: runs the calibration, under its numeric profile.
    """
    schema = Schema(FEATURES)
    content = export(ensemble)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / GRAPH
        path.write_bytes(content)
        graph = OnnxGraph(path, device=device)
        judged = {name: table for name, table in data.items() if name not in TRAINED_ON}
        chunk = scoring.rows_per_pass(ensemble.size)
        predicted = {name: scoring.predict(graph, table.features, chunk) for name, table in judged.items()}
        shown = [data[name].features for name in ("dev_in", "dev_out") if name in data]
        rows = building.golden_rows(shown, schema)
        golden = {"rows": rows, **_arrays(scoring.predict(graph, rows))}
    executor = Executor(kind="onnx", file=GRAPH)
    calibrated = {}
    if "dev_in" in data:
        calibrated[profile([executor], described(device)).name] = calibrate(predicted["dev_in"], data["dev_in"].power)
    fields, inputs = row_artefact.training_fields(data, schema)
    sections = []
    if train := data.get("train"):
        sections.append(training_labels.SECTION)
        inputs |= building.training_labels(train.features, {POWER.name: train.power}, SPEED, schema)
    manifest = Manifest(
        task="vessel",
        family=ensemble.family,
        members=ensemble.members,
        samples=ensemble.samples,
        sample_seed=ensemble.sample_seed if ensemble.samples > 1 else None,
        schema=schema.features,
        schema_hash=schema.hash,
        executor=executor,
        heads={POWER.name: calibrated},
        golden=GOLDEN,
        golden_tolerance=GOLDEN_TOLERANCE,
        sources=building.sources(
            {name: labelled(table) for name, table in data.items()}, provenance, {"low_speed": "training at low speed"}
        ),
        seeds=ensemble.seeds,
        training=ensemble.training,
        quality={name: scoring.figures(predicted[name], table.power).rounded() for name, table in judged.items()},
        versions=building.versions("numpy", "onnx", "torch"),
        files={},
        **fields,
    )
    files: dict[str, bytes | Path] = {
        **inputs,
        GRAPH: content,
        GOLDEN: npz.encode(golden),
        CARD: card.text(manifest, HEADS, spec.CARD, sections).encode(),
    }
    artefact = write(directory, manifest, files)
    return row_artefact.with_replay_set(artefact, data, replay_set.encode, provenance, device=device)


def calibrate(predictive: Gaussian, power: NDArray[Any]) -> Calibration:
    """Return retention, reference, intervals and expected error from in-domain labelled units."""
    ensemble = predictive.varm is not None
    reference = ("tvar", "mvar", "varm") if ensemble else (POWER.single_measure,)
    return building.calibrate(POWER, predictive, power, ensemble=ensemble, reference=reference)


def labelled(table: Table) -> Labelled:
    """Return a table as rows with labels."""
    return Labelled(table.features, {POWER.name: table.power}, table.time_id)


def _arrays(predictive: Gaussian) -> dict[str, NDArray[np.float32]]:
    arrays = {"mean": predictive.mean, "mvar": predictive.mvar, "varm": predictive.varm}
    return {name: array for name, array in arrays.items() if array is not None}
