"""Official n-best file: JSON lines {id, uncertainty, hypos: [{text, confidence}]} (Shifts 1.0, section 4)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data.lines import field, identifier, number, records, text

MOST_HYPOTHESES = 10
SUM_TOLERANCE = 1e-5
"""Tolerance of the sum of a list's confidences, as in the released evaluation."""


@dataclass(frozen=True)
class NBest:
    """N lists of H hypotheses, by ascending id as in the released evaluation."""

    ids: NDArray[np.int64]
    uncertainty: NDArray[np.float64]
    texts: tuple[tuple[str, ...], ...]
    confidences: NDArray[np.float64]
    """Confidences [N, H]."""


def read(path: Path) -> NBest:
    """Return the lists of a file.

    Raises:
        BadFile: a line is not such a record, an id occurs twice, lists differ in length or have more than 10
            hypotheses, or confidences are negative or do not sum to 1 within 1e-5.
    """
    places: dict[int, str] = {}
    rows: list[tuple[int, float, tuple[str, ...], list[float]]] = []
    for place, record in records(path):
        key = identifier(place, record)
        if key in places:
            raise BadFile(f"{place}: id {key} is also in {places[key].rpartition(', ')[2]}; ids are given once")
        places[key] = place
        texts, confidences = _hypotheses(place, record)
        if rows and len(texts) != len(rows[0][2]):
            first = len(rows[0][2])
            raise BadFile(f"{place}: hypos has {len(texts)} hypotheses, and line 1 has {first}; one number is needed")
        rows.append((key, number(place, record, "uncertainty"), texts, confidences))
    rows.sort(key=lambda row: row[0])
    ids, uncertainty, lists, weights = zip(*rows, strict=True)
    return NBest(np.array(ids, np.int64), np.array(uncertainty), lists, np.array(weights))


def _hypotheses(place: str, record: dict[str, Any]) -> tuple[tuple[str, ...], list[float]]:
    hypotheses = field(place, record, "hypos")
    if not isinstance(hypotheses, list) or not all(isinstance(entry, dict) for entry in hypotheses):
        raise BadFile(f"{place}: hypos is no list of objects {{text, confidence}}")
    if not 0 < len(hypotheses) <= MOST_HYPOTHESES:
        raise BadFile(f"{place}: hypos has {len(hypotheses)} hypotheses; 1 to {MOST_HYPOTHESES} are needed")
    named = [(f"{place}, hypos[{index}]", entry) for index, entry in enumerate(hypotheses)]
    texts = tuple(text(where, entry, "text") for where, entry in named)
    confidences = [number(where, entry, "confidence") for where, entry in named]
    if min(confidences) < 0:
        raise BadFile(f"{place}: confidence is {min(confidences)}; it lies between 0 and 1")
    total = float(np.sum(confidences))
    if not abs(total - 1) < SUM_TOLERANCE:
        raise BadFile(f"{place}: confidence sums to {total:.8g} over hypos; 1 within {SUM_TOLERANCE:g} is needed")
    return texts, confidences
