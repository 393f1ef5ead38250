"""Verdict on a numeric profile: compares a measurement with the artefact's calibration, and makes a record."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.manifest import Manifest
from models.profile import Profile
from models.qualification import record
from models.qualification.packed import unpack
from models.qualification.record import Record
from models.replay import IN_DOMAIN, Scores
from models.tasks.rules import task_module
from services.qualification.measure import Measurement, Replayed
from services.qualification.tables import reference, reference_profile

ROUNDING = 1e-6
"""Relative difference of float32 scores that sum the same numbers in another order."""


@dataclass(frozen=True)
class Machine:
    """Machine that computes the scores."""

    profile: Profile
    libraries: Mapping[str, str]
    """Versions of driver and libraries by name."""
    cpu: str
    """Widest instruction set of the CPU, such as ``avx512_bf16``."""


def verdict(artefact: Artefact, machine: Machine, measurement: Measurement, known: Scores) -> Record:
    """Return the record of the measurement so far.

    Args:
        known: reference scores of all units, as ``models.replay.reference`` reads them.

    Raises:
        ValueError: nothing was measured, or a head or measure is missing.
    """
    done = measurement.scores()
    tables = {head: table for head, table in reference(artefact).items() if table is not None}
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
        units_of_measure=_units(artefact.manifest),
        in_domain=IN_DOMAIN,
        inputs="" if replay is None else replay.inputs,
        seconds=round(measurement.seconds, 3),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def agrees(again: Replayed, earlier: Record) -> bool:
    """Return True if the first units still have the recorded scores, at the record's last batch size.

    A difference is allowed up to the guard band of the measure's thresholds (for means: up to their largest recorded
    shift), or up to rounding in float32, relative to a score plus the median of its measure.

    Args:
        again: scores [1, k] by head and measure.
    """
    for head, by_measure in again.items():
        if head not in earlier.heads:  # never calibrated
            continue
        kept = earlier.heads[head]
        for name, values in by_measure.items():
            if name == record.MEAN:
                if kept.means is None:
                    return False
                packed, allowed = kept.means.means, [(0.0, kept.means.largest or 0.0)]
            elif name in kept.measures:
                measure = kept.measures[name]
                packed = measure.scores
                allowed = [(at.threshold, at.guard) for at in measure.thresholds if at.threshold is not None]
            else:
                return False
            if not _close(values[0], unpack(packed).scores[-1], allowed):
                return False
    return True


def _close(now: NDArray[np.float32], before: NDArray[np.float32], allowed: list[tuple[float, float]]) -> bool:
    """Return True if all scores are close to the recorded ones.

    Args:
        now: scores [k].
        before: scores [n] of all units.
        allowed: pairs of a score and its allowed difference.
    """
    finite = np.abs(before[np.isfinite(before)].astype(np.float64))
    middle = float(np.median(finite)) if len(finite) else 1.0
    sizes = ((abs(at) + middle, off) for at, off in allowed)
    widest = max((off / size for size, off in sizes if 0 < size < np.inf), default=0.0)
    first = before[: len(now)].astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(now - first) <= max(widest, ROUNDING) * (np.abs(first) + middle)
    return bool((near | (now == first) | (np.isnan(now) & np.isnan(first))).all())


def _of_batch(done: Replayed, number: int) -> Scores:
    return {head: {name: values[number] for name, values in scores.items()} for head, scores in done.items()}


def _units(manifest: Manifest) -> Mapping[str, str]:
    """Return the unit of the prediction by head, if artefact or task declare the heads."""
    spec = task_module(manifest.task, "spec")
    heads = manifest.outputs or (() if spec is None else spec.HEADS)
    return {head.name: head.unit for head in heads}
