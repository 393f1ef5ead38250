"""A threshold for each group of units, all of which hold together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.certification.choose import Capacity, Goal, SelectiveRisk, TargetRetention

Index = NDArray[np.intp]


def shared_goal(goal: Goal, groups: int) -> Goal:
    """The goal of each of G groups, so that all are met together with confidence 1 - delta: delta / G (Bonferroni).

    Each group then has a procedure of its own (Mondrian). One with too few units for its delta gets no threshold and
    is deferred: the threshold of all units promises nothing about it, so it is never lent.
    """
    if isinstance(goal, SelectiveRisk | TargetRetention | Capacity):
        return replace(goal, delta=goal.delta / max(groups, 1))
    return goal


def split_by(values: NDArray[Any]) -> Mapping[str, Index]:
    """Each value as text, in order, to the indices [k] of its units."""
    names, inverse = np.unique(values.astype(str), return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    cuts = np.cumsum(np.bincount(inverse))[:-1]
    return dict(zip(names.tolist(), np.split(order, cuts), strict=True))
