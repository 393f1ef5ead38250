"""Generates the Python stubs from ``proto/``; with ``--check`` only says whether they are up to date."""

from __future__ import annotations

import argparse
import filecmp
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

PROJECT = Path(__file__).resolve().parents[1]
STUBS = PROJECT / "clients" / "python" / "demur" / "v1"


def generate(target: Path) -> list[str]:
    """Writes the stubs below ``target`` and returns their file names.

    Messages without services get no ``_grpc`` module.
    """
    sources = sorted((PROJECT / "proto").rglob("*.proto"))
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    code = protoc.main(["protoc", f"-I{PROJECT / 'proto'}", *outputs, *map(str, sources)])
    if code:
        raise SystemExit(f"protoc failed with exit code {code}")
    for source in sources:
        if "\nservice " not in source.read_text():
            (target / "demur" / "v1" / f"{source.stem}_pb2_grpc.py").unlink()
    return sorted(path.name for path in (target / "demur" / "v1").iterdir())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        names = generate(Path(scratch))
        fresh = Path(scratch) / "demur" / "v1"
        stale = [n for n in names if not (STUBS / n).exists() or not filecmp.cmp(fresh / n, STUBS / n, shallow=False)]
        extra = [path.name for path in STUBS.glob("*_pb2*") if path.name not in names]
        if check:
            if stale or extra:
                print(f"stubs differ from proto/: {', '.join(stale + extra)}; run `make protos`", file=sys.stderr)
            return 1 if stale or extra else 0
        for name in extra:
            (STUBS / name).unlink()
        for name in names:
            shutil.copyfile(fresh / name, STUBS / name)
        print(f"{len(names)} stubs written, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
