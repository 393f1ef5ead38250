"""Qualification of a task's default artefact by replay on the device."""

import time
from collections.abc import Mapping
from typing import Any

from benchmarks.gpu.parts import PartFailed, Setting
from models import artefact, replay
from models.artefact import Artefact
from models.qualification.record import Record
from services.app.assembly import qualify
from services.app.reference import folder
from services.qualification.measure import PIECE_UNITS, Measurement
from services.qualification.tables import own
from services.runtime.settings import Settings
from services.tasks import DEFAULT_MODELS

QUICK_UNITS = 8
"""Number of units that are timed with ``--quick``."""
TIMED_SECONDS = 20.0
"""Time limit for timing each batch size, s; the verdict replays all units, however long that takes."""


def run(setting: Setting, *, task: str) -> dict[str, Any]:
    """Return the verdict with its numbers, and the time of each batch size.

    Raises:
        PartFailed: the thresholds do not hold on the device, so that a service there would defer everything.
    """
    shipped = artefact.read(folder(DEFAULT_MODELS[task]), task)
    settings = Settings(task=task, provider=setting.device.provider)
    opened = replay.replayer(shipped, setting.device)
    units = min(opened.units, QUICK_UNITS) if setting.quick else opened.units
    seconds = {str(batch): round(seconds_a_unit(opened, units, batch), 6) for batch in replay.batches(opened)}
    timed: dict[str, Any] = {"artefact": shipped.tag, "units": units, "seconds_a_unit": seconds}
    if setting.quick:
        measurement = Measurement(opened)
        measurement.run(pieces=1)
        return timed | {"verdict": "", "measured": measurement.done}
    return judged(shipped, qualify(shipped, settings, setting.folder).record(), timed)


def seconds_a_unit(replayer: replay.Replayer, units: int, batch: int, most_seconds: float = TIMED_SECONDS) -> float:
    """Return the mean time of a unit, from replaying units in order, all of them or for ``most_seconds``."""
    done, start = 0, time.perf_counter()
    while done < units and (not done or time.perf_counter() - start < most_seconds):
        count = min(PIECE_UNITS, units - done)
        replayer(done, count, batch)
        done += count
    return (time.perf_counter() - start) / done


def judged(candidate: Artefact, record: Record, timed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a qualification together with the timings.

    Under the profile of its calibration, a service uses an artefact's own thresholds whatever the verdict is.

    Raises:
        PartFailed: the verdict is ``refused``, and a service would apply it.
    """
    calibrated = own(candidate, record.profile) is not None
    result = dict(timed) | _numbers(record) | {"calibrated_under_it": calibrated}
    if record.verdict == "refused" and not calibrated:
        raise PartFailed(f"refused: {'; '.join(record.lines[1:])}", result)
    return result


def _numbers(record: Record) -> dict[str, Any]:
    return {
        "verdict": record.verdict,
        "profile": record.profile_name,
        "against": record.reference_profile,
        "lines": list(record.lines),
        "heads": {
            name: {
                "correlation": head.measures[head.measure].correlation,
                "flips": head.measures[head.measure].flips,
                "guard": head.measures[head.measure].guard,
                "mean_shift": head.measures[head.measure].mean_shift,
            }
            for name, head in record.heads.items()
        },
    }
