"""From evaluations to a folder: one page, and each of its figures as files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from models.evaluation.compare import Comparison
from models.evaluation.evaluate import Evaluation
from models.evaluation.unit_errors import BadFile
from services import __version__
from services.report import answers, judgement, naming, retentions
from services.report.block import Block, File
from services.report.curves import retention_curves, system_curve
from services.report.drawing import Chart
from services.report.histograms import uncertainty_histogram
from services.report.page import page
from services.report.spread import uncertainty

PAGE, FIGURES = "report.html", "figures"


def write_report(
    directory: Path,
    evaluations: Sequence[Evaluation],
    comparison: Comparison | None,
    human_error: float,
    progress: Callable[[float, str], None],
) -> Path:
    """Writes ``report.html`` and ``figures/NAME.svg`` and ``.png`` into a folder, and returns the page's path.

    A new folder appears when it is complete. In a folder that exists the figures and then the page replace earlier
    ones, and all else stays. The same input gives the same bytes.

    Args:
        human_error: mean error of whoever answers what is deferred, in the error's unit; 0 leaves them out.
        progress: told the share done, 0 to 1, and what is being done.

    Raises:
        ValueError: no evaluations, or a human error that is negative or not finite.
        BadFile: files are judged by different errors, or matplotlib is not installed.
        OSError: the folder cannot be written.
    """
    _comparable(evaluations)
    with np.errstate(all="ignore"):  # what exceeds float64 is infinite, is written so, and is not drawn
        files = _files(evaluations, human_error, progress)
        shown, compared = _blocks(files, comparison, human_error, progress)
    document = page(files, shown, compared, comparison, __version__)
    charts = [panel.chart for block in (*shown, compared) if block for panel in block.panels]
    progress(0.98, "writing")
    _place(directory.resolve(), document, charts)
    progress(1.0, PAGE)
    return directory / PAGE


def _comparable(evaluations: Sequence[Evaluation]) -> None:
    if not evaluations:
        raise ValueError("a report needs at least one evaluation, got none")
    first = evaluations[0].judged
    for one in evaluations[1:]:
        judged = one.judged
        if (judged.error_name, judged.error.unit) != (first.error_name, first.error.unit):
            raise BadFile(
                f"{judged.source} is judged by {judged.error_name} ({judged.error.unit}), {first.source} by "
                f"{first.error_name} ({first.error.unit}): one report needs one error; choose it, or write two reports"
            )


def _files(evaluations: Sequence[Evaluation], human_error: float, progress: Callable[[float, str], None]) -> list[File]:
    """Curves of all files, one after the other."""
    names = naming.labels([one.judged.source for one in evaluations])
    files = []
    for place, (name, one) in enumerate(zip(names, evaluations, strict=True)):
        progress(0.4 * place / len(names), f"curves of {name}")
        system = system_curve(one.judged, human_error) if human_error else None
        files.append(File(place, name, one, retention_curves(one.judged), system))
    return files


def _blocks(
    files: Sequence[File], comparison: Comparison | None, human_error: float, progress: Callable[[float, str], None]
) -> tuple[list[Block], Block | None]:
    """The figures in reading order, and those of the comparison."""
    progress(0.4, "retention figures")
    made: list[Block | None] = [retentions.error_retention(files), retentions.f1_retention(files)]
    progress(0.6, "error of the answers")
    made.append(answers.system_error(files, human_error) if human_error else answers.answered_error(files))
    progress(0.65, "uncertainty")
    made.append(uncertainty(files, [uncertainty_histogram(file.evaluation.judged) for file in files]))
    progress(0.8, "calibration")
    made.append(judgement.variances(files))
    progress(0.9, "comparison")
    compared = judgement.differences(files, comparison) if comparison else None
    return [block for block in made if block is not None], compared


def _place(directory: Path, document: str, charts: Sequence[Chart]) -> None:
    """Everything is written beside its place first, then moved."""
    exists = directory.is_dir()
    around = directory if exists else directory.parent
    around.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        holder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".report-", dir=around)))
        made = holder / "made"
        (made / FIGURES).mkdir(parents=True)
        (made / PAGE).write_text(document, encoding="utf-8")
        for chart in charts:
            (made / FIGURES / f"{chart.name}.svg").write_bytes(chart.svg)
            (made / FIGURES / f"{chart.name}.png").write_bytes(chart.png)
        if not exists:
            made.rename(directory)
            return
        if (directory / FIGURES).exists():
            (directory / FIGURES).rename(holder / "earlier")
        (made / FIGURES).rename(directory / FIGURES)
        (made / PAGE).replace(directory / PAGE)
