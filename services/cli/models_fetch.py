"""``demur models fetch``: one artefact from an address into a folder that services read, such as a pod's volume."""

import math
import os
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from click import argument, option

from models import artefact
from models.artefact import MANIFEST, Artefact, ArtefactError
from models.manifest import Manifest
from services.cli.options import Options, command, json_option, require
from services.cli.output import BadInput, CommandError, ProgressLine, print_json
from services.runtime.archives import ArchiveError, unpack
from services.runtime.fetching import FetchError, below, beside, download
from services.runtime.row_models import served_name
from services.runtime.variables import SettingsError

MOST_MEGABYTES = 4096.0
SECONDS = 600.0
_MANIFEST_BYTES = 16 << 20
_ARCHIVES = (".tar", ".tar.gz", ".tgz")


@command("fetch", example="demur models fetch https://host/vessel-dnn-10.tar.gz --sha256 5f1d… --to /artefacts")
@argument("url")
@option("--sha256", required=True, help="Hash of the archive; of a folder, that of its manifest.json.")
@option("--to", type=Path, required=True, metavar="DIR", help="Folder of DEMUR_ARTEFACTS; gets TASK/NAME.")
@option("--task", help="Refuse an artefact of another task.")
@option("--max-megabytes", type=float, default=MOST_MEGABYTES, show_default=True, help="Limit of the sizes.")
@option("--seconds", type=float, default=SECONDS, show_default=True, help="Limit of the time.")
@json_option
def fetch(options: Options) -> int:
    """Fetch one artefact from URL, verify it and put it below a folder; idempotent.

    URL is a .tar or .tar.gz of the artefact's folder (and shared inputs beside it), or the folder itself.
    """
    sha256 = options.sha256.lower()
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise BadInput(f"--sha256 {options.sha256!r}: must have 64 hex digits, as `sha256sum` prints them")
    require(options, "max_megabytes", lambda value: 1e-6 <= value < math.inf, "above 0")
    require(options, "seconds", lambda value: value > 0, "above 0")
    most_bytes = int(options.max_megabytes * 1e6)
    if (there := _existing(options.to, sha256)) is not None:
        return _report(options, there, "already exists")
    try:
        options.to.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=options.to) as scratch:
            fetched = _fetch(options.url, Path(scratch), sha256, most_bytes, options.seconds)
            read = artefact.read(fetched, _task(options.task))
            return _report(options, _place(read, options.to, sha256), "fetched")
    except (FetchError, ArchiveError) as error:
        raise CommandError(f"{error}" if isinstance(error, FetchError) else f"{options.url}: {error}") from error
    except OSError as error:
        raise CommandError(f"--to {options.to}: {error.strerror or error}") from error


def _task(name: str | None) -> str | None:
    """Return the task that an artefact must have; for ``rows`` it is the name in DEMUR_MODEL, as for its service."""
    try:
        return served_name(name, os.environ) if name else None
    except SettingsError as error:
        raise BadInput(f"--task rows: {error}") from error


def _fetch(url: str, scratch: Path, sha256: str, most_bytes: int, seconds: float) -> Path:
    """Return a folder with the files of the artefact; only its given hash is verified."""
    folder = scratch / "artefact"
    folder.mkdir()
    show = ProgressLine("fetching")
    if urlsplit(url).path.endswith(_ARCHIVES):
        archive = scratch / "archive"
        download(
            url,
            archive,
            sha256=sha256,
            most_bytes=most_bytes,
            seconds=seconds,
            progress=lambda count: show(0.0, f"{count / 1e6:.0f} MB"),
        )
        unpack(archive, folder, most_bytes=most_bytes)
        return folder
    listed = folder / MANIFEST
    download(below(url, MANIFEST), listed, sha256=sha256, most_bytes=_MANIFEST_BYTES, seconds=seconds)
    try:
        manifest = msgspec.json.decode(listed.read_bytes(), type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ArtefactError(f"{below(url, MANIFEST)}: not a manifest: {error}") from error
    left = most_bytes
    for name, digest in sorted(manifest.files.items()):
        if Path(name).name != name or name in ("", "..", MANIFEST) or "\0" in name:
            raise ArtefactError(f"{below(url, MANIFEST)}: {name!r} is not a plain file name inside the artefact")
        shared = manifest.replay is not None and name == manifest.replay.inputs
        _file(url, name, shared, partial(download, sha256=digest, most_bytes=left, seconds=seconds), folder / name)
        left -= (folder / name).stat().st_size
    return folder


def _file(url: str, name: str, shared: bool, get: Callable[[str, Path], None], target: Path) -> None:
    """Fetch a file of a folder; a file that artefacts of a task share may lie next to the folder instead."""
    try:
        get(below(url, name), target)
    except FetchError as error:
        if not shared or target.exists():
            raise
        try:
            get(beside(url, name), target)
        except FetchError as other:
            raise FetchError(f"{error}; and next to the folder: {other}") from other


def _place(fetched: Artefact, to: Path, sha256: str) -> Artefact:
    """Move a verified artefact to DIR/TASK/NAME, in one step; it replaces an earlier one."""
    name = artefact.name(fetched.manifest).removeprefix(f"{fetched.manifest.task}-")
    target = to / fetched.manifest.task / name
    for path in fetched.directory.iterdir():
        if path.name not in (*fetched.manifest.files, MANIFEST, "MODEL_CARD.md"):
            path.unlink()  # no hash covers it
    (fetched.directory / _RECEIPT).write_text(sha256 + "\n")
    target.parent.mkdir(exist_ok=True)
    fetched.directory.chmod(0o755)  # services run as another user
    if target.exists():
        target.rename(fetched.directory.with_name("replaced"))  # deleted with the scratch folder
    fetched.directory.rename(target)
    return artefact.read(target)


_RECEIPT = ".sha256"
"""File in a fetched artefact's folder with the hash of the request, so that a repetition fetches nothing."""


def _existing(to: Path, sha256: str) -> Artefact | None:
    """Return the artefact that was fetched by this hash before, if it is still valid."""
    for receipt in to.glob(f"*/*/{_RECEIPT}"):
        try:
            if receipt.read_text().strip() == sha256:
                return artefact.read(receipt.parent)
        except (OSError, ArtefactError):  # fetched again
            continue
    return None


def _report(options: Options, fetched: Artefact, what: str) -> int:
    document = {"tag": fetched.tag, "directory": str(fetched.directory), "fetched": what == "fetched"}
    print_json(document) if options.json else print(f"{fetched.tag} {what}: {fetched.directory}")
    return 0
