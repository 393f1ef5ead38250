"""Generate the blocking client from the asynchronous one; with ``--check`` only report whether it is up to date.

``demur/_async`` is written by hand. ``demur/_sync`` is the same text without ``async`` and ``await``, under the names
of the blocking client, and with the primitives of ``demur/_threads.py`` in place of those of ``demur/_event_loop.py``.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "clients" / "python" / "demur"
SOURCE, TARGET = PACKAGE / "_async", PACKAGE / "_sync"

HEADER = "# Generated from demur/_async/{name} by tests/regenerate_blocking_client.py. Edit that file instead.\n"

SUBSTITUTIONS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"demur\._event_loop\b", "demur._threads"),
        (r"demur\._async\b", "demur._sync"),
        (r"\bAsyncGenerator\[(.+?), None\]", r"Generator[\1, None, None]"),
        (r"\bAwaitable\[(\w+)\]", r"\1"),
        (r"\bAsync([A-Z]\w*)", r"\1"),
        (r"__a(enter|exit|next)__", r"__\1__"),
        (r"(?<!contextlib\.)\ba(closing|close|next)\b", r"\1"),
        (r"\bawait asyncio\.to_thread\((\w+), ", r"\1("),
        (r"\basyncio\.sleep\b", "time.sleep"),
        (r"\bimport asyncio\b", "import time"),
        (r"\b(async|await) ", ""),
        (r"\bAsynchronous\b", "Blocking"),
        (r"\btasks of its event loop\b", "threads"),
    )
)
"""Patterns and replacements, applied one after the other."""


def blocking(source: str, name: str) -> str:
    """Return the blocking counterpart of an asynchronous module, formatted.

    Args:
        source: text of the module.
        name: name of its file.
    """
    for pattern, replacement in SUBSTITUTIONS:
        source = pattern.sub(replacement, source)
    target = ["--stdin-filename", str(TARGET / name), "-"]
    # unused and unsorted imports; loops that are `yield from` now
    fixes = ["--quiet", "--fix-only", "--unsafe-fixes", "--select", "F401,I,UP028"]
    return _ruff(["format"], target, _ruff(["check", *fixes], target, HEADER.format(name=name) + source))


def generated() -> dict[Path, str]:
    """Return the text of every module of the blocking client, by its path."""
    return {TARGET / path.name: blocking(path.read_text(), path.name) for path in sorted(SOURCE.glob("*.py"))}


def _ruff(command: list[str], target: list[str], text: str) -> str:
    arguments = [sys.executable, "-m", "ruff", *command, *target]
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=True, cwd=PROJECT).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    modules = generated()
    stale = [path for path, text in modules.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in TARGET.glob("*.py") if path not in modules]
    if check:
        if stale:
            names = ", ".join(str(path.relative_to(PROJECT)) for path in stale)
            print(f"{names}: not what {SOURCE.name} gives; run python -m {__spec__.name}", file=sys.stderr)
        return 1 if stale else 0
    TARGET.mkdir(exist_ok=True)
    for path in stale:
        if path in modules:
            path.write_text(modules[path])
        else:
            path.unlink()
    print(f"{len(modules)} modules, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
