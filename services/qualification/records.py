"""Store of qualification records, beside the artefacts of the model store."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from models.artefact import Artefact
from models.profile import Profile
from models.qualification.record import Record, decode, encode
from services.runtime.logging import get_logger

_log = get_logger(__name__)


class Records:
    """Qualification records as files, one per artefact and profile; a new measurement replaces the previous one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, artefact: Artefact, profile: Profile, libraries: Mapping[str, str]) -> Record | None:
        """Return the record of an artefact under a profile.

        Returns:
            None if there is no usable record: it was made with other versions of driver or libraries, or its file is
            damaged. Both are logged.
        """
        path = self._path(artefact.version, profile)
        try:
            record = decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("%s: not a readable record of a qualification, which is repeated: %s", path, error)
            return None
        if record.artefact != artefact.version or record.profile != profile:
            _log.warning(
                "%s is a record of %s under %s, not of this artefact and profile; qualifying again",
                path,
                record.tag,
                record.profile.name,
            )
            return None
        if record.libraries != dict(libraries):
            changed = {
                name: (record.libraries.get(name, "-"), libraries.get(name, "-"))
                for name in sorted(record.libraries.keys() | libraries.keys())
                if record.libraries.get(name) != libraries.get(name)
            }
            words = ", ".join(f"{name} {before} is now {now}" for name, (before, now) in changed.items())
            _log.warning(
                "%s was qualified with other versions (%s): the qualification is repeated", profile.name, words
            )
            return None
        return record

    def put(self, record: Record) -> Path:
        """Write a record atomically.

        Raises:
            OSError: the folder cannot be written.
        """
        path = self._path(record.artefact, record.profile)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(msgspec.json.format(encode(record), indent=1))
        part.replace(path)
        return path

    def all(self) -> list[Record]:
        """Return all readable records, the newest first."""
        records = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                records.append(decode(path.read_bytes()))
            except (OSError, ValueError, RecursionError) as error:
                _log.warning("%s: not a readable record of a qualification: %s", path, error)
        return sorted(records, key=lambda record: record.time, reverse=True)

    def _path(self, version: str, profile: Profile) -> Path:
        digest = hashlib.sha256(profile.name.encode()).hexdigest()[:12]
        return self._directory / f"{version}-{digest}.json"
