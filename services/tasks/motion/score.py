"""Implementation of ``demur score motion``: sends scenes or maps to the service; writes a submission."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import demur
from models.evaluation.files import need
from models.tasks.motion.data import scene_files
from models.tasks.motion.inference.scenes import STEP_S, Scene
from models.workbench import Option
from services.runtime.streaming_output import growing, summary
from services.tasks.motion.figure import figure, read
from services.tasks.scoring import Outcome, Scorer, ScoreRequest, counted, summary_row

SUMMARY, SUBMISSION, FIGURES = "summary.csv", "submission.pb", "figures"
SECONDS = (1.0, 3.0, 5.0)
"""Times of the spreads in the summary, s."""
SPREADS = ("total", "data", "knowledge")
COLUMNS = (
    "file",
    "scene",
    "track",
    "decision",
    "reason",
    "uncertainty",
    "threshold",
    "measure",
    "shifted",
    "shift_reasons",
    "best_x_m",
    "best_y_m",
    "confidences",
    *(f"{name}_{second:g}s_m2" for name in SPREADS for second in SECONDS),
    "unseen_seconds",
    "remarks",
    "prediction_id",
    "recorded",
    "policy",
    "model",
    "error",
)
"""Columns of the summary: the end of the most confident trajectory in the agent's frame, m; spreads in m²."""
Row: TypeAlias = dict[str, Any]
_OTHERS = re.compile(r"[^\w.-]+")
"""Characters that are replaced in file names."""


@dataclass
class _Run:
    """State of a run: outputs and counts."""

    request: ScoreRequest
    submission: BinaryIO
    write: Callable[[Mapping[str, Any]], None]
    """Function that writes a row of the summary."""
    requests: int = 0
    deferred: int = 0
    shifted: int = 0
    withheld: int = 0
    failed: int = 0
    """Number of requests without an answer, or not in the submission because an earlier file had them."""
    undrawn: int = 0
    """Number of answered requests without their requested figure."""
    files: int = 0
    unread: int = 0
    """Number of files without any answer."""
    _seen: set[int] = field(default_factory=set)
    """Hashes of scene and track of each answer, since a submission may contain each only once."""

    def add(self, path: Path, outcome: demur.MotionAnswers | demur.ChunkError) -> None:
        """Write the rows of a file to the summary, draw its figures, and add to the submission."""
        source = self.request.source
        file = path.name if source.is_file() else path.relative_to(source).as_posix()
        self.files += 1
        if isinstance(outcome, demur.ChunkError):
            self.unread += 1
            self.request.failed(file, outcome.error, self.write, {"file": file})
            return
        self.requests += len(outcome) + len(outcome.failures)
        again = self._submitted_before(outcome)
        if not again:
            self.submission.write(outcome.submission)
        drawn = _Drawn(self.request, path)
        for answer in outcome:
            self.deferred += answer.deferred
            self.shifted += answer.shifted
            self.withheld += answer.trajectories is None
            problem = "an earlier file has the same request; not in the submission" if again else ""
            self.failed += again
            if not problem and (problem := drawn.problem(answer)):
                self.undrawn += 1
            if problem:
                self.request.tell(f"{file}, track {answer.agent.track_id}: {problem}")
            self.write({"file": file, "error": problem} | _row(answer))
        for failure in outcome.failures:
            self.failed += 1
            where = {"file": file, "scene": outcome.scene_id, "track": failure.track_id}
            self.request.failed(f"{file}, track {failure.track_id}", failure.error, self.write, where)

    def outcome(self) -> Outcome:
        """Return the counts of the run."""
        names = ("files", "requests", "deferred", "shifted", "withheld", "failed", "unread", "undrawn")
        counts = {name: getattr(self, name) for name in names}
        text = f"{_many(self.requests, 'request')} of {_many(self.files, 'file')}, {self.deferred} deferred"
        text += f", {self.shifted} shifted"
        words = {"withheld": "withheld", "failed": "failed", "unread": "files failed", "undrawn": "without a figure"}
        text += counted(counts, words)
        document = counts | {"summary": SUMMARY, "submission": SUBMISSION}
        return Outcome(document, text, failed=bool(self.failed or self.unread or self.undrawn))

    def _submitted_before(self, outcome: demur.MotionAnswers) -> bool:
        """Return whether an earlier file had one of these requests."""
        keys = {hash((answer.agent.scene_id, answer.agent.track_id)) for answer in outcome if answer.agent.scene_id}
        before = not keys.isdisjoint(self._seen)
        self._seen |= keys
        return before


