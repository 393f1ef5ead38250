"""Writes what an image consists of: a CycloneDX 1.5 document of its Python packages and its Debian packages.

Runs while the image is built, with the standard library alone. The same image gives the same bytes: the time is
SOURCE_DATE_EPOCH and the serial number is made of the content.

    python3 sbom.py --site-packages DIR --dpkg-status FILE --lock FILE --name demur --version 1.0 --output sbom.cdx.json
"""

import argparse
import json
import os
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from email.parser import HeaderParser
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = dict[str, Any]


def canonical(name: str) -> str:
    """A Python package's name as indexes have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: Path) -> dict[str, str]:
    """Canonical name and version, as ``name==version``, to the sha256 of the wheel that was installed."""
    pattern = re.compile(r"^(\S+==\S+) --hash=sha256:([0-9a-f]{64})$", re.MULTILINE)
    return dict(pattern.findall(lock.read_text()))


def licence(distribution: Distribution) -> list[dict[str, Any]]:
    """What a package says of its licence, as CycloneDX has it: an expression, or names."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [text for text in metadata.get_all("Classifier", []) if text.startswith("License :: ")]
    names = [text.rpartition(" :: ")[2] for text in classifiers]
    stated = metadata.get("License", "").strip()
    if not names and stated and "\n" not in stated and stated != "UNKNOWN":
        names = [stated]
    return [{"license": {"name": name}} for name in sorted(set(names))]


def python_packages(site_packages: Path, lock: Path) -> Iterator[Component]:
    """Every installed distribution, with the hash of its wheel as far as the lock has it."""
    hashes = locked(lock)
    for distribution in distributions(path=[str(site_packages)]):
        name, version = canonical(distribution.metadata["Name"]), distribution.version
        purl = f"pkg:pypi/{name}@{quote(version)}"
        found: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        if digest := hashes.get(f"{name}=={version}"):
            found["hashes"] = [{"alg": "SHA-256", "content": digest}]
        if licences := licence(distribution):
            found["licenses"] = licences
        yield found


def debian_packages(status: Path, release: str) -> Iterator[Component]:
    """Every installed package of dpkg's status file."""
    for paragraph in status.read_text().split("\n\n"):
        fields = HeaderParser().parsestr(paragraph)
        if fields.get("Status") != "install ok installed":
            continue
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        purl = f"pkg:deb/debian/{name}@{quote(version)}?arch={architecture}&distro={release}"
        found: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        source = fields.get("Source", name).partition(" ")[0]
        found["properties"] = [{"name": "debian:source", "value": source}]
        yield found


def document(components: list[Component], name: str, version: str, variant: str, epoch: int) -> dict[str, Any]:
    """The whole, in the order of references."""
    ordered = sorted(components, key=lambda one: one["bom-ref"])
    content = json.dumps([name, version, variant, ordered], sort_keys=True)
    about = {"type": "container", "bom-ref": f"{name}@{version}", "name": name, "version": version}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z"),
            "component": {**about, "properties": [{"name": "demur:variant", "value": variant}]},
        },
        "components": ordered,
        "dependencies": [{"ref": about["bom-ref"], "dependsOn": [one["bom-ref"] for one in ordered]}],
    }


def main() -> None:
    """Reads the packages and writes the document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--site-packages", type=Path, required=True)
    parser.add_argument("--dpkg-status", type=Path, required=True)
    parser.add_argument("--release", default="debian-12", help="distribution, as package URLs name it")
    parser.add_argument("--lock", type=Path, required=True, help="pinned and hashed requirements")
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--variant", required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    components = [
        *python_packages(given.site_packages, given.lock),
        *debian_packages(given.dpkg_status, given.release),
    ]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or 0)
    whole = document(components, given.name, given.version, given.variant, epoch)
    given.output.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
