"""Reader of files of opinions: second opinions and labels of known units, as ``demur monitor export`` writes them."""

import math
from pathlib import Path
from typing import Any, get_args

import numpy as np

from models.agreement.relation import OF_CLASSES, Relation
from models.evaluation.stream import ID, TIME
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile
from models.live.reviewer_figures import ReviewedHead
from models.live.reviewers import Opinion

COLUMNS = (ID, TIME, "kind", "difference", "reviewer", "other", "relation", "classes", "largest")
KINDS = ("second", "known")


def read_opinions(path: Path, at: float = math.inf) -> tuple[ReviewedHead, list[Opinion]]:
    """Read opinions of one head.

    Columns ``event_id``, ``time``, ``kind`` (second or known), ``difference``, ``relation`` (empty: differences show
    nothing of the error); optional ``reviewer``, ``other``, ``classes`` and ``largest`` (empty: without limit).

    Args:
        at: time after which opinions are left out, seconds.

    Raises:
        BadFile: a column is missing or not numeric, a kind or relation is another word, or opinions are of several
            heads.
    """
    have = set(column_names(path))
    numeric = [TIME, "difference", *sorted({"classes", "largest"} & have)]
    texts = [ID, "kind", "relation", *sorted({"reviewer", "other", "task", "head"} & have)]
    columns = read_columns(path, numeric, texts, may_be_empty=True)
    for name in ("task", "head"):
        if len(several := np.unique(columns.get(name, np.empty(0, str)))) > 1:
            raise BadFile(f"{path}: {name} is {' and '.join(map(str, several))}; opinions of one head are needed")
    head = _head(path, columns)
    kinds = np.char.lower(columns["kind"].astype(str))
    _check(path, "kind", kinds, np.isin(kinds, KINDS), f"one of {', '.join(KINDS)}")
    differences = columns["difference"]
    _check(path, "difference", differences, np.isnan(differences) | (differences >= 0), "a number from 0, or empty")
    nobody = np.full(len(kinds), "")
    reviewers, others = columns.get("reviewer", nobody), columns.get("other", nobody)
    units = np.unique(columns[ID].astype(str), return_inverse=True)[1].tolist()
    rows = zip(units, columns[TIME], kinds, differences, reviewers, others, strict=True)
    opinions = [
        Opinion(str(number), (0, unit), kind == "known", str(reviewer), str(other), float(time), float(difference))
        for number, (unit, time, kind, difference, reviewer, other) in enumerate(rows)
        if time <= at
    ]
    return head, opinions


def _head(path: Path, columns: dict[str, Any]) -> ReviewedHead:
    relations = sorted(set(columns["relation"].astype(str).tolist()))
    if len(relations) > 1:
        raise BadFile(f"{path}: relation is {', '.join(relations)}: several heads; give a file of one head")
    relation = next((own for own in get_args(Relation) if own in relations), None)
    if relation is None and relations not in ([], [""]):
        raise BadFile(f"{path}: relation is {relations[0]!r}; one of {', '.join(get_args(Relation))} is needed")
    classes, largest = (columns.get(name, np.empty(0)) for name in ("classes", "largest"))
    number, limit = (float(own[0]) if len(own) else math.nan for own in (classes, largest))
    if relation in OF_CLASSES and not number >= 2:
        raise BadFile(
            f"{path}: classes is {number:g}; the number of classes, at least 2, is needed for relation {relation}"
        )
    return ReviewedHead(
        ("", ""), "", relation, None if math.isnan(number) else int(number), math.inf if math.isnan(limit) else limit
    )


def _check(path: Path, name: str, values: Any, right: Any, needed: str) -> None:
    wrong = np.flatnonzero(~right)
    if len(wrong):
        raise BadFile(f"{path}: row {wrong[0]} (from 0): {name} is {str(values[wrong[0]])!r}; {needed} is needed")