class _Drawn:
    """Figures of a file, which is read for the first figure."""

    def __init__(self, request: ScoreRequest, path: Path) -> None:
        self._folder = request.output / FIGURES if request.options["figure"] else None
        self._path = path

    def problem(self, answer: demur.MotionAnswer) -> str:
        """Draw a request, if figures are requested and it is not withheld; return the problem, empty for none."""
        if self._folder is None or answer.trajectories is None:
            return ""
        scene, track = answer.agent.scene_id, answer.agent.track_id
        stem = _OTHERS.sub("_", f"{scene}_{track}" if scene else self._path.stem)
        try:
            self._folder.mkdir(exist_ok=True)
            (self._folder / f"{stem}.png").write_bytes(figure(answer, self._content, self._path.name))
        except ValueError as error:
            return f"no figure: {error}"
        return ""

    @cached_property
    def _content(self) -> Scene | bytes:
        return read(self._path)


def run(request: ScoreRequest) -> Outcome:
    """Predict files and write the answers; a file that fails does not end the run.

    Raises:
        ValueError: nothing to score, an output that is not a folder, or incompatible options.
        demur.DemurError: the service cannot be reached or failed; earlier answers are written.
    """
    rendered = request.options["rendered"] or (
        request.source.is_file() and request.source.name.endswith(scene_files.MAPS)
    )
    tracks = request.options["tracks"]
    if tracks is not None and (rendered or not request.source.is_file()):
        raise ValueError("--tracks is for the file of a single scene; in folders each scene names its own")
    request.check_folder()
    if request.options["figure"]:
        need("matplotlib", "a figure")  # checked before minutes of work
    count = scene_files.counted(request.source, rendered, request.output)
    request.output.mkdir(parents=True, exist_ok=True)
    with (
        summary(request.output / SUMMARY, COLUMNS) as add,
        growing(request.output / SUBMISSION) as submission,
        demur.connect(request.target) as client,
    ):
        done = _Run(request, submission, add)
        sent_files, answered_files = (
            scene_files.scene_paths(request.source, rendered, request.output) for _ in range(2)
        )
        scenes = (demur.Maps([path]) if rendered else demur.Scene(path, tracks) for path in sent_files)
        outcomes = client.motion.predict_many(scenes, purpose=request.purpose, submission=True)
        for path, outcome in zip(answered_files, outcomes, strict=True):
            done.add(path, outcome)
            if count == 1 and isinstance(outcome, demur.MotionAnswers):
                request.tell(outcome.summary())
            request.progress(min(done.files / count, 0.999), path.name)
    request.progress(1.0, "")
    return done.outcome()


def _row(answer: demur.MotionAnswer) -> Row:
    row = summary_row(answer, COLUMNS)
    row |= {"scene": answer.agent.scene_id, "track": answer.agent.track_id}
    if answer.best is not None and answer.confidences is not None:
        row["best_x_m"], row["best_y_m"] = (f"{value:.3f}" for value in answer.best[-1].tolist())
        row["confidences"] = " ".join(f"{share:.4f}" for share in answer.confidences)
    for name in SPREADS:
        values = getattr(answer, name)
        for second in SECONDS:
            step = round(second / STEP_S) - 1
            if values is not None and step < len(values):
                row[f"{name}_{second:g}s_m2"] = f"{values[step]:.6g}"
    return row


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


SCORER = Scorer(
    source="a scene (.pb, .json), a prerendered map (.npy), or a folder of either",
    output=(
        "folder for submission.pb, the official submission of all requests, and summary.csv, a row a request; "
        "`demur evaluate` reads the former"
    ),
    run=run,
    examples=(
        "demur score motion scenes/ out/",
        "demur evaluate --task motion --predictions out/submission.pb --scenes scenes/",
    ),
    options=(
        Option("--tracks", "vehicles of a single scene instead of its prediction requests", kind=int, count="+"),
        Option("--rendered", "take the prerendered maps (.npy) of a folder instead of its scenes", kind=None),
        Option("--figure", "also draw each request from above, as figures/SCENE_TRACK.png", kind=None),
    ),
)
