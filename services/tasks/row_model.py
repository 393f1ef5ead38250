"""Served models whose items are rows: the common part of tabular tasks, from executors to protocols."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from models import familiarity, training_labels
from models.artefact import Artefact, ArtefactError
from models.executors.golden import Probe
from models.familiarity import Familiarity
from models.npz import BadArrays
from models.rows.executors import RowExecutors
from models.training_labels import TrainingLabels
from services.qualification.tables import LiveIntervals
from services.request.contract import Description
from services.request.row_task import Packed, RowsRequest, RowTask
from services.runtime.settings import Settings
from services.transport import http
from services.transport.grpc.rows import RowMessages, row_binding
from services.transport.oip import rows as oip_rows
from services.transport.served_model import Parts, ServedModel

Decoded = TypeVar("Decoded")


def _familiarity(artefact: Artefact) -> Familiarity | None:
    """Return the density of the training inputs; None if the artefact does not have it.

    Raises:
        ArtefactError: its file cannot be used.
    """
    if not (file := artefact.manifest.training_inputs):
        return None
    return _decoded(artefact, file, lambda content: familiarity.decode(content, len(artefact.schema)))


def _training_labels(artefact: Artefact) -> dict[str, TrainingLabels]:
    """Return the labels of some training rows by head; none if the artefact does not have them.

    Raises:
        ArtefactError: their file cannot be used.
    """
    if training_labels.FILE not in artefact.manifest.files:
        return {}
    return _decoded(artefact, training_labels.FILE, lambda content: training_labels.decode(content, artefact.schema))


def _decoded(artefact: Artefact, file: str, decode: Callable[[bytes], Decoded]) -> Decoded:
    path = artefact.path(file)
    try:
        return decode(path.read_bytes())
    except BadArrays as error:
        raise ArtefactError(f"{path}: {error}") from error


def row_model(
    artefact: Artefact,
    settings: Settings,
    parts: Parts,
    model: RowExecutors,
    *,
    service: str,
    messages: RowMessages,
) -> ServedModel:
    """Assemble the served model from a verified artefact.

    Args:
        service: full name of the gRPC service, e.g. ``demur.v1.VesselService``.
    """
    manifest = artefact.manifest
    trained = manifest.training_range
    description = Description(
        task=manifest.task,
        model=artefact.tag,
        schema=artefact.schema,
        heads=model.heads,
        max_rows=settings.max_rows,
        trained_lower=() if trained is None else trained.lower,
        trained_upper=() if trained is None else trained.upper,
        training_labels=_training_labels(artefact),
    )
    task = RowTask(
        description,
        model.plain,
        model.with_members,
        model.read,
        member_values=model.member_values,
        familiarity=_familiarity(artefact),
    )
    pipeline = parts.pipeline(task)
    intervals = LiveIntervals(parts.calibrations)

    golden = artefact.path(manifest.golden)

    probe = Probe(model.replayed, golden, parts.golden_tolerance, manifest.golden_tolerance)

    def examples() -> Iterator[RowsRequest]:
        schema = artefact.schema
        with np.load(golden) as recorded:
            rows: NDArray[np.float32] = recorded["rows"]
        fitting = ((rows >= schema.lower) & (rows <= schema.upper)) | (np.isnan(rows) & schema.nullable)
        for position, values in schema.enumerated:
            fitting[:, position] &= np.isin(rows[:, position], values)
        possible = rows[fitting.all(axis=1)]
        if not len(possible):
            return
        quantum = model.plain.quantum_rows
        for size in sorted({1, 7, 64, quantum, 2 * quantum + 1}):
            if size <= settings.max_rows:
                packed = np.resize(possible, (size, rows.shape[1])).astype("<f4").tobytes()
                for members in (False, True):
                    yield RowsRequest(Packed(size, packed), members=members)

    def warm_up() -> None:
        with np.load(golden) as recorded:
            rows: NDArray[np.float32] = recorded["rows"]
        model.prepare(rows)
        probe()
        model.plain.measure(rows)
        model.with_members.measure(rows)

    return ServedModel(
        pipeline=pipeline,
        description=description,
        grpc=row_binding(
            service,
            messages,
            description,
            pipeline,
            intervals,
            quantum_rows=lambda: model.plain.quantum_rows,
            window_chunks=settings.stream_window_chunks,
        ),
        http=http.row_binding(description, intervals),
        oip=oip_rows.row_binding(description, intervals, ensemble=manifest.ensemble),
        intervals=intervals,
        warm_up=warm_up,
        examples=examples,
        probe=probe,
    )
