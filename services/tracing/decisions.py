"""What was decided on the way of a request, as attributes of its span: counts and aggregates, never a unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from services.policy.decision import Decision
from services.tracing.trace import Value

_WORDS = {decision: decision.name.lower() for decision in Decision}


class _Head:
    def __init__(self) -> None:
        self.counts = [0] * (len(Decision) + 1)
        self.units = self.finite = self.shifted = 0
        self.sum = 0.0
        self.largest = -np.inf
        self.policy = self.measure = ""


class Decisions:
    """Adds up verdicts."""

    def __init__(self) -> None:
        self._heads: defaultdict[str, _Head] = defaultdict(_Head)

    def add(self, verdicts: Mapping[str, Any]) -> None:
        """Head name to ``policy.Verdict``."""
        for name, verdict in verdicts.items():
            head = self._heads[name]
            counts = np.bincount(verdict.decisions, minlength=len(head.counts)).tolist()
            head.counts = [before + count for before, count in zip(head.counts, counts, strict=True)]
            head.units += len(verdict.decisions)
            head.shifted += int(np.count_nonzero(verdict.shifts))
            head.policy, head.measure = verdict.policy.version, verdict.policy.measure
            scores = verdict.uncertainty[np.isfinite(verdict.uncertainty)]
            if len(scores):
                head.finite += len(scores)
                head.sum += float(scores.sum(dtype=np.float64))
                head.largest = max(head.largest, float(scores.max()))

    def attributes(self) -> dict[str, Value]:
        """``demur.units``, and ``demur.<head>.…`` for each head."""
        found: dict[str, Value] = {}
        if self._heads:
            found["demur.units"] = sum(head.units for head in self._heads.values())
        for name, head in self._heads.items():
            place = f"demur.{name}"
            found |= {f"{place}.{word}": head.counts[decision] for decision, word in _WORDS.items()}
            found |= {f"{place}.shifted": head.shifted, f"{place}.policy": head.policy}
            found[f"{place}.measure"] = head.measure
            if head.finite:
                found[f"{place}.uncertainty.mean"] = head.sum / head.finite
                found[f"{place}.uncertainty.max"] = head.largest
        return found
