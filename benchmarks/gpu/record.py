"""Record of a run: outcomes by part, with the versions of the libraries."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benchmarks.gpu.parts import Outcome
from models import artefact
from models.artefact import ArtefactError
from services.app.reference import folder


def tag(name: str) -> str:
    """Return the tag of a shipped artefact, such as ``vessel-dnn-10:0123456789abcdef``; empty if it is incomplete."""
    try:
        return _tag(folder(name))
    except (ArtefactError, LookupError):
        return ""


def tags(names: Iterable[str]) -> dict[str, str]:
    """Return tags by name."""
    return {name: tag(name) for name in names}


@cache
def _tag(directory: Path) -> str:
    return artefact.read(directory).tag


FILE = "record.json"
ROOT = Path(__file__).resolve().parents[2]
_PINNED_AS = {"onnxruntime": "onnxruntime-gpu"}
"""Distribution pinned in place of another with the same CPU code; a machine has only one of them."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


@dataclass(frozen=True)
class Record:
    """Record of one run."""

    provider: str
    quick: bool
    time: str
    """Start time of the newest part, RFC 3339; empty if none ran. In records from before parts had times: the time of
    writing.
    """
    seconds: float
    """Sum over the parts, which may have run on several days."""
    versions: Mapping[str, str]
    """Version of each distribution."""
    parts: Mapping[str, Outcome]

    @property
    def failed(self) -> list[str]:
        """Names of the parts that failed."""
        return [name for name, outcome in self.parts.items() if outcome.state == "failed"]


def gathered(provider: str, quick: bool, versions: Mapping[str, str], parts: Mapping[str, Outcome]) -> Record:
    """Return the record of parts, some of which may have been kept from earlier runs."""
    newest = max((outcome.time for outcome in parts.values()), default="")
    seconds = round(sum(outcome.seconds for outcome in parts.values()), 1)
    return Record(provider, quick, newest, seconds, versions, parts)


def write(folder: Path, record: Record) -> Path:
    """Write the record into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(json.dumps(asdict(record), indent=1) + "\n")
    return path


def read(path: Path) -> Record:
    """Read a record written by ``write``.

    Raises:
        OSError, ValueError, TypeError: there is no readable record.
    """
    fields = json.loads(path.read_text())
    parts = {name: Outcome(**part) for name, part in fields.pop("parts").items()}
    return Record(parts=parts, **fields)


def pinned() -> dict[str, str]:
    """Return the versions of constraints.txt by distribution."""
    return dict(_PIN.findall((ROOT / "constraints.txt").read_text()))


def outdated(record: Record, pins: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return recorded distributions whose version differs from the pinned version, with both.

    Builds of one version count as the same: its local part, as in ``2.13.0+cpu``, is not compared.
    """
    both = {
        name: (version, pins.get(name) or pins.get(_PINNED_AS.get(name, "")))
        for name, version in record.versions.items()
    }
    return {name: (then, now) for name, (then, now) in both.items() if now and _public(then) != _public(now)}


def replaced(record: Record) -> dict[str, str]:
    """Return recorded tags that are not shipped today, with the tag of today, ``-`` for none."""
    named = {recorded for outcome in record.parts.values() for recorded in _artefacts(outcome)}
    now = {recorded: tag(recorded.partition(":")[0]) or "-" for recorded in sorted(named)}
    return {recorded: other for recorded, other in now.items() if other != recorded}


def _artefacts(outcome: Outcome) -> set[str]:
    """Return the tags of an outcome, including the measured artefact that parts name among their figures."""
    return {*outcome.artefacts.values(), str(outcome.found.get("artefact", ""))} - {""}


def _public(version: str) -> str:
    """Return a version without its local part."""
    return version.partition("+")[0]
