"""Writer of the benchmark's submission and references: JSON lines that ``nbest`` and ``references`` read."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.tasks.translation.data.generated import Generated
from models.tasks.translation.data.nbest import MOST_HYPOTHESES
from models.tasks.translation.spec import HYPOTHESES
from models.training.training_folder import write_whole
from models.uncertainty.sequences import SCORES, confidences

ENSEMBLE, SINGLE = HYPOTHESES.ensemble_measure, HYPOTHESES.single_measure
"""Measures of the released baselines: SCR-PE of an ensemble, and the negative log-likelihood of a single model."""


def uncertainty(sentence: Generated, measure: str) -> float:
    """Return a measure of a sentence: the mean over its hypotheses.

    The measure is one of the 19 scores, or the negated score of the search (``nll``). The log-probability is negated,
    as every measure grows with uncertainty.

    Raises:
        ValueError: the measure is unknown, or the sentence does not have it.
    """
    if measure == SINGLE:
        return float(np.mean([-hypothesis.score for hypothesis in sentence.hypotheses]))
    if measure not in SCORES:
        raise ValueError(f"measure {measure!r} is not one of {', '.join((SINGLE, *SCORES))}")
    if not all(measure in hypothesis.scores for hypothesis in sentence.hypotheses):
        raise ValueError(f"sentence {sentence.id} has no {measure}: a single model says only {SINGLE}")
    mean = float(np.mean([hypothesis.scores[measure] for hypothesis in sentence.hypotheses]))
    return -mean if measure == "log_prob" else mean


def weights(sentence: Generated) -> list[float]:
    """Return the confidences of a sentence's hypotheses: exp(score) over its sum."""
    return [
        float(confidence)
        for confidence in confidences(np.array([[hypothesis.score for hypothesis in sentence.hypotheses]]))[0]
    ]


def joined(in_domain: Sequence[Generated], shifted: Sequence[Generated]) -> list[Generated]:
    """Join both parts of development data; ids of the shifted part follow those of the in-domain part."""
    return [*in_domain, *(replace(sentence, id=sentence.id + len(in_domain)) for sentence in shifted)]


def lines(sentences: Iterable[Generated], measure: str) -> Iterator[str]:
    """Yield a line per sentence: id, uncertainty, and hypotheses with confidences that sum to 1 when read again.

    Raises:
        ValueError: the measure is missing, a sentence has too many hypotheses or another number than before, or an id
            occurs twice.
    """
    seen: set[int] = set()
    count = None
    for sentence in sentences:
        number = len(sentence.hypotheses)
        if not 0 < number <= MOST_HYPOTHESES or number != (count or number):
            allowed = count or f"1 to {MOST_HYPOTHESES}"
            raise ValueError(f"sentence {sentence.id} has {number} hypotheses; {allowed} are needed")
        if sentence.id in seen:
            raise ValueError(f"id {sentence.id} is given twice")
        seen.add(sentence.id)
        count = number
        named = zip(sentence.hypotheses, weights(sentence), strict=True)
        hypos = [{"text": hypothesis.text, "confidence": weight} for hypothesis, weight in named]
        yield _json({"id": sentence.id, "uncertainty": uncertainty(sentence, measure), "hypos": hypos})


def reference_lines(sentences: Iterable[Generated], first_shifted: int | None = None) -> Iterator[str]:
    """Yield a line per sentence: id, ref, and the domain if known: 1 from the id ``first_shifted`` on, else 0.

    Raises:
        ValueError: a sentence has no reference.
    """
    for sentence in sentences:
        if sentence.reference is None:
            raise ValueError(f"sentence {sentence.id} has no reference")
        domain = {} if first_shifted is None else {"domain": int(sentence.id >= first_shifted)}
        yield _json({"id": sentence.id, "ref": sentence.reference, **domain})


def write(path: Path, sentences: Iterable[Generated], measure: str) -> None:
    """Write the submission to a file."""
    _write(path, lines(sentences, measure))


def write_references(path: Path, sentences: Iterable[Generated], first_shifted: int | None = None) -> None:
    """Write the references to a file."""
    _write(path, reference_lines(sentences, first_shifted))


def _write(path: Path, rows: Iterable[str]) -> None:
    write_whole(path, "".join(f"{row}\n" for row in rows).encode())


def _json(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)
