"""``demur score lesion``: scans through the running service, to official files, tables and figures."""

from __future__ import annotations

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
from services.tasks.scoring import Asked, Outcome, Scorer

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
"""Of the summary; uncertainties in nats, level is that of the intervals."""
_OF_ONE = {"t1": "t1", "brain_mask": "brain_mask", "truth": "truth"}
"""Options for a single scan to the fields that they fill."""


@dataclass
class _Tally:
    """What is known of the scans so far."""

    done: int = 0
    answers: list[dict[str, Any]] = field(default_factory=list)
    deferred: int = 0
    shifted: int = 0
    failed: int = 0
    undrawn: int = 0
    """Scans that were answered, but have no figure, though one was wanted."""
    left_out: int = 0
    """Scans that were answered, but are not in the submission, though one was wanted."""
    submission: Submission | None = None


def run(asked: Asked) -> Outcome:
    """Segments scan after scan and writes what the service says; one that fails does not end it.

    Raises:
        ValueError: nothing to score, an output that is no folder, or options that do not fit.
        demur.DemurError: the service cannot be reached or gave up; what came before is written.
    """
    found = _inputs(asked)
    if asked.output.exists() and not asked.output.is_dir():
        raise ValueError(f"{asked.output} is a file; the output is a folder")
    if asked.options["figure"]:
        need("matplotlib", "a figure")  # known before a minute's work
    asked.output.mkdir(parents=True, exist_ok=True)
    tally = _Tally(submission=Submission(asked.output) if asked.options["submission"] else None)
    with ExitStack() as stack:
        add = stack.enter_context(summary(asked.output / SUMMARY, COLUMNS))
        client = stack.enter_context(demur.connect(asked.target))
        if tally.submission is not None:
            stack.callback(tally.submission.write)
        channels = client.lesion.describe().names
        with_t1 = not channels or "t1" in channels or asked.options["t1"] is not None  # unless it is known to be idle
        told = client.lesion.predict_many(
            (_scan(one, with_t1) for one in found),
            purpose=asked.purpose,
            progress=lambda place, share, stage: asked.progress(
                min((place + share) / len(found), 0.999), f"{found[place].id}: {stage}"
            ),
        )
        for one, outcome in zip(found, told, strict=True):
            if isinstance(outcome, demur.ScanError):
                _failed(asked, tally, one, outcome.error, add)
            else:
                add(_noted(asked, tally, one, outcome, alone=len(found) == 1))
            tally.done += 1
            asked.progress(min(tally.done / len(found), 0.999), one.id)
    asked.progress(1.0, "")
    return _outcome(tally, len(found))


def _inputs(asked: Asked) -> tuple[Input, ...]:
    found = inputs.find(asked.source)
    given = {name: asked.options[option] for option, name in _OF_ONE.items() if asked.options[option] is not None}
    if not given:
        return found
    if not asked.source.is_file():
        option = next(iter(given)).replace("_", "-")
        raise ValueError(f"--{option} is for a single scan; in a folder it is found by its official name")
    return (replace(found[0], **given),)


def _scan(one: Input, with_t1: bool) -> demur.Scan:
    flair = sent(one.flair)
    assert flair is not None
    return demur.Scan(flair, sent(one.t1) if with_t1 else None, sent(one.brain_mask), one.id)


def _failed(
    asked: Asked, tally: _Tally, one: Input, error: demur.DemurError, add: Callable[[Mapping[str, Any]], None]
) -> None:
    where = {"id": one.id, "folder": one.folder.as_posix()}
    tally.failed += 1
    tally.answers.append(where | {"error": str(error)})
    if tally.submission is not None:
        tally.submission.failed(one, error)
    asked.failed(one.id, error, add, where)


def _noted(asked: Asked, tally: _Tally, one: Input, outcome: demur.LesionAnswer, *, alone: bool) -> dict[str, Any]:
    """Writes the files of a scan; what became of it, as a row of the summary."""
    where: dict[str, Any] = {"id": one.id, "folder": one.folder.as_posix()}
    folder = asked.output / one.folder
    written = outcome.save(folder, one.id)
    maps = dict(zip(outcome.files, written, strict=False))  # behind them comes the table of lesions
    problems = []
    if asked.options["figure"] and "mask" in outcome.files:
        try:
            written.append(figure(outcome, one, maps, folder / f"{one.id}_figure.png"))
        except ValueError as error:
            problems.append(f"no figure: {error}")
            tally.undrawn += 1
    if tally.submission is not None:
        try:
            written += tally.submission.add(one, maps)
        except ValueError as error:
            tally.submission.failed(one, error)
            problems.append(f"not in the submission: {error}")
            tally.left_out += 1
    problem = "; ".join(problems)
    tally.deferred += outcome.deferred
    tally.shifted += outcome.shifted
    files = [path.relative_to(asked.output).as_posix() for path in written]
    tally.answers.append(where | outcome.to_dict() | {"files": files} | ({"error": problem} if problem else {}))
    asked.tell(outcome.summary() if alone else f"{one.id}: {outcome.outcome}")
    if problem:
        asked.tell(f"{one.id}: {problem}")
    return where | _row(outcome) | {"error": problem}


def _outcome(tally: _Tally, scans: int) -> Outcome:
    counts = {"scans": scans, "deferred": tally.deferred, "shifted": tally.shifted, "failed": tally.failed}
    said = f"{scans} scan{'' if scans == 1 else 's'}, {tally.deferred} deferred, {tally.shifted} shifted"
    said += f", {tally.failed} failed" if tally.failed else ""
    said += f", {tally.undrawn} without a figure" if tally.undrawn else ""
    said += f", {tally.left_out} not in the submission" if tally.left_out else ""
    document = counts | {"without_figure": tally.undrawn, "left_out": tally.left_out, "answers": tally.answers}
    return Outcome(document, said, failed=bool(tally.failed or tally.undrawn or tally.left_out))


def _row(answer: demur.LesionAnswer) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(answer, name) for name in COLUMNS if hasattr(answer, name)}
    for name, interval in (("count", answer.count_interval), ("volume_mm3", answer.volume_interval)):
        if interval is not None:
            found |= {f"{name}_lower": interval.lower, f"{name}_upper": interval.upper, "level": interval.level}
    return found | {
        "shift_reasons": " ".join(answer.shift_reasons),
        "remarks": " ".join(remark.code for remark in answer.remarks),
    }


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
