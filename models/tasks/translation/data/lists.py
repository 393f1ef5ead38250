"""Lists of hypotheses from the official submission or from output of fairseq."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile, Mask
from models.tasks.translation.data import generated, nbest, submission
from models.tasks.translation.data.generated import Generated
from models.uncertainty.sequences import SCORES

IN_DOMAIN, SHIFTED = ("results-test.txt", "results_test.txt"), ("results-test1.txt", "results_test1.txt")
"""File names of fairseq's output for both parts of development data: newstest and Reddit."""


@dataclass(frozen=True)
class Lists:
    """N lists of H hypotheses by ascending id."""

    ids: NDArray[np.int64]
    texts: tuple[tuple[str, ...], ...]
    confidences: NDArray[np.float64]
    """Confidences [N, H]."""
    measures: Mapping[str, NDArray[np.float64]]
    """Values [N] by measure; the first one is used to defer."""
    references: tuple[str, ...] | None = None
    """References, if the file has them."""
    shifted: Mask | None = None
    """Mask of shifted sentences, if the file has it."""


def read(path: Path) -> Lists:
    """Read the lists of a submission, of a file that fairseq printed, or of a folder of two such files.

    The files of a folder are the two parts of development data; ids of the second part follow those of the first.

    Raises:
        BadFile: see ``nbest.read`` and ``generated.read``; or lists differ in length, or a folder lacks one of the two
            files.
    """
    if path.is_dir():
        parts = [generated.read(_printed(path, names)) for names in (IN_DOMAIN, SHIFTED)]
        for part in parts:
            _check_numbers(path, part)
        first = len(parts[0])
        lists = _of_generated(path, submission.joined(*parts))
        return Lists(**{**vars(lists), "shifted": lists.ids >= first})
    if generated.is_generated(path):
        return _of_generated(path, generated.read(path))
    submitted = nbest.read(path)
    return Lists(submitted.ids, submitted.texts, submitted.confidences, {"uncertainty": submitted.uncertainty})


def _printed(folder: Path, names: Sequence[str]) -> Path:
    paths = [folder / name for name in names if (folder / name).is_file()]
    if len(paths) != 1:
        raise BadFile(
            f"{folder}: {' and '.join(names) if paths else names[0]} {'are both there' if paths else 'is missing'}; a "
            f"folder has what fairseq printed for both parts of development data, {IN_DOMAIN[0]} and {SHIFTED[0]}"
        )
    return paths[0]


def _check_numbers(path: Path, sentences: Sequence[Generated]) -> None:
    """Check that ids of a part count from 0, so that those of the next part can follow."""
    if strange := {sentence.id for sentence in sentences} - set(range(len(sentences))):
        raise BadFile(f"{path}: id {min(strange)} in a part of {len(sentences)} sentences; are some left out?")


def _of_generated(path: Path, sentences: Sequence[Generated]) -> Lists:
    ordered = sorted(sentences, key=lambda sentence: sentence.id)
    first = ordered[0]
    for entry in ordered:
        if len(entry.hypotheses) != len(first.hypotheses):
            raise BadFile(
                f"{path}: sentence {entry.id} has {len(entry.hypotheses)} hypotheses, and sentence {first.id} has "
                f"{len(first.hypotheses)}; one number is needed"
            )
    scored = [sentence.id for sentence in ordered if all(hypothesis.scores for hypothesis in sentence.hypotheses)]
    if scored and len(scored) < len(ordered):
        missing = next(sentence.id for sentence in ordered if sentence.id not in set(scored))
        raise BadFile(f"{path}: sentence {missing} has no scores (SU lines), and sentence {scored[0]} has them")
    names = (submission.ENSEMBLE, *(name for name in SCORES if name != submission.ENSEMBLE))
    measures = names if scored else (submission.SINGLE,)
    references = tuple(sentence.reference for sentence in ordered if sentence.reference is not None)
    return Lists(
        np.array([sentence.id for sentence in ordered], np.int64),
        tuple(tuple(hypothesis.text for hypothesis in sentence.hypotheses) for sentence in ordered),
        np.array([submission.weights(sentence) for sentence in ordered]),
        {name: np.array([submission.uncertainty(sentence, name) for sentence in ordered]) for name in measures},
        references if len(references) == len(ordered) else None,
    )
