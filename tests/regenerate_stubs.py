"""Generates the Python stubs from the .proto files; with ``--check`` only says whether they are up to date."""

import argparse
import filecmp
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

PROJECT = Path(__file__).resolve().parents[1]
STUBS = {
    "demur/v1": PROJECT / "clients" / "python" / "demur" / "v1",
    "inference": PROJECT / "services" / "transport" / "oip" / "protocol",
    "shifts": PROJECT / "models" / "tasks" / "motion" / "protocol",
    "digits": PROJECT / "examples" / "digits",
}
"""Folder below one of ``ROOTS`` to the folder of its stubs. Those of ``MOVED`` import no others."""
ROOTS = (PROJECT / "proto", PROJECT / "examples")
"""Folders that the imports of .proto files start from."""
MOVED = ("inference", "shifts")


def generate(target: Path) -> dict[Path, Path]:
    """Writes the stubs below ``target`` and returns each with the place where it belongs.

    Messages without services get no ``_grpc`` module, nor do files that are moved: it would not find them.
    """
    sources = [(root, path) for root in ROOTS for path in sorted(root.rglob("*.proto"))]
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    code = protoc.main(["protoc", *(f"-I{root}" for root in ROOTS), *outputs, *(str(path) for _, path in sources)])
    if code:
        raise SystemExit(f"protoc failed with exit code {code}")
    for root, source in sources:
        folder = source.parent.relative_to(root)
        if "\nservice " not in source.read_text() or folder.parts[0] in MOVED:
            (target / folder / f"{source.stem}_pb2_grpc.py").unlink()
    return {path: STUBS[folder] / path.name for folder in STUBS for path in sorted((target / folder).iterdir())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        places = generate(Path(scratch))
        stale = [
            place
            for fresh, place in places.items()
            if not place.exists() or not filecmp.cmp(fresh, place, shallow=False)
        ]
        extra = [path for folder in STUBS.values() for path in folder.glob("*_pb2*") if path not in places.values()]
        if check:
            if stale or extra:
                names = ", ".join(str(path.relative_to(PROJECT)) for path in stale + extra)
                print(f"stubs differ from the .proto files: {names}; run `make protos`", file=sys.stderr)
            return 1 if stale or extra else 0
        for path in extra:
            path.unlink()
        for fresh, place in places.items():
            shutil.copyfile(fresh, place)
        print(f"{len(places)} stubs written, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
