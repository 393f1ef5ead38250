"""A folder of one training's finished members: whoever goes on in it must be that training."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

DESCRIPTION = "training.json"


def claim(directory: Path, description: Mapping[str, str]) -> None:
    """Makes the folder, or checks that it was made for the same.

    Args:
        description: what makes the trained models what they are: data, settings, versions.

    Raises:
        ValueError: the folder is another training's.
    """
    path = directory / DESCRIPTION
    directory.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_whole(path, json.dumps(dict(description), indent=1, sort_keys=True).encode())
    found = json.loads(path.read_text())
    other = sorted(name for name in found | description if found.get(name) != description.get(name))
    if other:
        raise ValueError(
            f"{directory} holds members of another training, with a different {', '.join(other)}: "
            "name another folder, or remove this one"
        )


def write_whole(path: Path, content: bytes) -> None:
    """A file that is there completely or not at all, whoever else writes it at the same time."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)
