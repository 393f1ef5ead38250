"""Reader of logged streams: decided units and their labels, CSV or Parquet, joined by id."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.estimation.window import Doubles, Mask
from models.evaluation.files import Array, need, shifted_flags
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile
from models.live.units import CENSUS

ID, TIME = "event_id", "time"
ANSWERED, DEFERRED = ("answer",), ("defer", "caller_deferred")
EVENTS = (ID, TIME, "uncertainty", "decision", "propensity")
LABELS = (ID, TIME, "error")
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Events:
    """Decided units in the order of the file, each id once."""

    ids: Array
    """Identifiers as in the file, text or numbers [N]."""
    time: Doubles
    """Time of the decision, seconds [N]."""
    uncertainty: Doubles
    answered: Mask
    propensity: Doubles
    """Propensity; NaN if the file has none [N]."""
    requested: Mask | None
    expected: Doubles | None
    groups: dict[str, Array]
    repeated: int = 0
    """Number of rows that repeat an earlier one and were left out, as in logs with at-least-once delivery."""


@dataclass(frozen=True)
class LabelRows:
    """Labels in the order of the file; an id may occur again as a duplicate or as a correction."""

    ids: Array
    time: Doubles
    """Time of the label, seconds [M]."""
    error: Doubles
    """Error; NaN withdraws the label [M]."""
    version: Doubles
    """Order of corrections [M]; 0 if the file has none."""
    human_error: Doubles | None
    volunteered: Mask
    """Mask of the labels that were not requested [M]; they are shown, never pooled."""
    census: bool = False
    """True if all labels are of a census, and thus the truth."""


def read_events(path: Path, groups: Sequence[str] = ()) -> Events:
    """Read decided units.

    Columns ``event_id``, ``time``, ``uncertainty``, ``decision`` (answer or defer), ``propensity``; optional
    ``requested`` (0 or 1), ``expected`` (error predicted without the label), and columns for break-downs.

    Raises:
        BadFile: a column is missing or not numeric, a time is empty, a decision is another word, an id is empty, or two
            rows with the same id differ.
    """
    have = set(column_names(path))
    numeric = [TIME, "uncertainty", "propensity", *sorted({"requested", "expected"} & have)]
    named = [name for name in dict.fromkeys(groups) if name not in numeric]
    columns = read_columns(path, numeric, list(dict.fromkeys([ID, "decision", *named])), may_be_empty=True)
    _times(path, columns[TIME])
    _ids(path, columns[ID])
    requested = columns.get("requested")
    events = Events(
        ids=columns[ID],
        time=columns[TIME],
        uncertainty=columns["uncertainty"],
        answered=_answered(path, columns["decision"]),
        propensity=columns["propensity"],
        requested=None if requested is None else shifted_flags(path, "requested", requested, len(requested)),
        expected=columns.get("expected"),
        groups={name: columns[name] for name in dict.fromkeys(groups)},
    )
    return _once(path, events)


def read_labels(path: Path) -> LabelRows:
    """Read labels.

    Columns ``event_id``, ``time``, ``error`` (empty withdraws the label); optional ``version``, ``human_error`` and
    ``source``.

    Raises:
        BadFile: a column is missing or not numeric, a time is empty, an error is infinite, an id is empty.
    """
    have = set(column_names(path))
    numeric = [TIME, "error", *sorted({"version", "human_error"} & have)]
    columns = read_columns(path, numeric, [ID, *({"source"} & have)], may_be_empty=True)
    _times(path, columns[TIME])
    _ids(path, columns[ID])
    for name in ("error", "human_error"):
        wrong = np.flatnonzero(np.isinf(columns.get(name, np.empty(0))))
        if len(wrong):
            raise BadFile(f"{path}: row {wrong[0]} (from 0): {name} is infinite; a finite number is needed")
    number = len(columns[TIME])
    sources = np.char.lower(columns.get("source", np.full(number, "requested")).astype(str))
    return LabelRows(
        ids=columns[ID],
        time=columns[TIME],
        error=columns["error"],
        version=np.nan_to_num(columns.get("version", np.zeros(number))),
        human_error=columns.get("human_error"),
        volunteered=sources == "volunteered",
        census=number > 0 and bool((sources == CENSUS).all()),
    )


def places(ids: Array, known: Array) -> NDArray[np.intp]:
    """Return the index of each id among known ones [M], the first if it occurs twice; -1 if it is not among them."""
    if not len(ids):
        return np.empty(0, np.intp)
    arrow, compute = need("pyarrow", "joining labels"), need("pyarrow.compute", "joining labels")
    index = compute.index_in(arrow.array(ids), value_set=arrow.array(known))
    return np.asarray(compute.fill_null(index, -1).to_numpy(zero_copy_only=False), np.intp)


def _once(path: Path, events: Events) -> Events:
    """Return the events without rows that repeat an earlier one."""
    first = places(events.ids, events.ids)
    again = first != np.arange(len(first))
    if not again.any():
        return events
    columns = {name: values for name, values in vars(events).items() if isinstance(values, np.ndarray)}
    for name, values in (columns | events.groups).items():
        numeric = values.dtype.kind == "f"
        here, there = values[again], values[first[again]]
        differs = (here != there) & ~(numeric & (here != here) & (there != there))
        if differs.any():
            row = int(np.flatnonzero(again)[differs][0])
            raise BadFile(
                f"{path}: row {row} (from 0): {ID} is {str(events.ids[row])!r}, as in row {first[row]}, with another "
                f"{name}; one row a decision is needed"
            )
    kept = {name: values[~again] for name, values in columns.items()}
    groups = {name: values[~again] for name, values in events.groups.items()}
    return replace(events, **kept, groups=groups, repeated=int(again.sum()))


def _times(path: Path, time: Doubles) -> None:
    wrong = np.flatnonzero(~np.isfinite(time))
    if len(wrong):
        raise BadFile(f"{path}: row {wrong[0]} (from 0): {TIME} is {time[wrong[0]]}; seconds are needed")


def _ids(path: Path, ids: Array) -> None:
    wrong = np.flatnonzero(ids == "")
    if len(wrong):
        raise BadFile(f"{path}: row {wrong[0]} (from 0): {ID} is empty; text or a number is needed")


def _answered(path: Path, decisions: Array) -> Mask:
    """Return the mask of the decisions to answer [N]; case does not matter."""
    words, word = np.unique(decisions, return_inverse=True)
    plain = [str(text).strip().lower() for text in words]
    for number, decision in enumerate(plain):
        if decision not in ANSWERED + DEFERRED:
            row = int(np.flatnonzero(word == number)[0])
            allowed = ", ".join(ANSWERED + DEFERRED)
            raise BadFile(f"{path}: row {row} (from 0): decision is {str(words[number])!r}; one of {allowed} is needed")
    return np.array([decision in ANSWERED for decision in plain], bool)[word]
