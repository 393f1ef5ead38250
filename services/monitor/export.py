"""Decided units and labels of a ledger as columns, as ``demur monitor replay`` reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.ledger.deployments import head_of
from services.monitor.follow import Follower
from services.monitor.requests import Requested
from services.monitor.stream import Profile, profile
from services.monitor.units import CENSUS, Key, Labels, Units, names, no_units
from services.policy.decision import Decision

_WORDS = np.array([one.name.lower() for one in Decision])
Table = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be written; empty words and open ends choose all."""

    task: str = ""
    head: str = ""
    start: float = -np.inf
    """Decided from this moment on, seconds since 1970."""
    end: float = np.inf
    """Decided before this moment."""
    source: str = "requested"

    def takes(self, key: Key) -> bool:
        return self.task in ("", key.task) and self.head in ("", key.head)


def export(
    followers: list[Follower], wanted: Wanted, progress: Callable[[str], None] = lambda text: None
) -> tuple[Table, Table]:
    """Events and labels, each a column by its name; events in the order of time.

    Raises:
        sqlalchemy.exc.SQLAlchemyError, OSError: a ledger cannot be read.
    """
    profiles: dict[Key, Profile] = {}
    units: dict[Key, list[Units]] = {}
    asked: dict[Key, list[Requested]] = {}
    labels: dict[Key, list[Labels]] = {}
    for follower in followers:
        behind = True
        while behind:
            news = follower.read(wanted.start)
            behind = any(writer.behind for writer in news.writers)
            for one in news.deployed:
                if one.key not in profiles:
                    profiles[one.key] = profile(one.key, head_of(one.document), one.document)
            for key, parts in news.units.items():
                units.setdefault(key, []).extend(parts)
            for key, requested in news.requests.items():
                asked.setdefault(key, []).extend(requested)
            for changes in news.labels:
                for (key, source), added in changes.added.items():
                    if source == wanted.source:
                        labels.setdefault(key, []).extend(added)
            progress(f"{sum(len(part) for parts in units.values() for part in parts)} units")
    kept = [key for key in units if wanted.takes(key)]
    events = [_events(key, profiles.get(key), units[key], asked.get(key, []), wanted) for key in kept]
    found = [_labels(labels[key], wanted) for key in kept if key in labels]
    return _joined(events, _EVENTS, "time"), _joined(found, _LABELS, None)


_EVENTS = (
    "event_id",
    "time",
    "uncertainty",
    "decision",
    "propensity",
    "requested",
    "expected",
    "task",
    "head",
    "model",
)
_LABELS = ("event_id", "time", "error", "source")


def _events(key: Key, known: Profile | None, parts: list[Units], asked: list[Requested], wanted: Wanted) -> Table:
    all_units = Units.join(parts)
    chosen = all_units.take((all_units.time >= wanted.start) & (all_units.time < wanted.end))
    chosen = chosen.take(chosen.order)
    census = wanted.source == CENSUS
    counted = _among(chosen, [one.units.take(one.census) for one in asked if census])
    requested = counted | _among(chosen, [one.units.take(one.asked) for one in asked])
    expected = None if known is None or known.expected is None else known.expected(chosen.uncertainty)
    return {
        "event_id": _ids(chosen.epoch, chosen.sequence),
        "time": chosen.time,
        "uncertainty": chosen.uncertainty.astype(np.float64),
        "decision": _WORDS[chosen.decision - 1],
        "propensity": np.where(counted, 1.0, chosen.propensity),
        "requested": requested.astype(np.int64),
        "expected": np.full(len(chosen), np.nan) if expected is None else expected,
        "task": np.full(len(chosen), key.task),
        "head": np.full(len(chosen), key.head),
        "model": np.full(len(chosen), key.model),
    }


def _among(units: Units, parts: list[Units]) -> NDArray[np.bool_]:
    """Which of the units [n] are among others."""
    others = Units.join([no_units(), *parts])
    return np.isin(names(units.epoch, units.sequence), names(others.epoch, others.sequence))


def _labels(parts: list[Labels], wanted: Wanted) -> Table:
    found = Labels.join(parts)
    word = names(found.epoch, found.sequence)
    # the last that was found for a unit is the one that counts
    _, last = np.unique(word[::-1], return_index=True)
    kept = found.take(np.sort(len(word) - 1 - last))
    kept = kept.take((kept.time >= wanted.start) & (kept.time < wanted.end))
    return {
        "event_id": _ids(kept.epoch, kept.sequence),
        "time": kept.received,
        "error": kept.error,
        "source": np.full(len(kept), wanted.source),
    }


def _ids(epoch: NDArray[np.int64], sequence: NDArray[np.int64]) -> NDArray[Any]:
    """As ``services.ledger.unit_ids.UnitIds.text``."""
    return np.array([f"{one:016x}-{two}" for one, two in zip(epoch.tolist(), sequence.tolist(), strict=True)], object)


def _joined(tables: list[Table], columns: tuple[str, ...], order: str | None) -> Table:
    if not tables:
        return {name: np.empty(0) for name in columns}
    whole = {name: np.concatenate([table[name] for table in tables]) for name in columns}
    if "expected" in whole and np.isnan(whole["expected"]).all():
        del whole["expected"]
    if order is None or len(tables) == 1:
        return whole
    rank = np.argsort(whole[order], kind="stable")
    return {name: values[rank] for name, values in whole.items()}
