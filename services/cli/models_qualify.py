"""``demur models qualify``: what a device makes of an artefact's replay set, and whether its thresholds hold there."""

from __future__ import annotations

import argparse
from dataclasses import replace

from models.artefact import Artefact, ArtefactError
from models.executors.onnx import ProviderUnavailable
from models.qualification.record import Record
from services.assembly import profile, qualify
from services.cli.output import CommandError, ProgressLine, print_json
from services.qualification.records import Records
from services.reference import folders
from services.settings import Settings
from services.store import Store

EXAMPLE = "demur models qualify vessel-dnn-10 --provider cuda"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tag", help="name or tag of an artefact in the model store")
    parser.add_argument("--provider", choices=("cpu", "cuda"), help="device to measure; default: DEMUR_PROVIDER")


def run(store: Store, given: argparse.Namespace) -> int:
    """Measures, keeps the record and prints the verdict; exit code 1 where the device is refused.

    Raises:
        CommandError: no such artefact, device or replay set.
    """
    artefact = _found(store, given.tag)
    settings = Settings.read(task=artefact.manifest.task)
    if given.provider:
        settings = replace(settings, provider=given.provider)
    line = ProgressLine(f"replaying {artefact.tag} under {profile(settings, artefact).name}")
    try:
        record = qualify(artefact, settings, store.qualifications).record(line)
    except (ArtefactError, ProviderUnavailable) as error:
        raise CommandError(str(error)) from error
    path = Records(store.qualifications).put(record)
    if given.json:
        print_json(record)
    else:
        _print(record)
        print(f"recorded in {path}")
    return 1 if record.verdict == "refused" else 0


def _print(record: Record) -> None:
    print("\n".join(record.lines))
    for name, head in record.heads.items():
        print(f"\n{name} ({head.measure}):")
        print(
            f"  {'threshold':>12}  {'carried':>12}  {'guard':>10}  {'flips':>8}  {'limit':>8}  {'newly answered':>15}"
        )
        for one in head.measures[head.measure].thresholds:
            carried = "defers all" if one.carried is None else f"{one.carried:.6g}"
            print(
                f"  {one.threshold:>12.6g}  {carried:>12}  {one.guard:>10.3g}  {one.predicted:>8.4%}  "
                f"{one.flips_limit:>8.4%}  {one.newly_limit:>14.4%}"
            )


def _found(store: Store, tag: str) -> Artefact:
    """An artefact of the store; reference artefacts are put there on the way.

    Raises:
        CommandError: there is none of that name or tag.
    """
    name = tag.partition(":")[0]
    for folder in folders(name.partition("-")[0]):
        if folder.name == name.partition("-")[2]:
            store.add(folder)
    try:
        return store.get(tag)
    except LookupError as error:
        raise CommandError(str(error)) from error
