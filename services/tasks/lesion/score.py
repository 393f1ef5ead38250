"""Implementation of ``demur score lesion``: sends scans to the service; writes official files, tables and figures."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import demur
from models.evaluation.files import need
from models.tasks.lesion.data import inputs
from models.tasks.lesion.data.inputs import Input
from models.workbench import Option
from services.runtime.streaming_output import summary
from services.tasks.lesion.figure import figure
from services.tasks.lesion.grand_challenge import Submission, sent
from services.tasks.scoring import Outcome, Scorer, ScoreRequest, summary_row

SUMMARY = "summary.csv"
COLUMNS = (
    "id",
    "folder",
    "decision",
    "reason",
    "uncertainty",
    "threshold",
    "measure",
    "shifted",
    "shift_reasons",
    "count",
    "count_lower",
    "count_upper",
    "volume_mm3",
    "volume_mm3_lower",
    "volume_mm3_upper",
    "level",
    "total",
    "data",
    "knowledge",
    "rmi",
    "structural",
    "brain_ml",
    "resampled",
    "look_at_voxels",
    "remarks",
    "prediction_id",
    "recorded",
    "policy",
    "model",
    "error",
)
"""Columns of the summary: uncertainties in nats; ``level`` is that of the intervals."""
_SINGLE = {"t1": "t1", "brain_mask": "brain_mask", "truth": "truth"}
"""Option name to the field of an input that it sets, for a single scan."""


@dataclass
class _Tally:
    """Counts and answers of the scans so far."""

    done: int = 0
    answers: list[dict[str, Any]] = field(default_factory=list)
    deferred: int = 0
    shifted: int = 0
    failed: int = 0
    undrawn: int = 0
    """Answered scans without the figure that was requested."""
    left_out: int = 0
    """Answered scans that are not in the requested submission."""
    submission: Submission | None = None


def run(request: ScoreRequest) -> Outcome:
    """Segment scans and write the answers; a scan that fails does not end the run.

    Raises:
        ValueError: nothing to score, an output that is not a folder, or incompatible options.
        demur.DemurError: the service cannot be reached or failed; earlier answers are written.
    """
    scans = _inputs(request)
    request.check_folder()
    if request.options["figure"]:
        need("matplotlib", "a figure")  # checked before a minute's work
    request.output.mkdir(parents=True, exist_ok=True)
    tally = _Tally(submission=Submission(request.output) if request.options["submission"] else None)
    with ExitStack() as stack:
        add = stack.enter_context(summary(request.output / SUMMARY, COLUMNS))
        client = stack.enter_context(demur.connect(request.target))
        if tally.submission is not None:
            stack.callback(tally.submission.write)
        channels = client.lesion.describe().names
        with_t1 = not channels or "t1" in channels or request.options["t1"] is not None
        outcomes = client.lesion.predict_many(
            (_scan(scan, with_t1) for scan in scans),
            purpose=request.purpose,
            progress=lambda place, share, stage: request.progress(
                min((place + share) / len(scans), 0.999), f"{scans[place].id}: {stage}"
            ),
        )
        for scan, outcome in zip(scans, outcomes, strict=True):
            if isinstance(outcome, demur.ScanError):
                _failed(request, tally, scan, outcome.error, add)
            else:
                add(_noted(request, tally, scan, outcome, alone=len(scans) == 1))
            tally.done += 1
            request.progress(min(tally.done / len(scans), 0.999), scan.id)
    request.progress(1.0, "")
    return _outcome(tally, len(scans))


def _inputs(request: ScoreRequest) -> tuple[Input, ...]:
    scans = inputs.find(request.source)
    named = {name: request.options[option] for option, name in _SINGLE.items() if request.options[option] is not None}
    if not named:
        return scans
    if not request.source.is_file():
        option = next(iter(named)).replace("_", "-")
        raise ValueError(f"--{option} is for a single scan; in a folder, files are found by their official names")
    return (replace(scans[0], **named),)


def _scan(scan: Input, with_t1: bool) -> demur.Scan:
    flair = sent(scan.flair)
    assert flair is not None
    return demur.Scan(flair, sent(scan.t1) if with_t1 else None, sent(scan.brain_mask), scan.id)


def _failed(
    request: ScoreRequest, tally: _Tally, scan: Input, error: demur.DemurError, add: Callable[[Mapping[str, Any]], None]
) -> None:
    where = {"id": scan.id, "folder": scan.folder.as_posix()}
    tally.failed += 1
    tally.answers.append(where | {"error": str(error)})
    if tally.submission is not None:
        tally.submission.failed(scan, error)
    request.failed(scan.id, error, add, where)


def _noted(
    request: ScoreRequest, tally: _Tally, scan: Input, outcome: demur.LesionAnswer, *, alone: bool
) -> dict[str, Any]:
    """Write the files of a scan; return its row of the summary."""
    where: dict[str, Any] = {"id": scan.id, "folder": scan.folder.as_posix()}
    folder = request.output / scan.folder
    written = outcome.save(folder, scan.id)
    maps = dict(zip(outcome.files, written, strict=False))  # followed by the table of lesions
    problems = []
    if request.options["figure"] and "mask" in outcome.files:
        try:
            written.append(figure(outcome, scan, maps, folder / f"{scan.id}_figure.png"))
        except ValueError as error:
            problems.append(f"no figure: {error}")
            tally.undrawn += 1
    if tally.submission is not None:
        try:
            written += tally.submission.add(scan, maps)
        except ValueError as error:
            tally.submission.failed(scan, error)
            problems.append(f"not in the submission: {error}")
            tally.left_out += 1
    problem = "; ".join(problems)
    tally.deferred += outcome.deferred
    tally.shifted += outcome.shifted
    files = [path.relative_to(request.output).as_posix() for path in written]
    tally.answers.append(where | outcome.to_dict() | {"files": files} | ({"error": problem} if problem else {}))
    request.tell(outcome.summary() if alone else f"{scan.id}: {outcome.outcome}")
    if problem:
        request.tell(f"{scan.id}: {problem}")
    return where | _row(outcome) | {"error": problem}


def _outcome(tally: _Tally, scans: int) -> Outcome:
    counts = {"scans": scans, "deferred": tally.deferred, "shifted": tally.shifted, "failed": tally.failed}
    text = f"{scans} scan{'' if scans == 1 else 's'}, {tally.deferred} deferred, {tally.shifted} shifted"
    text += f", {tally.failed} failed" if tally.failed else ""
    text += f", {tally.undrawn} without a figure" if tally.undrawn else ""
    text += f", {tally.left_out} not in the submission" if tally.left_out else ""
    document = counts | {"without_figure": tally.undrawn, "left_out": tally.left_out, "answers": tally.answers}
    return Outcome(document, text, failed=bool(tally.failed or tally.undrawn or tally.left_out))


def _row(answer: demur.LesionAnswer) -> dict[str, Any]:
    row = summary_row(answer, COLUMNS)
    for name, interval in (("count", answer.count_interval), ("volume_mm3", answer.volume_interval)):
        if interval is not None:
            row |= {f"{name}_lower": interval.lower, f"{name}_upper": interval.upper, "level": interval.level}
    return row


SCORER = Scorer(
    source=f"a NIfTI file or .mha, or a folder of *_{inputs.FLAIR}.nii.gz or of *.mha as on Grand Challenge",
    output=(
        "folder for the masks and maps of each scan under official names, its table of lesions, and summary.csv; "
        "`demur evaluate` reads it"
    ),
    run=run,
    examples=(
        "demur score lesion scans/ out/ --figure",
        "demur score lesion /input /output --submission",
        "demur evaluate --task lesion --predictions out/ --ground-truth scans/",
    ),
    options=(
        Option("--t1", "the T1 image of a single scan", kind=Path),
        Option("--brain-mask", "the brain mask of a single scan", kind=Path),
        Option("--truth", "the ground truth of a single scan, for the figure", kind=Path),
        Option(
            "--submission",
            "also write what Grand Challenge's evaluation reads: images/…-segmentation/ID.mha, "
            "images/…-uncertainty-map/ID.mha and results.json",
            kind=None,
        ),
        Option("--figure", "also draw each scan, with its lesions and its uncertainty, as ID_figure.png", kind=None),
    ),
)
