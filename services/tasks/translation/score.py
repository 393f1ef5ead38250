"""Implementation of ``demur score translation``: sends lines of text to the running service; writes a submission."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

import demur
from models.tasks.translation.data import generated, official, submission
from models.tasks.translation.data.generated import Generated, Hypothesis
from models.tasks.translation.data.lines import text_lines
from models.tasks.translation.inference.translator import TokenValues, Translation
from models.tasks.translation.text.documents import as_one, cut_at
from models.workbench import Option
from services.runtime.streaming_output import growing, summary
from services.tasks.scoring import Outcome, Scorer, ScoreRequest, counted, summary_row

SUMMARY, SUBMISSION, TEXT, PRINTED = "summary.csv", "submission.jsonl", "translation.txt", "output.txt"
COLUMNS = (
    "line",
    "sentence",
    "source",
    "translation",
    "decision",
    "reason",
    "uncertainty",
    "threshold",
    "measure",
    "shifted",
    "shift_reasons",
    "confidence",
    "score_nats",
    "remarks",
    "prediction_id",
    "recorded",
    "policy",
    "model",
    "error",
)
"""Columns of the summary, which has a row per sentence; lines and sentences count from 0."""
Row: TypeAlias = dict[str, Any]
_HYPOTHESES = 5


@dataclass
class _Run:
    """State of a run: outputs and counts."""

    request: ScoreRequest
    submission: BinaryIO
    text: BinaryIO
    printed: BinaryIO | None
    write: Callable[[Mapping[str, Any]], None]
    """Function that writes a row of the summary."""
    lines: int = 0
    sentences: int = 0
    deferred: int = 0
    shifted: int = 0
    withheld: int = 0
    failed: int = 0
    """Number of sentences or whole lines without a translation."""
    left_out: int = 0
    """Number of lines that are not in the submission because a sentence failed or is withheld."""

    def add(self, source: str, outcome: demur.Translations | demur.ChunkError) -> None:
        """Write the rows of a line to the summary, and add to the other files."""
        number = self.lines
        self.lines += 1
        if isinstance(outcome, demur.ChunkError):
            self.failed += 1
            self.left_out += 1
            self.text.write(_line(source))
            self.request.failed(f"line {number + 1}", outcome.error, self.write, {"line": number, "source": source})
            return
        (translation,) = outcome
        self.sentences += len(translation.sentences) + len(translation.failures)
        self.text.write(_line(translation.text))
        withheld = [sentence for sentence in translation.sentences if sentence.best is None]
        if translation.failures or withheld:
            self.left_out += 1
        else:
            self._submit(_whole(number, translation))
        for sentence in translation.sentences:
            self.deferred += sentence.deferred
            self.shifted += sentence.shifted
            self.withheld += sentence.best is None
            self.write({"line": number} | _row(sentence))
        for failure in translation.failures:
            self.failed += 1
            start, stop = failure.within
            where = {"line": number, "source": source[start:stop]}
            self.request.failed(f"line {number + 1}", failure.error, self.write, where)

    def outcome(self) -> Outcome:
        """Return the counts of the run."""
        names = ("lines", "sentences", "deferred", "shifted", "withheld", "failed", "left_out")
        counts = {name: getattr(self, name) for name in names}
        text = f"{self.sentences} sentences of {self.lines} lines, {self.deferred} deferred, {self.shifted} shifted"
        words = {"withheld": "withheld", "failed": "failed", "left_out": "lines not in the submission"}
        text += counted(counts, words)
        document = counts | {"summary": SUMMARY, "submission": SUBMISSION, "translation": TEXT}
        return Outcome(document, text, failed=bool(self.failed))

    def _submit(self, one: Generated) -> None:
        self.submission.write(f"{_record(one)}\n".encode())
        if self.printed is not None:
            self.printed.write("".join(f"{line}\n" for line in generated.lines([one])).encode())


def run(request: ScoreRequest) -> Outcome:
    """Translate lines and write the answers; a line that fails does not end the run.

    Raises:
        ValueError: nothing to translate, or an output that is not a folder.
        demur.DemurError: the service cannot be reached or failed; earlier answers are written.
    """
    request.check_folder()
    texts = _texts(request.source)
    request.output.mkdir(parents=True, exist_ok=True)
    with (
        summary(request.output / SUMMARY, COLUMNS) as add,
        growing(request.output / SUBMISSION) as submitted,
        growing(request.output / TEXT) as text,
        growing(request.output / PRINTED) as printed,
        demur.connect(request.target) as client,
    ):
        done = _Run(request, submitted, text, printed if request.options["fairseq"] else None, add)
        outcomes = client.translation.predict_many(texts, purpose=request.purpose, tokens="all", timeout=None)
        for source, outcome in zip(texts, outcomes, strict=True):
            done.add(source, outcome)
            request.progress(min(done.lines / len(texts), 0.999), f"line {done.lines}")
    request.progress(1.0, "")
    return done.outcome()


def _texts(path: Path) -> Sequence[str]:
    """Return the lines of a text file, or the segments of an SGM file."""
    if path.suffix == ".sgm":
        return [segment.text for segment in official.segments(path)]
    return list(text_lines(path))


def _whole(number: int, translation: demur.Translation) -> Generated:
    """Return a line as one n-best list."""
    translations = [_translation(sentence) for sentence in translation.sentences]
    if not any(translated.tokens for translated in translations):  # no sentence is English: the line is copied
        score = -math.inf if translations else 0.0
        return Generated(number, translation.source, None, (Hypothesis(translation.text, score),) * _HYPOTHESES)
    whole = as_one(
        cut_at(translation.source, [sentence.source_span for sentence in translation.sentences]), translations
    )
    values = whole.values or {}
    hypotheses = tuple(
        Hypothesis(
            text=text,
            score=float(whole.score[rank]),
            token_log_probabilities=tuple(whole.tokens[rank].log_probabilities.tolist()) if whole.tokens else (),
            scores={name: float(value[rank]) for name, value in values.items()},
        )
        for rank, text in enumerate(whole.texts)
    )
    return Generated(number, translation.source, None, hypotheses)


def _record(sentence: Generated) -> str:
    """Return a line of the submission; without scores, hypotheses are equal and the uncertainty is infinite."""
    if not sentence.hypotheses[0].scores and not math.isfinite(sentence.hypotheses[0].score):
        hypos = [
            {"text": hypothesis.text, "confidence": 1 / len(sentence.hypotheses)} for hypothesis in sentence.hypotheses
        ]
        return json.dumps({"id": sentence.id, "uncertainty": math.inf, "hypos": hypos}, ensure_ascii=False)
    measure = submission.ENSEMBLE if sentence.hypotheses[0].scores else submission.SINGLE
    (line,) = submission.lines([sentence], measure)
    return line


def _translation(sentence: demur.TranslatedSentence) -> Translation:
    """Return a sentence as a ``Translation`` of the models."""
    hypotheses = sentence.hypotheses
    names = hypotheses[0].scores
    return Translation(
        texts=tuple(hypothesis.text for hypothesis in hypotheses),
        score=np.array([hypothesis.score for hypothesis in hypotheses], np.float32),
        values=None
        if names is None
        else {
            name: np.array([(hypothesis.scores or {})[name] for hypothesis in hypotheses], np.float32) for name in names
        },
        tokens=tuple(
            TokenValues(
                np.stack([hypothesis.tokens.starts, hypothesis.tokens.stops], axis=1),
                hypothesis.tokens.log_probabilities,
                hypothesis.tokens.total,
                hypothesis.tokens.data,
                hypothesis.tokens.knowledge,
            )
            for hypothesis in hypotheses
            if hypothesis.tokens is not None
        ),
    )


def _row(sentence: demur.TranslatedSentence) -> Row:
    row = summary_row(sentence, COLUMNS)
    row["sentence"] = sentence.item
    if (best := sentence.best) is not None:
        row |= {"translation": best.text, "confidence": f"{best.confidence:.4f}", "score_nats": f"{best.score:.5f}"}
    return row


def _line(text: str) -> bytes:
    return f"{' '.join(text.splitlines())}\n".encode()


SCORER = Scorer(
    source="a text file, a text a line, or an .sgm file of the benchmark",
    output=(
        "folder for submission.jsonl, the official submission, translation.txt, a translation a line, and summary.csv, "
        "a row a sentence; `demur evaluate` reads the first"
    ),
    run=run,
    examples=(
        "demur score translation news.en out/",
        "demur evaluate --task translation --predictions out/submission.jsonl --references news.ru",
    ),
    options=(
        Option(
            "--fairseq", "also write output.txt, the lines that the released scripts print (S, H, P, SU)", kind=None
        ),
    ),
)
