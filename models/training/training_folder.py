"""Folder that holds the members of one training, so that an interrupted training can resume."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

DESCRIPTION = "training.json"


def claim(directory: Path, description: Mapping[str, str]) -> None:
    """Reserve a folder: create it, or check that it belongs to the same training.

    Args:
        description: everything that determines the trained weights: data, settings, versions.

    Raises:
        ValueError: the folder belongs to another training.
    """
    path = directory / DESCRIPTION
    directory.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_whole(path, json.dumps(dict(description), indent=1, sort_keys=True).encode())
    stored = json.loads(path.read_text())
    other = sorted(name for name in stored | description if stored.get(name) != description.get(name))
    if other:
        raise ValueError(
            f"{directory} holds members of another training, with a different {', '.join(other)}: "
            "name another folder, or remove this one"
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; safe with concurrent writers."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


@contextmanager
def parts_folder(out: Path, parts: Path | None = None) -> Iterator[Path]:
    """Yield the folder for intermediate results of the artefact ``out``.

    By default it is a folder beside ``out``, which is removed when the block succeeds; a folder given by the caller is
    kept.
    """
    yield (folder := parts or out.with_name(f"{out.name}.parts"))
    if parts is None:
        shutil.rmtree(folder, ignore_errors=True)
