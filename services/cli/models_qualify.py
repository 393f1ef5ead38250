"""``demur models qualify``: replay an artefact's stored inputs on a device and check its thresholds there."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from models import replay
from models.artefact import Artefact, ArtefactError
from models.executors.failures import DeviceFailed
from models.qualification.record import Record
from services.app.assembly import profile, qualify
from services.app.model_store import Store
from services.app.reference import folder
from services.cli.output import CommandError, ProgressLine, print_json
from services.cli.providers import PROVIDERS
from services.qualification.records import Records
from services.qualification.tables import own
from services.runtime.settings import Settings

EXAMPLE = "demur models qualify vessel-dnn-10 --provider cuda"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tag", help="name or tag of an artefact in the model store")
    parser.add_argument("--provider", choices=PROVIDERS, help="device to measure; default: DEMUR_PROVIDER")
    parser.add_argument(
        "--data",
        type=Path,
        help="folder of your own labelled files, as for training: replay their in-domain and shifted development data "
        "(dev_in, dev_out …) instead of the replay set",
    )


def run(store: Store, given: argparse.Namespace) -> int:
    """Measures, keeps the record and prints the verdict; exit code 1 where the device is refused.

    Raises:
        CommandError: no such artefact, device or replay set, or the device failed.
    """
    artefact = _found(store, given.tag)
    settings = Settings.read(task=artefact.manifest.task)
    if given.provider:
        settings = replace(settings, provider=given.provider)
    line = ProgressLine(f"replaying {artefact.tag} under {profile(settings, artefact).name}")
    try:
        record = _measured(artefact, settings, store, given.data, line)
    except DeviceFailed as error:
        raise CommandError(f"{error}; nothing was recorded, run the command again once the device computes") from error
    except (ArtefactError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    path = Records(store.qualifications).put(record)
    if given.json:
        print_json(record)
    else:
        _print(record)
        print(f"recorded in {path}")
    if own(artefact, record.profile) is not None:
        print(f"{artefact.tag} was calibrated under {record.profile_name}: its own thresholds hold", file=sys.stderr)
        return 0
    return 1 if record.verdict == "refused" else 0


def _measured(
    artefact: Artefact, settings: Settings, store: Store, data: Path | None, progress: Callable[[float], None]
) -> Record:
    """Replays the artefact's own set, or units of labelled files, which this CPU scores for comparison."""
    if data is None:
        return qualify(artefact, settings, store.qualifications).record(progress)
    with tempfile.TemporaryDirectory(prefix="demur-") as scratch:
        copy = replay.of_files(artefact, data, Path(scratch) / "artefact")
        record = qualify(copy, settings, store.qualifications).record(progress)
    return msgspec.structs.replace(record, artefact=artefact.version, tag=artefact.tag)


def _print(record: Record) -> None:
    print("\n".join(record.lines))
    for name, head in record.heads.items():
        print(f"\n{name} ({head.measure}):")
        print(
            f"  {'threshold':>12}  {'verdict':>8}  {'carried':>12}  {'guard':>10}  {'flips':>8}  {'limit':>8}  "
            f"{'newly answered':>15}"
        )
        for one in head.measures[head.measure].thresholds:
            carried = "defers all" if one.carried is None else f"{one.carried:.6g}"
            print(
                f"  {one.threshold:>12.6g}  {one.verdict:>8}  {carried:>12}  {one.guard:>10.3g}  "
                f"{max(one.flips, one.predicted):>8.4%}  {one.flips_limit:>8.4%}  {one.newly_limit:>15.4%}"
            )


def _found(store: Store, tag: str) -> Artefact:
    """An artefact of the store; reference artefacts are put there on the way.

    Raises:
        CommandError: there is none of that name or tag.
    """
    with suppress(LookupError):
        store.add(folder(tag.partition(":")[0]))
    try:
        return store.get(tag)
    except LookupError as error:
        raise CommandError(str(error)) from error
