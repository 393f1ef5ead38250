"""Record of the tables: printed figures of every row, and the run that each row comes from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from models.tasks.motion.training.shares import DEV
from studies.motion_tables.diagnostics import Diagnostics
from studies.motion_tables.judge import MEASURES, NAMES, SETS, Score
from studies.motion_tables.plan import ROWS, Plan, Row
from studies.motion_tables.relations import DECIMALS, Results

Compared = Mapping[tuple[str, Row, str], Score]
"""Figures of the full set by (split, row, measure)."""


@dataclass(frozen=True)
class Run:
    """One run of the benchmark on one machine."""

    machine: str
    requests: Mapping[str, Mapping[str, int]]
    """Number of evaluated requests by split and city."""
    chose: int
    """Number of in-domain requests of dev that chose the weights of members."""
    left_out: bool
    """True if dev is evaluated without these requests."""
    notes: tuple[str, ...]
    """Sentences on the evaluated members and scenes."""


@dataclass(frozen=True)
class Record:
    """Figures rounded to the printed decimals; rows may come from different runs."""

    plan: Plan
    runs: tuple[Run, ...]
    results: Results
    compared: Compared
    origin: Mapping[tuple[str, Row], int]
    """Position of the run in ``runs`` by (split, row)."""
    diagnostics: Diagnostics | None = None
    """Figures that explain the tables."""

    def run(self, split: str, row: Row) -> Run:
        """Return the run that a row comes from."""
        return self.runs[self.origin[split, row]]

    def marked(self, split: str, row: Row) -> bool:
        """Return whether figures of a row include the requests that chose the weights of members."""
        return split == DEV and not self.run(split, row).left_out

    def merged(self, run: Run, results: Results, compared: Compared) -> Record:
        """Return the record with rows of another run, which replace those of the same name; unused runs are removed."""
        origin = self.origin | dict.fromkeys(results, len(self.runs))
        used = sorted(set(origin.values()))
        runs = (*self.runs, run)
        return replace(
            self,
            runs=tuple(runs[place] for place in used),
            results=_ordered({**self.results, **{key: _printed(sets) for key, sets in results.items()}}),
            compared={**self.compared, **{key: rounded(score) for key, score in compared.items()}},
            origin={key: used.index(place) for key, place in origin.items()},
        )

    def save(self, path: Path) -> None:
        """Write JSON, with one line per row."""
        rows = [
            (f"{split}|{_key(row)}", {"run": self.origin[split, row], **{name: _list(sets[name]) for name in SETS}})
            for (split, row), sets in self.results.items()
        ]
        compared = [
            (f"{split}|{_key(row)}|{name}", [score.r_auc, score.roc_auc])
            for (split, row, name), score in sorted(self.compared.items(), key=_place)
        ]
        parts = [
            f'"plan": {json.dumps(asdict(self.plan))}',
            f'"runs": [\n{_lines(json.dumps(asdict(run)) for run in self.runs)}\n]',
            f'"figures": {json.dumps(NAMES)}',
            f'"rows": {{\n{_lines(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rows)}\n}}',
            f'"compared": {{\n{_lines(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in compared)}\n}}',
        ]
        if self.diagnostics is not None:
            parts.append(f'"diagnostics": {json.dumps(self.diagnostics.document())}')
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def load(path: Path, plan: Plan) -> Record:
    """Return the record of a file; an empty record if the file does not exist.

    Raises:
        ValueError: the file has figures of another plan.
    """
    if not path.exists():
        return Record(plan, (), {}, {}, {})
    kept = json.loads(path.read_text())
    if Plan(**kept["plan"]) != plan:
        raise ValueError(
            f"record = {path}: has figures of {kept['plan']}, this run is of {asdict(plan)}: name another file"
        )
    results, origin = {}, {}
    for name, figures in kept["rows"].items():
        split, row = _parsed(name)
        results[split, row] = {part: _score(figures[part]) for part in SETS}
        origin[split, row] = figures["run"]
    compared = {}
    for name, (r_auc, roc_auc) in kept["compared"].items():
        rest, _, measure = name.rpartition("|")
        empty = dict.fromkeys(NAMES, math.nan)
        compared[*_parsed(rest), measure] = Score(**{**empty, "r_auc": r_auc, "roc_auc": roc_auc})
    runs = tuple(Run(**{**run, "notes": tuple(run["notes"])}) for run in kept["runs"])
    return Record(
        plan, runs, results, compared, origin, Diagnostics.read(kept["diagnostics"]) if "diagnostics" in kept else None
    )


def rounded(score: Score) -> Score:
    """Return the figures rounded to the printed decimals; shares have three, for one decimal of per cent."""
    return Score(**{name: round(getattr(score, name), DECIMALS.get(name, 3)) for name in NAMES})


def _printed(sets: Mapping[str, Score]) -> dict[str, Score]:
    return {name: rounded(score) for name, score in sets.items()}


def _ordered(results: Results) -> Results:
    """Sort rows as the paper does, split by split."""
    return {key: results[key] for key in sorted(results, key=lambda key: (key[0], ROWS.index(key[1])))}


def _place(item: tuple[tuple[str, Row, str], Score]) -> tuple[str, int, int]:
    split, row, measure = item[0]
    return split, ROWS.index(row), MEASURES.index(measure)


def _key(row: Row) -> str:
    return f"{row.method}|{row.backbone}|{row.operator}|{row.size}"


def _parsed(name: str) -> tuple[str, Row]:
    split, key = name.split("|", 1)
    return split, next(row for row in ROWS if _key(row) == key)


def _list(score: Score) -> list[float | None]:
    values = (getattr(score, name) for name in NAMES)
    return [None if math.isnan(value) else value for value in values]


def _score(values: Iterable[float | None]) -> Score:
    return Score(*(math.nan if value is None else value for value in values))


def _lines(texts: Iterable[str]) -> str:
    return ",\n".join(texts)
