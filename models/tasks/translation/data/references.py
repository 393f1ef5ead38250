"""Reference translations and domain labels by the id of a sentence."""

import itertools
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data.lines import identifier, records, text, text_lines


def read(path: Path) -> dict[int, str]:
    """Read references by id: official JSON lines {id, ref}, or plain text whose line number, from 0, is the id.

    Raises:
        BadFile: the file does not exist, is empty or not UTF-8, a record has no id or ref, or an id occurs twice.
    """
    if not _is_json(path):
        return dict(enumerate(text_lines(path)))
    references: dict[int, str] = {}
    for place, record in records(path):
        key = identifier(place, record)
        if key in references:
            raise BadFile(f"{place}: id {key} is given twice; one reference an id is needed")
        references[key] = text(place, record, "ref")
    return references


def in_order(path: Path, ids: NDArray[np.int64], source: Path) -> list[str]:
    """Return the reference of each id [N]; both files must have the same ids.

    Raises:
        BadFile: see ``read``; or an id of ``source`` has no reference, or a reference has no prediction.
    """
    references = read(path)
    missing = [key for key in ids.tolist() if key not in references]
    if missing:
        raise BadFile(f"{source}: id {missing[0]} has no reference in {path}, which has {len(references)}")
    if len(references) > len(ids):
        unanswered = min(references.keys() - set(ids.tolist()))
        count = len(references) - len(ids)
        raise BadFile(
            f"{source}: id {unanswered} of {path} has no prediction; {count} are missing, and every one counts"
        )
    return [references[key] for key in ids.tolist()]


def domains(path: Path, ids: NDArray[np.int64], source: Path) -> tuple[NDArray[np.int64], int]:
    """Return the label of each id [N], other than 0 if it is shifted, and the number of labels in the file.

    Raises:
        BadFile: a line is not a whole number, or an id is beyond the file.
    """
    labels: list[np.int64] = []
    for number, line in enumerate(text_lines(path), 1):
        try:
            labels.append(np.int64(line))
        except (ValueError, OverflowError) as error:
            raise BadFile(f"{path}, line {number} is {line[:40]!r}; a whole number is needed, 0 in-domain") from error
    if ids.max() >= len(labels):
        raise BadFile(f"{path} has {len(labels)} labels, one a line by id from 0; {source} has the id {ids.max()}")
    return np.array(labels, np.int64)[ids], len(labels)


def own_domains(path: Path, ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the label of each id [N] from the field ``domain`` of JSON lines of references.

    The released code writes this field; None without it.

    Raises:
        BadFile: only some lines have it, or it is not a whole number.
    """
    if not _is_json(path):
        return None
    labels: dict[int, int] = {}
    missing: str | None = None
    for place, record in records(path):
        if "domain" not in record:
            missing = missing or place
            continue
        value = record["domain"]
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
            raise BadFile(f"{place}: domain is {value!r}; a whole number is needed, 0 in-domain")
        labels[identifier(place, record)] = value
    if not labels:
        return None
    if missing is not None:
        raise BadFile(f"{missing}: domain is missing, and other lines have it")
    return np.array([labels[key] for key in ids.tolist()], np.int64)


def _is_json(path: Path) -> bool:
    if path.suffix in (".json", ".jsonl"):
        return True
    for line in itertools.islice(text_lines(path), 1):
        try:
            return isinstance(record := json.loads(line), dict) and "ref" in record
        except (ValueError, RecursionError):
            return False
    return False
