"""Registry of the tasks that can be served: one entry each, which names the task's modules without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GRPC_PORT_OFFSET = 1000
"""Distance of a task's gRPC port from its HTTP port."""


@dataclass(frozen=True)
class TaskEntry:
    """Task: places of its code as ``module:name``, ports, and settings with their own defaults."""

    port: int
    """Default TCP port of HTTP."""
    served_model: str
    """Function that assembles the served model from an artefact."""
    default_model: str
    """Name of the reference artefact, which is served by default."""
    importer: str
    """Function that turns a folder of released checkpoints into an artefact folder."""
    workbench: str
    """Module that implements ``demur data`` and ``demur train``."""
    predictions: str
    """Reader of the task's prediction files for ``demur evaluate``."""
    scorer: str = ""
    """Scorer of the task's files for ``demur score``; empty if the task scores rows, see ``row_files``."""
    row_files: str = ""
    """Description of the task's files of rows: columns of labels, and the benchmark's submission."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings with a default other than that of all tasks."""


TASKS: Mapping[str, TaskEntry] = {
    "lesion": TaskEntry(
        port=3004,
        served_model="services.tasks.lesion.served_model:served_model",
        default_model="lesion-unet-5",
        importer="models.tasks.lesion.artefact.released:import_released",
        workbench="models.tasks.lesion.training.workbench",
        predictions="models.tasks.lesion.data.predictions:read",
        scorer="services.tasks.lesion.score:SCORER",
        # A scan takes a minute of work, half a gigabyte of memory, and 30 MB of answer. Scans are compressed, so their
        # size does not predict the cost of reading them. Members may agree on a skull, so a scan unlike the training
        # data is deferred.
        defaults={
            "queue_seconds": 900.0,
            "queue_bytes": 4 << 30,
            "request_seconds": 600.0,
            "drain_seconds": 120.0,
            "max_jobs": 64,
            "max_job_bytes": 2 << 30,
            "explore_bytes": 512 << 20,
            "inline_bytes": 0,
            "defer_on_shift": True,
        },
    ),
    "motion": TaskEntry(
        port=3003,
        served_model="services.tasks.motion.served_model:served_model",
        default_model="motion-bc-5",
        importer="models.tasks.motion.artefact.released:import_released",
        workbench="models.tasks.motion.training.workbench",
        predictions="models.tasks.motion.data.predictions:read",
        scorer="services.tasks.motion.score:SCORER",
        # The size of a scene does not predict the work; the map of each of its requests takes a megabyte.
        defaults={"queue_bytes": 1 << 30, "max_upload_bytes": 64 << 20, "inline_bytes": 0},
    ),
    "translation": TaskEntry(
        port=3002,
        served_model="services.tasks.translation.served_model:served_model",
        default_model="translation-transformer-3",
        importer="models.tasks.translation.artefact.importing:import_released",
        workbench="models.tasks.translation.training.workbench",
        predictions="models.tasks.translation.data.predictions:read",
        scorer="services.tasks.translation.score:SCORER",
        # Two kilobytes of text are split and counted in a millisecond. Most of what a small model translates is worth
        # answering.
        defaults={"inline_bytes": 2 << 10, "target_retention": 0.6},
    ),
    "vessel": TaskEntry(
        port=3005,
        served_model="services.tasks.vessel:served_model",
        default_model="vessel-dnn-10",
        importer="models.tasks.vessel.artefact.released:import_released",
        workbench="models.tasks.vessel.training.workbench",
        predictions="models.tasks.vessel.data.predictions:read",
        row_files="models.tasks.vessel.data.submission:FILES",
    ),
    "weather": TaskEntry(
        port=3001,
        served_model="services.tasks.weather:served_model",
        default_model="weather-catboost-10",
        importer="models.tasks.weather.artefact.released:import_released",
        workbench="models.tasks.weather.training.workbench",
        predictions="models.tasks.weather.data.predictions:read",
        row_files="models.tasks.weather.data.submission:FILES",
    ),
}
"""Task name to its entry, in alphabetical order."""

DEFAULT_TASK = "vessel"


def default_ports(task: str) -> tuple[int, int]:
    """Return the default HTTP and gRPC port of a task; 3000 and 4000 for a task that is not registered."""
    port = TASKS[task].port if task in TASKS else 3000
    return port, port + GRPC_PORT_OFFSET
