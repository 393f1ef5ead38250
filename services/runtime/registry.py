"""Registry of the tasks that can be served: one entry each, which names its modules without importing them.

Packages that are installed beside add theirs through the entry point group ``demur.tasks``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

from services.runtime.task_entry import TaskEntry

GROUP = "demur.tasks"
"""Group of the entry points by which installed packages add tasks."""
GRPC_PORT_OFFSET = 1000
"""Distance of a task's gRPC port from its HTTP port."""
FIRST_ROW_PORT = 3021
"""HTTP port of the first row model; further ones follow."""
ROWS = TaskEntry(
    port=FIRST_ROW_PORT,
    served_model="services.tasks.rows:served_model",
    default_model="",
    started=False,
)
"""Entry of artefacts that declare their own columns and heads; each is served under its own name as a task."""


_OWN: Mapping[str, TaskEntry] = {
    "lesion": TaskEntry(
        port=3004,
        served_model="services.tasks.lesion.served_model:served_model",
        default_model="lesion-unet-5",
        importer="models.tasks.lesion.artefact.released:import_released",
        workbench="models.tasks.lesion.training.workbench",
        review_view="lesion",
        predictions="models.tasks.lesion.data.predictions:read",
        label_studio="services.tasks.lesion.label_studio:SCANS",
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
        review_view="motion",
        review_scene="services.tasks.motion.review:scene",
        predictions="models.tasks.motion.data.predictions:read",
        label_studio="services.tasks.motion.label_studio:SCENES",
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
        review_view="translation",
        predictions="models.tasks.translation.data.predictions:read",
        label_studio="services.tasks.translation.label_studio:SENTENCES",
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
        review_view="vessel",
        predictions="models.tasks.vessel.data.predictions:read",
        row_files="models.tasks.vessel.data.predictions:FILES",
    ),
    "weather": TaskEntry(
        port=3001,
        served_model="services.tasks.weather:served_model",
        default_model="weather-catboost-10",
        importer="models.tasks.weather.artefact.released:import_released",
        workbench="models.tasks.weather.training.workbench",
        review_view="weather",
        predictions="models.tasks.weather.data.predictions:read",
        row_files="models.tasks.weather.data.predictions:FILES",
    ),
}


def with_plugins(own: Mapping[str, TaskEntry], plugins: Iterable[EntryPoint]) -> Mapping[str, TaskEntry]:
    """Return tasks and those of installed packages by name, in alphabetical order.

    Args:
        plugins: entry points whose name is that of the task, and whose value is the place of a ``TaskEntry``.

    Raises:
        ValueError: two tasks have the same name, an entry point cannot be loaded, or its value is no ``TaskEntry``.
    """
    entries = dict(own)
    for point in plugins:
        where = f"entry point {point.name} = {point.value} of the group {GROUP}"
        if point.name in entries:
            raise ValueError(f"{where}: must have a name of its own; there is a task {point.name!r} already")
        try:
            entry = point.load()
        except (ImportError, AttributeError) as error:
            raise ValueError(f"{where}: cannot be loaded ({error}); repair or uninstall its package") from error
        if not isinstance(entry, TaskEntry):
            raise ValueError(f"{where}: must be a TaskEntry; got {type(entry).__name__}")
        entries[point.name] = entry
    return dict(sorted(entries.items()))


TASKS = with_plugins(_OWN, entry_points(group=GROUP))
"""Task name to its entry, in alphabetical order, with those of installed packages."""

DEFAULT_TASK = "vessel"


def entry(task: str) -> TaskEntry:
    """Return the entry of a task; a name that no installed task has is that of a row model."""
    return TASKS.get(task) or replace(ROWS, default_model=task)


def default_ports(task: str) -> tuple[int, int]:
    """Return the default HTTP and gRPC port of a task; of a row model, the first that row models have."""
    port = entry(task).port
    return port, port + GRPC_PORT_OFFSET
