"""Choice of the artefact that a process serves: the configured one, else the task's reference artefact."""

import os
from contextlib import suppress
from pathlib import Path

from models.artefact import Artefact
from services.app.model_store import Store
from services.runtime.registry import entry
from services.runtime.settings import Settings

PROJECT = Path(__file__).resolve().parents[2]


def find(settings: Settings, store: Store) -> Artefact:
    """Return the verified artefact to serve; reference artefacts are added to the store first.

    Raises:
        ArtefactError: a reference artefact is corrupt, or the configured one is of another task.
        LookupError: there is no such artefact.
    """
    if ":" in settings.model:  # an exact tag, as from `demur serve`, may be in the store
        with suppress(LookupError):
            return store.get(settings.model, settings.task)
    usual, default = entry(settings.task).default_model, ""
    for directory in folders(settings.task):
        tag = store.add(directory).tag
        if tag.partition(":")[0] == usual:
            default = tag
    return store.get(settings.model or default or usual, settings.task)


def folders(task: str) -> list[Path]:
    """Return the folders of the task's reference artefacts; DEMUR_ARTEFACTS overrides their location."""
    root = Path(os.environ.get("DEMUR_ARTEFACTS", PROJECT / "artefacts")) / task
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def folder(name: str) -> Path:
    """Return the folder of a reference artefact, by a name such as ``vessel-dnn-10``.

    Raises:
        LookupError: there is no artefact of that name.
    """
    task, _, rest = name.partition("-")
    for candidate in folders(task):
        if candidate.name == rest:
            return candidate
    raise LookupError(f"there is no reference artefact {name}")
