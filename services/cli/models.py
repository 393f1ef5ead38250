"""``demur models``: what the model store holds, and fetching artefacts for it."""

from __future__ import annotations

import argparse
import importlib
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from services.app.model_store import Store
from services.cli import models_fetch, models_qualify
from services.cli.output import CommandError, print_json
from services.cli.providers import NO_REPLAY_SET, NO_REPLAY_SET_HELP, PROVIDER_HELP, PROVIDERS, device
from services.qualification.records import Records
from services.qualification.standing import recorded
from services.runtime.settings import Settings
from services.tasks import IMPORTERS, WORKBENCHES

EXAMPLE = "demur models import vessel ./baselines"


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all artefacts in the store")
    show = actions.add_parser("show", help="the manifest of one, and its qualifications for numeric profiles")
    verify = actions.add_parser("verify", help="check a folder or a stored artefact: files, hashes, schema")
    add = actions.add_parser("import", help="a folder into the store: an artefact, or a released checkpoint folder")
    show.add_argument("tag")
    verify.add_argument("what", help="a tag of the store, or a folder")
    add.add_argument("task", choices=sorted(IMPORTERS))
    add.add_argument("directory", type=Path, help="folder with a manifest.json, or with released files (docs)")
    add.add_argument("--data", type=Path, help="labelled files (dev_in …) to calibrate a released checkpoint with")
    add.add_argument("--provider", choices=PROVIDERS, help=PROVIDER_HELP)
    add.add_argument(
        "--precision", choices=("fp32", "fp16", "int8"), help="translation: of the artefact's graphs; fp16 is for GPUs"
    )
    add.add_argument(NO_REPLAY_SET, action="store_true", help=NO_REPLAY_SET_HELP)
    fetch = actions.add_parser(
        "fetch",
        help="one artefact from an address into a folder that services read",
        description="Fetch one artefact, check it, and put it below a folder. Fetching again changes nothing.",
        epilog=f"example: {models_fetch.EXAMPLE}",
    )
    models_fetch.arguments(fetch)
    qualify = actions.add_parser(
        "qualify",
        help="replay an artefact's stored inputs on a device and check whether its thresholds hold there",
        description="Replay the stored inputs of an artefact on a device, compare the scores with those that its "
        "thresholds were calibrated with, and keep the verdict for services that start under that numeric profile.",
        epilog=f"example: {models_qualify.EXAMPLE}",
    )
    models_qualify.arguments(qualify)
    for action in (listing, show, verify, add, fetch, qualify):
        action.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Runs one action."""
    if given.action == "fetch":  # into a folder: the store is not needed
        return models_fetch.run(given)
    store = Store(Settings.read().home)
    actions = {"list": _list, "show": _show, "verify": _verify, "import": _import, "qualify": models_qualify.run}
    return actions[given.action](store, given)


def _list(store: Store, given: argparse.Namespace) -> int:
    held = store.list()
    if given.json:
        print_json(held)
    for stored in () if given.json else held:
        print(f"{stored.tag:<48} {stored.bytes / 1e6:8.2f} MB  {stored.created}")
    return 0


def _show(store: Store, given: argparse.Namespace) -> int:
    found = store.get(given.tag)
    measured = [recorded(record) for record in Records(store.qualifications).all() if record.artefact == found.version]
    document = msgspec.to_builtins(found.manifest) | {"qualifications": measured}
    print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    return 0


def _verify(store: Store, given: argparse.Namespace) -> int:
    from models import artefact

    folder = Path(given.what)
    found = artefact.read(folder) if folder.is_dir() else store.get(given.what)
    verdict = {"tag": found.tag, "files": len(found.manifest.files), "valid": True}
    print_json(verdict) if given.json else print(f"{found.tag}: {len(found.manifest.files)} files, all as stated")
    return 0


def _import(store: Store, given: argparse.Namespace) -> int:
    from models import artefact, replay

    if not given.directory.is_dir():
        raise CommandError(f"the folder {given.directory} does not exist, or is no folder")
    made = (given.directory / artefact.MANIFEST).exists()
    if made and (unused := [name for name in ("data", "precision", "provider") if getattr(given, name) is not None]):
        raise CommandError(f"--{unused[0]}: {given.directory} holds an artefact, which stays as it is; leave it out")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.directory if made else Path(scratch) / "made"
        if not made:
            _convert(given, folder)
        if given.no_replay_set:
            folder = replay.detached(artefact.copy(artefact.read(folder), Path(scratch) / "copy")).directory
        added = store.add(folder, given.task)
    print_json({"tag": added.tag}) if given.json else print(f"imported {added.tag}")
    return 0


def _convert(given: argparse.Namespace, folder: Path) -> None:
    """Makes an artefact of a released checkpoint folder.

    Raises:
        CommandError: what is missing, or is none.
        ProviderUnavailable: see ``device``.
    """
    module, _, function = IMPORTERS[given.task].partition(":")
    precision = {} if given.precision is None else {"precision": given.precision}
    if precision and not hasattr(importlib.import_module(WORKBENCHES[given.task]), "PRECISIONS"):
        raise CommandError(f"--precision: artefacts of {given.task} have one precision, fp32; leave it out")
    computing = device(given)
    try:
        convert = getattr(importlib.import_module(module), function)
        convert(given.directory, folder, _labelled(given), device=computing, **precision)
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing; install the training extra: pip install -e '.[train]'") from error
    except OSError as error:
        raise CommandError(str(error)) from error


def _labelled(given: argparse.Namespace) -> Any:
    """Tables by name, or None.

    Raises:
        CommandError: they cannot be read.
    """
    if given.data is None:
        return None
    try:
        return importlib.import_module(WORKBENCHES[given.task]).read_files(given.data)
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
