"""``demur score translation``: lines of text through the running service, to a submission and a translation."""

from __future__ import annotations

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
from models.tasks.translation.inference.translator import Said, Translation
from models.tasks.translation.text.documents import as_one, cut_at
from models.workbench import Option
from services.runtime.streaming_output import growing, summary
from services.tasks.scoring import Asked, Outcome, Scorer

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
"""Of the summary, a row a sentence; lines and sentences count from 0."""
Row: TypeAlias = dict[str, Any]
_HYPOTHESES = 5


@dataclass
class _Run:
    """What becomes of lines, one after the other."""

    asked: Asked
    submission: BinaryIO
    text: BinaryIO
    printed: BinaryIO | None
    write: Callable[[Mapping[str, Any]], None]
    """Writes a row of the summary."""
    lines: int = 0
    sentences: int = 0
    deferred: int = 0
    shifted: int = 0
    withheld: int = 0
    failed: int = 0
    """Sentences, or whole lines, that were not translated."""
    left_out: int = 0
    """Lines that are not in the submission, because a sentence of theirs failed or is withheld."""

    def add(self, source: str, outcome: demur.Translations | demur.ChunkError) -> None:
        """Writes the rows of a line to the summary; adds to the other files."""
        number = self.lines
        self.lines += 1
        if isinstance(outcome, demur.ChunkError):
            self.failed += 1
            self.left_out += 1
            self.text.write(_line(source))
            self.asked.failed(f"line {number + 1}", outcome.error, self.write, {"line": number, "source": source})
            return
        (found,) = outcome
        self.sentences += len(found.sentences) + len(found.failures)
        self.text.write(_line(found.text))
        withheld = [one for one in found.sentences if one.best is None]
        if found.failures or withheld:
            self.left_out += 1
        else:
            self._submit(_whole(number, found))
        for sentence in found.sentences:
            self.deferred += sentence.deferred
            self.shifted += sentence.shifted
            self.withheld += sentence.best is None
            self.write({"line": number} | _row(sentence))
        for failure in found.failures:
            self.failed += 1
            start, stop = failure.within
            where = {"line": number, "source": source[start:stop]}
            self.asked.failed(f"line {number + 1}", failure.error, self.write, where)

    def outcome(self) -> Outcome:
        """All that became of them."""
        names = ("lines", "sentences", "deferred", "shifted", "withheld", "failed", "left_out")
        counts = {name: getattr(self, name) for name in names}
        told = f"{self.sentences} sentences of {self.lines} lines, {self.deferred} deferred, {self.shifted} shifted"
        words = {"withheld": "withheld", "failed": "failed", "left_out": "lines not in the submission"}
        told += "".join(f", {counts[name]} {word}" for name, word in words.items() if counts[name])
        document = counts | {"summary": SUMMARY, "submission": SUBMISSION, "translation": TEXT}
        return Outcome(document, told, failed=bool(self.failed))

    def _submit(self, one: Generated) -> None:
        self.submission.write(f"{_record(one)}\n".encode())
        if self.printed is not None:
            self.printed.write("".join(f"{line}\n" for line in generated.lines([one])).encode())


def run(asked: Asked) -> Outcome:
    """Translates line after line and writes what the service says; one that fails does not end it.

    Raises:
        ValueError: nothing to translate, or an output that is no folder.
        demur.DemurError: the service cannot be reached or gave up; what came before is written.
    """
    if asked.output.exists() and not asked.output.is_dir():
        raise ValueError(f"{asked.output} is a file; the output is a folder")
    texts = _texts(asked.source)
    asked.output.mkdir(parents=True, exist_ok=True)
    with (
        summary(asked.output / SUMMARY, COLUMNS) as add,
        growing(asked.output / SUBMISSION) as submitted,
        growing(asked.output / TEXT) as text,
        growing(asked.output / PRINTED) as printed,
        demur.connect(asked.target) as client,
    ):
        done = _Run(asked, submitted, text, printed if asked.options["fairseq"] else None, add)
        outcomes = client.translation.predict_many(texts, purpose=asked.purpose, tokens="all", timeout=None)
        for source, outcome in zip(texts, outcomes, strict=True):
            done.add(source, outcome)
            asked.progress(min(done.lines / len(texts), 0.999), f"line {done.lines}")
    asked.progress(1.0, "")
    return done.outcome()


def _texts(path: Path) -> Sequence[str]:
    """A text a line, or a segment of an SGM file."""
    if path.suffix == ".sgm":
        return [segment.text for segment in official.segments(path)]
    return list(text_lines(path))


def _whole(number: int, found: demur.Translation) -> Generated:
    """A line as one n-best list."""
    spoken = [_translation(one) for one in found.sentences]
    if not any(one.tokens for one in spoken):  # nothing in it is English: it is copied, in as many hypotheses as usual
        score = -math.inf if spoken else 0.0
        return Generated(number, found.source, None, (Hypothesis(found.text, score),) * _HYPOTHESES)
    whole = as_one(cut_at(found.source, [one.source_span for one in found.sentences]), spoken)
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
    return Generated(number, found.source, None, hypotheses)


def _record(one: Generated) -> str:
    """A line of the submission; of one that nothing is known of, all hypotheses alike and an infinite uncertainty."""
    if not one.hypotheses[0].scores and not math.isfinite(one.hypotheses[0].score):
        hypos = [{"text": found.text, "confidence": 1 / len(one.hypotheses)} for found in one.hypotheses]
        return json.dumps({"id": one.id, "uncertainty": math.inf, "hypos": hypos}, ensure_ascii=False)
    measure = submission.ENSEMBLE if one.hypotheses[0].scores else submission.SINGLE
    (line,) = submission.lines([one], measure)
    return line


def _translation(sentence: demur.TranslatedSentence) -> Translation:
    """As the models say it."""
    hypotheses = sentence.hypotheses
    names = hypotheses[0].scores
    return Translation(
        texts=tuple(one.text for one in hypotheses),
        score=np.array([one.score for one in hypotheses], np.float32),
        values=None
        if names is None
        else {name: np.array([(one.scores or {})[name] for one in hypotheses], np.float32) for name in names},
        tokens=tuple(
            Said(
                np.stack([one.tokens.starts, one.tokens.stops], axis=1),
                one.tokens.log_probabilities,
                one.tokens.total,
                one.tokens.data,
                one.tokens.knowledge,
            )
            for one in hypotheses
            if one.tokens is not None
        ),
    )


def _row(sentence: demur.TranslatedSentence) -> Row:
    found: Row = {name: getattr(sentence, name) for name in COLUMNS if hasattr(sentence, name)}
    found["sentence"] = sentence.item
    found["shift_reasons"] = " ".join(sentence.shift_reasons)
    found["remarks"] = " ".join(remark.code for remark in sentence.remarks)
    if (best := sentence.best) is not None:
        found |= {"translation": best.text, "confidence": f"{best.confidence:.4f}", "score_nats": f"{best.score:.5f}"}
    return found


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
