"""Writes the pinned, hashed lists of packages that images are made of.

``python deploy/images/lock.py`` asks pip which versions pyproject.toml and constraints.txt lead to and writes
``requirements-cpu.txt``, ``requirements-gpu.txt`` and ``requirements-build.txt`` beside this file. It installs nothing.
It needs Python 3.11 on Linux x86-64, which is what images run: other processors have other wheels and other hashes.
"""

import json
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]

EXTRAS = ("postgres", "tracing")
"""Extras of pyproject.toml that every image has, as far as they are defined."""

LEFT_OUT = frozenset({"graphviz", "matplotlib", "plotly"})
"""What CatBoost declares for drawing, and imports only when it is asked to draw: 150 MB."""

OURS = frozenset({"demur", "demur-client"})

RUNTIMES = {
    "cpu": ("onnxruntime",),
    "gpu": ("onnxruntime-gpu[cuda,cudnn]",),
}
"""Variant to what stands for ONNX Runtime; both install the same module, so that an image has one of them. The extras
are NVIDIA's wheels of CUDA and cuDNN."""

BUILD = ("setuptools>=77",)


def requirements(variant: str) -> list[str]:
    """What an image of the variant asks for: pyproject's dependencies, with its ONNX Runtime."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    given = [*project["dependencies"]]
    for extra in EXTRAS:
        given += project["optional-dependencies"].get(extra, [])
    found = []
    for text in given:
        asked = Requirement(text)
        name = canonicalize_name(asked.name)
        if name == "onnxruntime":
            found += [f"{runtime}{asked.specifier}" for runtime in RUNTIMES[variant]]
        elif name != "onnxruntime-gpu" and name not in OURS:
            found.append(text)
    return found


def constraints() -> list[str]:
    """Lines of constraints.txt; the version of ONNX Runtime holds for both of its builds."""
    lines = (PROJECT / "constraints.txt").read_text().splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    return pinned + [line.replace("-gpu", "") for line in pinned if line.startswith("onnxruntime-gpu==")]


def resolved(asked: Iterable[str], constrained: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """What pip would install: canonical name to pip's report of it."""
    with tempfile.TemporaryDirectory() as scratch:
        limits, report = Path(scratch) / "constraints.txt", Path(scratch) / "report.json"
        limits.write_text("\n".join(constrained))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", "--constraint", str(limits), "--report", str(report), *asked]
        subprocess.run(command, check=True)
        return {canonicalize_name(one["metadata"]["name"]): one for one in json.loads(report.read_text())["install"]}


def reached(asked: Iterable[str], found: dict[str, dict[str, Any]]) -> set[str]:
    """Names of what is needed by what was asked for, but for what is left out and needed by nothing else."""
    waiting = [Requirement(text) for text in asked]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        asking = waiting.pop()
        place = canonicalize_name(asking.name), frozenset(asking.extras)
        if place in seen or place[0] in LEFT_OUT or place[0] not in found:  # not found: a marker that does not hold
            continue
        seen.add(place)
        for text in found[place[0]]["metadata"].get("requires_dist", ()):
            needed = Requirement(text)
            extras = {"", *asking.extras}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return {name for name, _ in seen}


def write(path: Path, names: Iterable[str], found: dict[str, dict[str, Any]]) -> None:
    """One pinned and hashed line a package."""
    lines = ["# Made by deploy/images/lock.py of pyproject.toml and constraints.txt. Python 3.11, Linux x86-64."]
    for name in sorted(names):
        digest = found[name]["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={found[name]['metadata']['version']} --hash=sha256:{digest}")
    path.write_text("\n".join(lines) + "\n")
    print(f"{path.name}: {len(lines) - 1} packages")


def main() -> None:
    """Writes all lists."""
    if sys.version_info[:2] != (3, 11) or (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit("images run Python 3.11 on Linux x86-64; make their lists there")
    for variant in RUNTIMES:
        asked = requirements(variant)
        found = resolved(asked, constraints())
        write(HERE / f"requirements-{variant}.txt", reached(asked, found), found)
    found = resolved(BUILD)
    write(HERE / "requirements-build.txt", found, found)


if __name__ == "__main__":
    main()
