"""Heads and members of a verified weather artefact."""

from collections.abc import Callable

from models.artefact import Artefact, ArtefactError
from models.executors.device import CPU, Device
from models.executors.members import MemberExecutor
from models.executors.trees.library import InProcess, Library
from models.head import Head
from models.rows import members as of_rows
from models.tasks.weather.spec import HEADS


def heads(artefact: Artefact) -> tuple[Head, ...]:
    """Return the task's heads that this artefact has.

    Raises:
        ArtefactError: it has none.
    """
    present = tuple(head for head in HEADS if head.name in artefact.manifest.heads)
    if not present:
        raise ArtefactError(f"{artefact.directory}: has none of the heads {', '.join(head.name for head in HEADS)}")
    return present


def members(artefact: Artefact, *, device: Device = CPU, library: Callable[[], Library] = InProcess) -> MemberExecutor:
    """Return all members of all executors of an artefact; see ``models.rows.members``."""
    return of_rows.members(artefact, heads(artefact), device=device, library=library)
