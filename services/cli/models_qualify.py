"""``demur models qualify``: replay an artefact's stored inputs on a device and check its thresholds there."""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
from click import Choice, argument, option

from models import replay
from models.artefact import Artefact, ArtefactError
from models.executors.failures import DeviceFailed
from models.qualification.record import Record
from services.app.assembly import profile, qualify
from services.app.model_store import Store
from services.app.reference import folder
from services.cli.options import PROVIDERS, Options, command, json_option
from services.cli.output import CommandError, ProgressLine, print_json, table
from services.qualification.records import Records
from services.qualification.tables import own
from services.runtime.settings import Settings


@command("qualify", example="demur models qualify vessel-dnn-10 --provider cuda")
@argument("tag")
@option("--provider", type=Choice(PROVIDERS), help="Device to measure.  [default: DEMUR_PROVIDER]")
@option(
    "--data",
    type=Path,
    help="Folder of your own labelled files, as for training: replay their in-domain and shifted development data "
    "(dev_in, dev_out …) instead of the replay set.",
)
@json_option
def qualify_command(options: Options) -> int:
    """Check whether the thresholds of an artefact hold on a device.

    Replays the stored inputs of the artefact TAG on the device, compares the scores with those that its thresholds
    were calibrated with, and records the verdict for services that start under that numeric profile. Exit code 1 if
    the device is refused.
    """
    store = Store(Settings.read().home)
    artefact = _stored(store, options.tag)
    settings = Settings.read(task=artefact.manifest.task)
    if options.provider:
        settings = replace(settings, provider=options.provider)
    line = ProgressLine(f"replaying {artefact.tag} under {profile(settings, artefact).name}")
    try:
        record = _measured(artefact, settings, store, options.data, line)
    except DeviceFailed as error:
        raise CommandError(f"{error}; nothing was recorded, run the command again once the device computes") from error
    except (ArtefactError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    path = Records(store.qualifications).put(record)
    if options.json:
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
    """Replay the artefact's own set, or labelled files, which this CPU scores for comparison."""
    if data is None:
        return qualify(artefact, settings, store.qualifications).record(progress)
    with tempfile.TemporaryDirectory(prefix="demur-") as scratch:
        copy = replay.of_files(artefact, data, Path(scratch) / "artefact")
        record = qualify(copy, settings, store.qualifications).record(progress)
    return msgspec.structs.replace(record, artefact=artefact.version, tag=artefact.tag)


def _print(record: Record) -> None:
    print("\n".join(record.lines))
    head = ["threshold", "verdict", "carried", "guard", "flips", "limit", "newly answered"]
    for name, measured in record.heads.items():
        print(f"\n{name} ({measured.measure}):")
        rows = [
            [
                f"{threshold.threshold:.6g}",
                threshold.verdict,
                "defers all" if threshold.carried is None else f"{threshold.carried:.6g}",
                f"{threshold.guard:.3g}",
                f"{max(threshold.flips, threshold.predicted):.4%}",
                f"{threshold.flips_limit:.4%}",
                f"{threshold.newly_limit:.4%}",
            ]
            for threshold in measured.measures[measured.measure].thresholds
        ]
        print("\n".join(f"  {line}" for line in table(head, rows, left=())))


def _stored(store: Store, tag: str) -> Artefact:
    """Return an artefact of the store, to which reference artefacts are added first.

    Raises:
        CommandError: there is none of that name or tag.
    """
    with suppress(LookupError):
        store.add(folder(tag.partition(":")[0]))
    try:
        return store.get(tag)
    except LookupError as error:
        raise CommandError(str(error)) from error
