"""Write docs/settings.md from ``services/runtime/settings.py``; with ``--check`` only compare."""

import argparse
import ast
import inspect
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from services.runtime import settings
from services.runtime.ranges import RANGES
from services.runtime.settings import TASK_DEFAULTS, Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"

INTRODUCTION = """# Settings

All settings are environment variables, read once at start. A service refuses to start if a value has the wrong type or
is out of range, and its error names the variable. An unknown `DEMUR_…` variable is logged with the most similar
setting. Put the name of a task after `DEMUR_` to set a value for that task alone, which takes precedence over the
general one: `DEMUR_WEATHER_CENSUS=temperature`, `DEMUR_VESSEL_MODEL=vessel-variational-10x10`.

| variable | default | range | description |
|---|---|---|---|
"""

REMAINDER = """
Other variables:

| variable | default | description |
|---|---|---|
| `DEMUR_ALLOW_REMOTE` | empty | 1: `DEMUR_HOST` may be reachable by others; a proxy must authenticate callers |
| `DEMUR_ARTEFACTS` | the repository's `artefacts` | Directory of the reference artefacts, one folder per task |
| `DEMUR_TOKEN`, `DEMUR_TOKEN_FILE` | empty | Bearer token of clients, or the file with it |
| `DEMUR_ROOTS` | empty | PEM file with the authorities that clients trust; empty: the system's |
| `DEMUR_CLIENT_CERTIFICATE`, `DEMUR_CLIENT_KEY` | empty | PEM files with a client's certificate and key (mTLS) |

## Thresholds and `DEMUR_PROVIDER`

A calibrated threshold is bound to a *numeric profile*: provider, precision and layout of the graph; on a GPU also
version, arithmetic and architecture. The shipped artefacts are calibrated on the CPU (`cpu-…`). With
`DEMUR_PROVIDER=cuda` a service scores the artefact's replay set at its first start, compares the device's scores with
the recorded ones, and keeps the thresholds if they hold there: [qualification.md](qualification.md). If they do not,
the service predicts but **defers everything**, and the policy states the reason (`defer_all`).

The shipped translation artefact computes in eight bits, which CUDA does not support: with `DEMUR_PROVIDER=cuda` alone
its service fails to start, and so does `demur up`. Also set `DEMUR_TRANSLATION_PROVIDER=cpu`, or serve an artefact made
by `demur train translation --precision fp16 --provider cuda`. Trees, such as those of the shipped weather artefact, run
on the CPU with every provider.
"""


def page() -> str:
    """The page as it should be."""
    texts = docstrings()
    ranges = {name: f"{_number(lower)} to {_number(upper)}" for name, lower, upper in RANGES}
    rows = []
    for field in fields(Settings):
        default = field.default
        shown = "empty" if default in ("", None) else f"`{_plain(default)}`"
        own = {task: defaults[field.name] for task, defaults in TASK_DEFAULTS.items() if field.name in defaults}
        shown += "".join(f"; {task}: `{_plain(value)}`" for task, value in own.items())
        limits = ranges.get(field.name, "")
        if not limits and str(field.type).startswith("Literal"):
            limits = " or ".join(f"`{choice}`" for choice in ast.literal_eval(str(field.type).removeprefix("Literal")))
        rows.append(f"| `DEMUR_{field.name.upper()}` | {shown} | {limits} | {texts[field.name].removesuffix('.')} |")
    return INTRODUCTION + "\n".join(rows) + "\n" + REMAINDER


def docstrings() -> dict[str, str]:
    """The string below each field, in one line; a field without one is missing."""
    (module,) = ast.parse(inspect.getsource(settings.Settings)).body
    assert isinstance(module, ast.ClassDef)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(module.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def _plain(value: Any) -> str:
    """As it would be written into the environment."""
    return f"{value:g}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def _number(value: float) -> str:
    """Digits in groups of three: bytes run to many."""
    return f"{int(value):_}".replace("_", " ") if value > 10_000 else _plain(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    fresh = page()
    stale = not PAGE.exists() or PAGE.read_text() != fresh
    if check:
        if stale:
            print(
                "docs/settings.md differs from services/runtime/settings.py; run python -m tests.settings_page",
                file=sys.stderr,
            )
        return int(stale)
    PAGE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
