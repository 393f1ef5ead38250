"""Artefacts in BentoML's model store, under the project's own data directory."""

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import artefact
from models.artefact import Artefact, ArtefactError
from services.runtime.variables import SettingsError

_NAME = re.compile("[a-z0-9]([-._a-z0-9]*[a-z0-9])?")
"""Names and versions of BentoML's models."""


@dataclass(frozen=True)
class Stored:
    """Artefact in the store."""

    tag: str
    path: str
    created: str
    bytes: int


class Store:
    """Model store of a home directory. Importing equal content twice keeps one copy.

    BentoML's store shows folders that are still being written, so processes that start side by side take turns.
    """

    def __init__(self, home: Path) -> None:
        """Set BENTOML_HOME for this process and its children; do it before BentoML is imported.

        Raises:
            SettingsError: the home directory is not writable.
        """
        root = (home / "bentoml").resolve()
        try:
            root.mkdir(parents=True, exist_ok=True)
            (root / ".lock").touch()
        except OSError as error:
            raise SettingsError(
                f"DEMUR_HOME = {home}: {error.strerror}; a directory is needed that this user may write to, in a "
                "container a volume"
            ) from error
        self._lock = root / ".lock"
        self._models = root / "models"
        self.qualifications = root / "qualifications"
        """Directory of the qualification records of artefacts."""
        os.environ["BENTOML_HOME"] = str(root)
        os.environ.setdefault("BENTOML_DO_NOT_TRACK", "True")

    def add(self, directory: Path, task: str | None = None) -> Artefact:
        """Verify an artefact's folder and copy it into the store, replacing a damaged copy.

        Raises:
            ArtefactError: see ``models.artefact.read``; with ``task``, also for an artefact of another task.
        """
        source = artefact.read(directory, task)
        with self._alone():
            try:
                return self._get(source.tag)
            except LookupError:
                pass
            except ArtefactError:
                _models().delete(source.tag, _model_store=self._bento())
            with _models().create(source.tag, _model_store=self._bento()) as model:
                artefact.copy(source, Path(model.path))
            return self._get(source.tag)

    def get(self, tag: str, task: str | None = None) -> Artefact:
        """Return a verified artefact by tag, or the newest by name.

        Raises:
            LookupError: the store does not hold it.
            ArtefactError: its files were altered, or it belongs to another task.
        """
        with self._alone():
            return self._get(tag, task)

    def list(self) -> list[Stored]:
        """Return all artefacts, newest first."""
        with self._alone():
            return [*self._list()]

    def _get(self, tag: str, task: str | None = None) -> Artefact:
        place = self._find(tag) or self._ask(tag)
        read_back = artefact.read(place, task)
        if read_back.version != place.name:
            name = tag.partition(":")[0]
            raise ArtefactError(
                f"{place}: content {read_back.version} under the tag {name}:{place.name}; import it again"
            )
        return read_back

    def _find(self, tag: str) -> Path | None:
        """Return the folder of an artefact that is plainly there, as BentoML lays it out, without importing BentoML.

        BentoML and what it imports take a third of the memory of a small service.
        """
        name, _, version = tag.partition(":")
        if _NAME.fullmatch(name) is None:
            return None
        if version in ("", "latest"):
            with suppress(OSError):
                version = (self._models / name / "latest").read_text().strip()
        folder = self._models / name / version
        return folder if _NAME.fullmatch(version) and (folder / "model.yaml").is_file() else None

    def _ask(self, tag: str) -> Path:
        """Return the folder that BentoML finds, which may repair its files or complete a version.

        Raises:
            LookupError: the store does not hold the tag.
        """
        from bentoml.exceptions import BentoMLException

        try:
            return Path(_models().get(tag, _model_store=self._bento()).path)
        except BentoMLException as error:
            held = ", ".join(stored.tag for stored in self._list()) or "nothing"
            raise LookupError(f"the model store has no {tag!r}; it holds {held}") from error

    def _bento(self) -> Any:
        """Return BentoML's store of this home; its own default is the home of the first store of a process."""
        from bentoml._internal.models.model import ModelStore

        self._models.mkdir(parents=True, exist_ok=True)
        return ModelStore(self._models)

    def _list(self) -> Sequence[Stored]:
        models = sorted(_models().list(_model_store=self._bento()), key=lambda model: model.creation_time, reverse=True)
        return [
            Stored(
                tag=str(model.tag),
                path=str(model.path),
                created=model.creation_time.isoformat(timespec="seconds"),
                bytes=sum(file.stat().st_size for file in Path(model.path).iterdir() if file.is_file()),
            )
            for model in models
        ]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the store against other processes until the end of the block."""
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _models() -> Any:
    import bentoml

    return bentoml.models
