"""Output of the report of evaluations to a folder: one page, and its figures as files."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.evaluation.compare import Comparison
from models.evaluation.evaluate import Evaluation
from models.evaluation.unit_errors import BadFile
from services.report import captions, naming, retention_sections
from services.report.block import Block, File
from services.report.calibration_section import variances
from services.report.comparison_section import differences
from services.report.curves import retention_curves, system_curve
from services.report.drawing import Chart
from services.report.page import page
from services.report.uncertainty_section import uncertainty

PAGE, FIGURES = "report.html", "figures"


def write_report(
    directory: Path,
    evaluations: Sequence[Evaluation],
    comparison: Comparison | None,
    human_error: float,
    progress: Callable[[float, str], None],
) -> Path:
    """Write ``report.html`` and ``figures/NAME.svg`` and ``.png`` into a folder, and return the page's path.

    A new folder appears when it is complete. In an existing folder the figures and then the page replace earlier
    ones; other files stay. The same input gives the same bytes.

    Args:
        human_error: mean error of the human who answers deferred units, in the error's unit; 0 leaves them out.
        progress: called with the share done, 0 to 1, and the present step.

    Raises:
        ValueError: no evaluations, or a human error that is negative or not finite.
        BadFile: files are judged by different errors, or matplotlib is not installed.
        OSError: the folder cannot be written.
    """
    _comparable(evaluations)
    with np.errstate(all="ignore"):  # values beyond float64 are infinite: they are written, but not drawn
        files = _files(evaluations, human_error, progress)
        blocks = _blocks(files, comparison, human_error, progress)
    document = page(files, blocks)
    charts = [panel.chart for block in blocks for panel in block.panels]
    progress(0.98, "writing")
    _place(directory.resolve(), document, charts)
    progress(1.0, PAGE)
    return directory / PAGE


def _comparable(evaluations: Sequence[Evaluation]) -> None:
    if not evaluations:
        raise ValueError("a report needs at least one evaluation, got none")
    first = evaluations[0].judged
    for judged in (evaluation.judged for evaluation in evaluations[1:]):
        if (judged.error_name, judged.error.unit) != (first.error_name, first.error.unit):
            raise BadFile(
                f"{judged.source} is judged by {judged.error_name} ({judged.error.unit}), {first.source} by "
                f"{first.error_name} ({first.error.unit}): one report needs one error; choose it, or write two reports"
            )


def _files(evaluations: Sequence[Evaluation], human_error: float, progress: Callable[[float, str], None]) -> list[File]:
    """Return the files with their curves, computed one after the other."""
    names = naming.labels([evaluation.judged.source for evaluation in evaluations])
    files = []
    for place, (name, evaluation) in enumerate(zip(names, evaluations, strict=True)):
        progress(0.4 * place / len(names), f"curves of {name}")
        system = system_curve(evaluation.judged, human_error) if human_error else None
        files.append(File(place, name, evaluation, retention_curves(evaluation.judged), system))
    return files


def _blocks(
    files: Sequence[File], comparison: Comparison | None, human_error: float, progress: Callable[[float, str], None]
) -> list[Block]:
    """Return the sections with figures, in reading order."""
    progress(0.4, "retention figures")
    error, f1 = retention_sections.error_retention(files), retention_sections.f1_retention(files)
    if f1 is None:
        error = replace(error, remark=captions.no_f1(files[0].evaluation.judged))
    progress(0.6, "error of the answers")
    if human_error:
        answers = retention_sections.system_error(files, human_error)
    else:
        answers = retention_sections.answered_error(files)
    progress(0.65, "uncertainty")
    spread = uncertainty(files)
    progress(0.8, "calibration")
    calibration = variances(files)
    progress(0.9, "comparison")
    compared = differences(files, comparison) if comparison else None
    return [block for block in (error, f1, answers, spread, calibration, compared) if block is not None]


def _place(directory: Path, document: str, charts: Sequence[Chart]) -> None:
    """Write everything to a temporary folder first, then move it into place."""
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
