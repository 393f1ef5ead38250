"""``demur models``: what the model store holds, and fetching artefacts for it."""

import importlib
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from click import argument, option

from models import artefact, replay
from models.manifest import ROWS
from services.app.model_store import Store
from services.cli.options import (
    LazyGroup,
    Options,
    command,
    device,
    json_option,
    no_replay_set_option,
    precision_option,
    provider_option,
)
from services.cli.output import CommandError, print_json
from services.cli.task_name import TaskName
from services.qualification.records import Records
from services.qualification.standing import recorded
from services.runtime import row_models
from services.runtime.settings import Settings
from services.tasks import IMPORTERS, WORKBENCHES

models = LazyGroup(
    name="models",
    places={
        "list": "services.cli.models:list_command",
        "show": "services.cli.models:show",
        "verify": "services.cli.models:verify",
        "build": "services.cli.models_build:build",
        "enable": "services.cli.models_enable:enable",
        "disable": "services.cli.models_enable:disable",
        "import": "services.cli.models:import_command",
        "fetch": "services.cli.models_fetch:fetch",
        "qualify": "services.cli.models_qualify:qualify_command",
    },
    help="Manage artefacts: the model store, and fetching for it.",
    epilog="Example: demur models import vessel ./baselines",
)


@command("list", example="demur models list --json")
@json_option
def list_command(options: Options) -> int:
    """List the artefacts in the model store."""
    held = _store().list()
    if options.json:
        print_json(held)
    for stored in () if options.json else held:
        print(f"{stored.tag:<48} {stored.bytes / 1e6:8.2f} MB  {stored.created}")
    return 0


@command("show", example="demur models show vessel-dnn-10")
@argument("tag")
@json_option
def show(options: Options) -> int:
    """Show an artefact's manifest and its qualifications for numeric profiles."""
    store = _store()
    stored = store.get(options.tag)
    measured = [recorded(record) for record in Records(store.qualifications).all() if record.artefact == stored.version]
    document = msgspec.to_builtins(stored.manifest) | {"qualifications": measured}
    print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    return 0


@command("verify", example="demur models verify artefacts/vessel/dnn-10")
@argument("what")
@json_option
def verify(options: Options) -> int:
    """Check files, hashes and schema of WHAT: a folder, or a tag of the store."""
    folder = Path(options.what)
    checked = artefact.read(folder) if folder.is_dir() else _store().get(options.what)
    verdict = {"tag": checked.tag, "files": len(checked.manifest.files), "valid": True}
    print_json(verdict) if options.json else print(f"{checked.tag}: {len(checked.manifest.files)} files, all valid")
    return 0


@command("import", example="demur models import vessel ./baselines")
@argument("task", type=TaskName(ROWS))
@argument("directory", type=Path)
@option("--data", type=Path, help="Labelled files (dev_in …) to calibrate a released checkpoint with.")
@provider_option
@precision_option
@no_replay_set_option
@json_option
def import_command(options: Options) -> int:
    """Add DIRECTORY to the model store: an artefact with manifest.json, or a released checkpoint (see docs)."""
    if not options.directory.is_dir():
        raise CommandError(f"the folder {options.directory} does not exist, or is not a folder")
    made = (options.directory / artefact.MANIFEST).exists()
    if made and (unused := [name for name in ("data", "precision", "provider") if getattr(options, name) is not None]):
        raise CommandError(f"--{unused[0]}: {options.directory} is an artefact, imported unchanged; leave it out")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.directory if made else Path(scratch) / "made"
        if not made:
            _convert(options, folder)
        if options.no_replay_set:
            folder = replay.detached(artefact.copy(artefact.read(folder), Path(scratch) / "copy")).directory
        task = artefact.read(folder).manifest.task if options.task == ROWS else options.task
        added = _store().add(folder, task)
    if added.manifest.outputs:
        row_models.put(Settings.read().home, added.manifest.task)
    print_json({"tag": added.tag}) if options.json else print(f"imported {added.tag}")
    return 0


def _store() -> Store:
    return Store(Settings.read().home)


def _convert(options: Options, folder: Path) -> None:
    """Convert a released checkpoint folder to an artefact.

    Raises:
        CommandError: a file is missing or cannot be converted, or the task has no importer.
        ProviderUnavailable: see ``device``.
    """
    if options.task not in IMPORTERS:
        raise CommandError(f"{options.directory}: must be an artefact; {options.task} has no released checkpoints")
    module, _, function = IMPORTERS[options.task].partition(":")
    precision = {} if options.precision is None else {"precision": options.precision}
    if precision and not hasattr(importlib.import_module(WORKBENCHES[options.task]), "PRECISIONS"):
        raise CommandError(f"--precision: artefacts of {options.task} have one precision, fp32; leave it out")
    computing = device(options)
    try:
        convert = getattr(importlib.import_module(module), function)
        convert(options.directory, folder, _labelled(options), device=computing, **precision)
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing; install the training extra: pip install -e '.[train]'") from error
    except OSError as error:
        raise CommandError(str(error)) from error


def _labelled(options: Options) -> Any:
    """Return labelled tables by name, or None without --data.

    Raises:
        CommandError: they cannot be read.
    """
    if options.data is None:
        return None
    try:
        return importlib.import_module(WORKBENCHES[options.task]).read_files(options.data)
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
