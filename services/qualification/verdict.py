"""From a measurement to a record: what a machine computes beside what the artefact was calibrated with."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.profile import Profile
from models.qualification import record
from models.qualification.packed import unpack
from models.qualification.record import Record
from models.replay import IN_DOMAIN, Scores
from services.qualification.measure import Measurement, Replayed
from services.qualification.tables import reference, reference_profile


@dataclass(frozen=True)
class Machine:
    """Machine that computes the scores."""

    profile: Profile
    libraries: Mapping[str, str]
    """Versions of driver and libraries by name."""
    cpu: str
    """Widest instruction set of the CPU, such as ``avx512_bf16``."""


def verdict(artefact: Artefact, machine: Machine, measurement: Measurement, known: Scores) -> Record:
    """Return the record of what was measured so far.

    Args:
        known: reference scores of all units, as ``models.replay.reference`` reads them.

    Raises:
        ValueError: nothing was measured, or a head or measure is missing.
    """
    done = measurement.scores()
    tables = {head: found for head, found in reference(artefact).items() if found is not None}
    replay = artefact.manifest.replay
    return record.qualify(
        tables,
        {head: {name: values[: measurement.done] for name, values in known[head].items()} for head in tables},
        [_of_batch(done, number) for number in range(len(measurement.batches))],
        artefact=artefact.version,
        tag=artefact.tag,
        profile=machine.profile,
        reference_profile=reference_profile(artefact),
        batches=measurement.batches,
        libraries=machine.libraries,
        driver=machine.libraries.get("driver", ""),
        cpu=machine.cpu,
        units_of_measure=_units(artefact.manifest.task),
        in_domain=IN_DOMAIN,
        inputs="" if replay is None else replay.inputs,
        seconds=round(measurement.seconds, 3),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def agrees(again: Replayed, found: Record, tolerance: float) -> bool:
    """Return whether the first units have the scores again that a record tells, at its last batch size.

    Args:
        again: scores [1, k] by head and measure.
        tolerance: largest difference, relative to a score plus the median of its measure.
    """
    for head, by_measure in again.items():
        if head not in found.heads:  # never calibrated
            continue
        kept = found.heads[head]
        for name, values in by_measure.items():
            if name == record.MEAN:
                packed = None if kept.means is None else kept.means.means
            else:
                packed = kept.measures[name].scores if name in kept.measures else None
            if packed is None:
                return False
            if not _close(values[0], unpack(packed).scores[-1, : values.shape[1]], tolerance):
                return False
    return True


def _close(now: NDArray[np.float32], before: NDArray[np.float32], tolerance: float) -> bool:
    size = np.abs(before.astype(np.float64))
    difference = np.abs(now.astype(np.float64) - before)
    return bool((difference <= tolerance * (size + np.median(size))).all())


def _of_batch(done: Replayed, number: int) -> Scores:
    return {head: {name: values[number] for name, values in found.items()} for head, found in done.items()}


def _units(task: str) -> Mapping[str, str]:
    """Head to the unit of its prediction, of a task that says so."""
    try:
        spec = importlib.import_module(f"models.tasks.{task}.spec")
    except ModuleNotFoundError:
        return {}
    return {head.name: head.unit for head in spec.HEADS}
