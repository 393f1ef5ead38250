"""Installed distributions as far as entry points go, and programs that see them before those of the environment."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
CLIENT = PROJECT / "clients" / "python"
EntryPoints = Mapping[str, Mapping[str, str]]
"""Group to name to value."""


def declared(pyproject: Path) -> tuple[str, EntryPoints]:
    """Return name and entry points of a project."""
    project = tomllib.loads(pyproject.read_text())["project"]
    return project["name"], project.get("entry-points", {})


def install(folder: Path, name: str, entry_points: EntryPoints) -> None:
    """Write the metadata of a distribution into a folder, which hides one of the same name that comes later."""
    information = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in entry_points.items()
    )
    (information / "entry_points.txt").write_text("\n".join(sections))


def python(arguments: list[str], *paths: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with folders first on its path, followed by Demur's own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*paths, PROJECT, CLIENT)))}
    own = ["-P"] if cwd is None else []  # the metadata of an editable install lies in the working directory
    command = [sys.executable, *own, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False, cwd=cwd)
