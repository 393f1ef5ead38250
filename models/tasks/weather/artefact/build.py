"""Build of a complete artefact from a trained weather ensemble: files, calibration, golden replies, model card.

Calibration uses the code that serves, under its numeric profile. The schema is the artefact's own: the official 123
features, or any other set of forecasts with units and ranges.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models import building, card, npz, row_artefact
from models.artefact import Artefact, write
from models.building import CARD, GOLDEN, UNSTATED, Labelled, Provenance
from models.calibration import Calibration
from models.executors.device import CPU, Device, described
from models.executors.members import MemberExecutor
from models.executors.reduced import Reduced
from models.head import Head
from models.manifest import Manifest
from models.profile import profile
from models.rows import members as of_rows
from models.rows import replay_set
from models.schema import Schema
from models.tasks.weather import spec
from models.tasks.weather.artefact.ensemble import Ensemble
from models.tasks.weather.inference import scoring, serving

GOLDEN_TOLERANCE = 2e-3
"""Relative tolerance of golden replies, for small differences of large float32 numbers (varm, epkl) in graphs; means
repeat to 1e-6 on one machine.
"""
MEASURES = {
    ("gaussian", True): ("tvar", "varm", "mvar", "epkl"),
    ("gaussian", False): ("variance",),
    ("categorical", True): ("confidence", "entropy", "mi", "epkl", "rmi"),
    ("categorical", False): ("entropy", "confidence"),
}
"""Measures that a policy may defer by, for ensembles and single models (Shifts 1.0, Table 11)."""


def build(
    ensemble: Ensemble,
    data: Mapping[str, Labelled],
    directory: Path,
    *,
    schema: Schema,
    heads: Sequence[Head] = spec.HEADS,
    provenance: Provenance = UNSTATED,
    device: Device = CPU,
    progress: Callable[[float, str], None] = lambda done, what: None,
) -> Artefact:
    """Write the artefact into ``directory`` (replacing an older one there) and verify it.

    ``data`` may hold train (training range, fingerprint), dev_in (calibration) and further labelled tables (quality
    figures). Without dev_in nothing is calibrated: every unit is deferred until a threshold is set. The replay set
    consists of rows of dev_in and dev_out.

    Args:
        heads: heads of the task that the ensemble predicts.
        device: runs the calibration, under its numeric profile.

    Raises:
        ArtefactError: a file of the ensemble is damaged, or not made for the schema or the heads.
    """
    with tempfile.TemporaryDirectory() as scratch:
        members = of_rows.opened(_placed(ensemble, Path(scratch)), ensemble.executors, schema, heads, device=device)
        judged = {name: table for name, table in data.items() if name != "train"}
        predictions = {}
        for number, (name, table) in enumerate(judged.items()):
            predictions[name] = scoring.predict(
                members,
                heads,
                table.features,
                ensemble=ensemble.several,
                progress=partial(_tell, progress, number, len(judged), name),
            )
        golden = _golden(members, heads, ensemble, data, schema)
    calibrated: dict[str, dict[str, Calibration]] = {head.name: {} for head in heads}
    if "dev_in" in data:
        for head in heads:
            labels = data["dev_in"].labels[head.name]
            calibrated[head.name][profile(ensemble.executors, described(device)).name] = _calibration(
                head, predictions["dev_in"][head.name], labels, ensemble.several
            )
    fields, inputs = row_artefact.training_fields(data, schema)
    manifest = Manifest(
        task="weather",
        family=ensemble.family,
        members=ensemble.members,
        samples=ensemble.samples,
        sample_seed=ensemble.sample_seed,
        schema=schema.features,
        metadata=schema.metadata,
        schema_hash=schema.hash,
        executor=ensemble.executors[0],
        joined=tuple(ensemble.executors[1:]),
        heads=calibrated,
        golden=GOLDEN,
        golden_tolerance=GOLDEN_TOLERANCE,
        sources=building.sources(data, provenance),
        seeds=ensemble.seeds,
        training=dict(ensemble.training),
        quality={
            name: scoring.quality(heads, predictions[name], table.labels, ensemble.several)
            for name, table in judged.items()
        },
        versions=building.versions("numpy", "catboost"),
        files={},
        **fields,
    )
    text = card.text(manifest, tuple(heads), spec.CARD)
    files: dict[str, bytes | Path] = {**inputs, **ensemble.files, GOLDEN: npz.encode(golden), CARD: text.encode()}
    artefact = write(directory, manifest, files)
    return row_artefact.with_replay_set(artefact, data, replay_set.encode, provenance, device=device)


def with_quality(artefact: Artefact, quality: Mapping[str, Mapping[str, float]]) -> Artefact:
    """Rewrite an artefact in place with other quality figures and a matching model card.

    Model files, calibration, golden rows and everything else of the manifest stay as they are, so it predicts and
    defers as before under a new version.

    Args:
        quality: figures by name, by data set; replaces all figures of the manifest.
    """
    manifest = msgspec.structs.replace(artefact.manifest, quality={name: dict(row) for name, row in quality.items()})
    files: dict[str, bytes | Path] = {name: artefact.path(name) for name in manifest.files}
    text = card.text(manifest, serving.heads(artefact), spec.CARD)
    return write(artefact.directory, manifest, {**files, CARD: text.encode()})


def _tell(progress: Callable[[float, str], None], number: int, tables: int, name: str, done: float) -> None:
    progress((number + done) / tables, name)


def _placed(ensemble: Ensemble, scratch: Path) -> Callable[[str], Path]:
    """Write files given as content to ``scratch``, and return a function from a file's name to its path."""
    for name, content in ensemble.files.items():
        if isinstance(content, bytes):
            (scratch / name).write_bytes(content)
    return lambda name: file if isinstance(file := ensemble.files[name], Path) else scratch / name


def _golden(
    members: MemberExecutor,
    heads: Sequence[Head],
    ensemble: Ensemble,
    data: Mapping[str, Labelled],
    schema: Schema,
) -> dict[str, NDArray[Any]]:
    shown = [data[name].features for name in ("dev_in", "dev_out") if name in data]
    rows = building.golden_rows(shown, schema)
    reduced = Reduced(members, heads, ensemble=ensemble.several)
    kept = [name for name in reduced.outputs if not name.endswith((".varm", ".epkl", ".expected_log"))]
    answers = reduced.run({"rows": rows}, tuple(kept))
    finite = {name: array for name, array in zip(kept, answers, strict=True) if np.isfinite(array).all()}
    return {"rows": rows, **finite}


def _calibration(head: Head, predictive: Any, labels: NDArray[Any], several: bool) -> Calibration:
    measures = MEASURES[head.kind, several]
    own = head.own_measure(several)
    others = tuple(name for name in measures if name != own)
    return building.calibrate(head, predictive, labels, ensemble=several, reference=measures, others=others)
