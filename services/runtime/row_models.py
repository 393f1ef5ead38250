"""Row models of an installation: artefacts with heads of their own, each served under its name as a task."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from models.manifest import ROWS
from services.runtime.registry import FIRST_ROW_PORT, GRPC_PORT_OFFSET, TASKS
from services.runtime.variables import SettingsError

FILE = "row-models.json"
_NAME = re.compile("[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_MOST_CHARACTERS = 40
_RESERVED = {"rows", "monitor", "review", "columns", "generic", "label", "policy"}


class RowModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row model and how it is served."""

    port: int
    """TCP port of HTTP; that of gRPC is 1000 more."""
    enabled: bool = False
    """True if ``demur up`` starts it."""


def check_name(name: str) -> str:
    """Return the name of a row model.

    Raises:
        ValueError: it is no word of small letters and digits, too long, or the name of something else.
    """
    if _NAME.fullmatch(name) is None or len(name) > _MOST_CHARACTERS:
        raise ValueError(
            f"name = {name!r}: must be small letters and digits, with single hyphens or underscores between, at most "
            f"{_MOST_CHARACTERS} characters, and begin with a letter; for example churn"
        )
    if name in TASKS or name in _RESERVED:
        raise ValueError(f"name = {name!r}: is the name of another part of Demur; choose a name of its own")
    return name


def row_models(home: Path) -> Mapping[str, RowModel]:
    """Return the row models of a home directory by name, in the order of their ports.

    Raises:
        SettingsError: the file that lists them cannot be read.
    """
    path = home / FILE
    try:
        known = msgspec.json.decode(path.read_bytes(), type=dict[str, RowModel])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise SettingsError(
            f"{path}: cannot be read ({error}); it lists row models, and `demur models enable` writes it"
        ) from error
    return dict(sorted(known.items(), key=lambda item: item[1].port))


def put(home: Path, name: str, *, enabled: bool | None = None, port: int | None = None) -> RowModel:
    """Add or change a row model; a new one has the first free port.

    Args:
        enabled: whether ``demur up`` starts it; None: as before, False for a new one.
        port: TCP port of HTTP; None: as before.

    Raises:
        ValueError: another model or task has the port, or see ``check_name``.
    """
    check_name(name)
    known = dict(row_models(home))
    taken = {entry.port for entry in TASKS.values()} | {other.port for key, other in known.items() if key != name}
    before = known.get(name) or RowModel(next(free for free in range(FIRST_ROW_PORT, 65536) if free not in taken))
    model = RowModel(before.port if port is None else port, before.enabled if enabled is None else enabled)
    if model.port in taken or not 1 <= model.port <= 65535 - GRPC_PORT_OFFSET:
        raise ValueError(f"port = {model.port}: must be free, and from 1 to {65535 - GRPC_PORT_OFFSET}")
    known[name] = model
    home.mkdir(parents=True, exist_ok=True)
    part = home / f"{FILE}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
    part.replace(home / FILE)
    return model


def place(task: str) -> str:
    """Return the part of the name of a variable that stands for a task."""
    return task.upper().replace("-", "_")


def served_name(task: str, source: Mapping[str, str]) -> str:
    """Return the task; for ``rows``, the name of the model that is served.

    Raises:
        SettingsError: the task is ``rows`` and no model is named.
    """
    if task != ROWS:
        return task
    if not (name := source.get("DEMUR_MODEL", "").partition(":")[0]):
        raise SettingsError("DEMUR_TASK = rows: DEMUR_MODEL must name the row model to serve, such as churn")
    return name
