"""The record of a run: what a machine was found to do, by part, with the versions that did it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.gpu.parts import Outcome

FILE = "record.json"
ROOT = Path(__file__).resolve().parents[2]
COMPARED = ("onnxruntime-gpu", "numpy")
"""Pinned distributions whose versions decide whether a record speaks of what is installed today."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


@dataclass(frozen=True)
class Record:
    """One run."""

    provider: str
    quick: bool
    time: str
    """RFC 3339."""
    seconds: float
    versions: Mapping[str, str]
    """Distribution to version."""
    parts: Mapping[str, Outcome]

    @property
    def failed(self) -> list[str]:
        """Names of the parts that failed."""
        return [name for name, outcome in self.parts.items() if outcome.state == "failed"]


def write(folder: Path, record: Record) -> Path:
    """Write the record into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(json.dumps(asdict(record), indent=1) + "\n")
    return path


def read(path: Path) -> Record:
    """Return a record that ``write`` wrote.

    Raises:
        OSError, ValueError, TypeError: there is none.
    """
    found = json.loads(path.read_text())
    parts = {name: Outcome(**part) for name, part in found.pop("parts").items()}
    return Record(parts=parts, **found)


def pinned() -> dict[str, str]:
    """Return the versions of constraints.txt by distribution."""
    return dict(_PIN.findall((ROOT / "constraints.txt").read_text()))


def outdated(record: Record, pins: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return distributions whose recorded version is not the pinned one, with both; missing ones as ``-``."""
    both = {name: (record.versions.get(name, "-"), pins[name]) for name in COMPARED if name in pins}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}
