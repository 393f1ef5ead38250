"""``demur models fetch``: one artefact from an address into a folder that services read, such as a pod's volume."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from models import artefact
from models.artefact import MANIFEST, Artefact, ArtefactError, Manifest
from services.cli.output import BadInput, CommandError, ProgressLine, print_json
from services.runtime.archives import ArchiveError, unpack
from services.runtime.fetching import FetchError, below, beside, download

EXAMPLE = "demur models fetch https://host/vessel-dnn-10.tar.gz --sha256 5f1d… --to /artefacts"
MOST_MEGABYTES = 4096.0
SECONDS = 600.0
_MANIFEST_BYTES = 16 << 20
_ARCHIVES = (".tar", ".tar.gz", ".tgz")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url",
        help="of a .tar or .tar.gz of one artefact's folder (and shared inputs beside it), or of the folder itself",
    )
    parser.add_argument("--sha256", required=True, help="of the archive; of a folder, that of its manifest.json")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="as DEMUR_ARTEFACTS: gets TASK/NAME")
    parser.add_argument("--task", help="refuse an artefact of another task")
    parser.add_argument(
        "--max-megabytes",
        type=float,
        default=MOST_MEGABYTES,
        help=f"of what comes and of what it unpacks to, at most; default {MOST_MEGABYTES:g}",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for all of it; default {SECONDS:g}")


def run(given: argparse.Namespace) -> int:
    """Fetches, checks, unpacks, verifies, and only then gives the folder its name."""
    sha256 = given.sha256.lower()
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise BadInput(f"--sha256 {given.sha256!r}: 64 hex digits are needed, as `sha256sum` prints them")
    most_bytes = int(given.max_megabytes * 1e6)
    if not (most_bytes > 0 and given.seconds > 0):
        raise BadInput("--max-megabytes and --seconds: numbers above 0 are needed")
    if (there := _there(given.to, sha256)) is not None:
        return _say(given, there, "was there already")
    try:
        given.to.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=given.to) as scratch:
            fetched = _fetch(given.url, Path(scratch), sha256, most_bytes, given.seconds)
            found = artefact.read(fetched, given.task)
            return _say(given, _place(found, given.to, sha256), "fetched")
    except (FetchError, ArchiveError) as error:
        raise CommandError(f"{error}" if isinstance(error, FetchError) else f"{given.url}: {error}") from error
    except OSError as error:
        raise CommandError(f"--to {given.to}: {error.strerror or error}") from error


def _fetch(url: str, scratch: Path, sha256: str, most_bytes: int, seconds: float) -> Path:
    """A folder with the artefact's files; nothing of it is verified but the hash that was asked for."""
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
    """A file of a folder; what artefacts of a task share may lie next to the folder instead."""
    try:
        get(below(url, name), target)
    except FetchError as error:
        if not shared or target.exists():
            raise
        try:
            get(beside(url, name), target)
        except FetchError as other:
            raise FetchError(f"{error}; and next to the folder: {other}") from other


def _place(found: Artefact, to: Path, sha256: str) -> Artefact:
    """Moves a verified artefact to DIR/TASK/NAME, in one step; one that was there before goes."""
    name = artefact.name(found.manifest).removeprefix(f"{found.manifest.task}-")
    target = to / found.manifest.task / name
    for path in found.directory.iterdir():
        if path.name not in (*found.manifest.files, MANIFEST, "MODEL_CARD.md"):
            path.unlink()  # nobody vouches for it
    (found.directory / _RECEIPT).write_text(sha256 + "\n")
    target.parent.mkdir(exist_ok=True)
    found.directory.chmod(0o755)  # services run as another user
    if target.exists():
        target.rename(found.directory.with_name("replaced"))  # and goes with the folder that all of this is in
    found.directory.rename(target)
    return artefact.read(target)


_RECEIPT = ".sha256"
"""File in a fetched artefact's folder: what it was asked for by, so that asking again fetches nothing."""


def _there(to: Path, sha256: str) -> Artefact | None:
    """The artefact that was fetched by this hash before, if it is still whole."""
    for receipt in to.glob(f"*/*/{_RECEIPT}"):
        try:
            if receipt.read_text().strip() == sha256:
                return artefact.read(receipt.parent)
        except (OSError, ArtefactError):  # fetched again
            continue
    return None


def _say(given: argparse.Namespace, found: Artefact, what: str) -> int:
    told = {"tag": found.tag, "directory": str(found.directory), "fetched": what == "fetched"}
    print_json(told) if given.json else print(f"{found.tag} {what}: {found.directory}")
    return 0
