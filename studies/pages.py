"""Page harness: commands, layout and output shared by the pages of all studies.

A page is a sequence of Markdown blocks (headings, paragraphs, lists, tables, pictures) with a blank line between two.
A study writes the page down to a mark; the discussion below the mark is written by hand and kept.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.markdown import table as table
from models.artefact import MANIFEST, Artefact
from models.manifest import Manifest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
ARTEFACTS, QUALITY, DATASHEETS = ROOT / "artefacts", ROOT / "docs" / "quality", ROOT / "docs" / "datasheets"
MARKER = "<!-- Below: written by hand, kept when the page is written again. -->"
NONE = "–"
"""Cell of a table without a number."""
_DIGITS = 12


def parser(study: str, description: str | None, *, out: Path | None = None, work: str = "") -> argparse.ArgumentParser:
    """Return the parser of a study's command, with its usual options.

    Args:
        study: module below ``studies``.
        out: default of ``--out``, the folder that pages and pictures are written to; None for no such option.
        work: default folder of ``--work`` below ``.demur``, where finished pieces are kept; empty for no such option.
    """
    options = argparse.ArgumentParser(
        prog=f"python -m studies.{study}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if out:
        options.add_argument("--out", type=Path, default=out, help="folder of what is written")
    if work:
        options.add_argument(
            "--work", type=Path, default=ROOT / ".demur" / work, help="folder of finished pieces and logs"
        )
    return options


def real_data(task: str, needed: str = ".", root: Path | None = None) -> Path:
    """Return the folder of a task's real data.

    Args:
        needed: file or folder in it that the study requires.
        root: folder of the folders of all tasks; default: DEMUR_TEST_DATA, or ../shared/data beside the repository.

    Raises:
        LookupError: the data are missing.
    """
    root = root or Path(os.environ.get("DEMUR_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not (root / task / needed).exists():
        raise LookupError(f"{root} has no {task}/{needed}: set DEMUR_TEST_DATA to the folder of real data")
    return root / task


def reference_artefacts(task: str) -> list[Path]:
    """Return the folders of a task's reference artefacts, sorted by name."""
    return sorted(path.parent for path in (ARTEFACTS / task).glob(f"*/{MANIFEST}"))


def written_by(command: str) -> str:
    """Return the first sentence of a page."""
    return f"Written by `python -m studies.{command}` down to the discussion."


def document(*blocks: str) -> str:
    """Join Markdown blocks; empty ones are left out."""
    return "\n\n".join(block for block in blocks if block)


def bullets(*lines: str) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def picture(words: str, file: str) -> str:
    """Return a Markdown picture."""
    return f"![{words}]({file})"


def number(value: float, form: str) -> str:
    """Format a number; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:{form}}"


def spread(values: NDArray[np.float64], scale: float = 1.0, form: str = ".2f") -> str:
    """Return mean ± standard deviation (ddof 0) of ``scale * values``; a single value alone."""
    mean = f"{scale * values.mean():{form}}"
    return mean if len(values) == 1 else f"{mean} ± {scale * values.std():{form}}"


def write(page: Path, *blocks: str) -> None:
    """Write the blocks of a page above the hand-written part below the mark; a new page ends with the mark."""
    page.parent.mkdir(parents=True, exist_ok=True)
    below = page.read_text().partition(MARKER)[2] if page.exists() else ""
    page.write_text(f"{document(*blocks)}\n\n{MARKER}{below or chr(10)}")


def save(figure: Figure, path: Path, dpi: int = 90) -> None:
    """Write a picture whose bytes do not depend on the version of the drawing library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, metadata={"Software": None})


def thinned(curve: NDArray[Any], points: int = 400, skip: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return share retained and value at up to ``points`` points of a curve [n + 1], without the first ``skip``."""
    kept = np.unique(np.linspace(skip, len(curve) - 1, points).astype(int))
    return kept / (len(curve) - 1), curve[kept]


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence: ``a, b and c``."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def named(artefact: Artefact) -> str:
    """Return folder and first digits of the sha256 of the weights, e.g. ``vessel/dnn-10 (0123456789ab)``.

    Pages name artefacts by their weights, since other files of an artefact may change while its figures stay. An
    artefact of several model files is named by their ``digest``.
    """
    manifest = artefact.manifest
    known = manifest.files[manifest.executor.file] if manifest.executor.file else digest(manifest)
    return f"{manifest.task}/{artefact.directory.name} ({known[:_DIGITS]})"


def digest(manifest: Manifest) -> str:
    """Return the sha256 of the lines that ``sha256sum`` prints of the model files, sorted by name.

    It depends only on the model files: not on card, calibration, golden rows or further files of the manifest.
    """
    names = sorted({name for executor in manifest.executors for name in executor.files})
    lines = "".join(f"{manifest.files[name]}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()
