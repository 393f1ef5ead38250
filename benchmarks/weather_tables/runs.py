"""Long work in pieces that are kept: trained members, and what they say of each set."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.building import Labelled
from models.executors.members import MemberExecutor, Members
from models.tasks.weather import boosting, serving
from models.tasks.weather.boosting import Trees
from models.tasks.weather.ensemble import VIRTUAL, Ensemble
from models.tasks.weather.features import SCHEMA
from models.tasks.weather.spec import HEADS
from models.tasks.weather.transformer import fit, train
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.settings import PRESETS

ROWS = 4096


@dataclass(frozen=True)
class Plan:
    """How large the runs are."""

    members: int = 10
    """CatBoost models a head of the canonical training."""
    extended: int = 5
    """The same of each other training set."""
    networks: int = 5
    trees: int = 300
    """At most, of a model of temperature; half as many of classes, which need nine times the work."""
    tree_rows: int = 60_000
    network_rows: int = 40_000

    @property
    def boosting(self) -> boosting.Settings:
        """Depths as in the papers; fewer trees, fewer rows, a lower rate."""
        return boosting.Settings(
            Trees(8, self.trees, 0.15),
            Trees(6, self.trees // 2, 0.3),
            patience=50,
            threads=1,
            borders=64,
            max_rows=self.tree_rows,
        )


@dataclass(frozen=True)
class Work:
    """A folder of finished pieces."""

    folder: Path
    plan: Plan

    def trees(self, name: str, data: Mapping[str, Labelled], members: int, *, virtual: bool = False) -> Ensemble:
        """Boosted members; ``name`` is the experiment's."""
        return boosting.train(
            data,
            HEADS,
            SCHEMA,
            self.folder / f"trees-{name}",
            members=members,
            settings=self.plan.boosting,
            virtual=virtual,
            progress=_teller(f"trees {name}"),
        )

    def one_virtual(self, data: Mapping[str, Labelled]) -> Ensemble:
        """One model a head, cut into virtual members."""
        return self.trees("virtual", data, 1, virtual=True)

    def networks(self, data: Mapping[str, Labelled]) -> tuple[Ensemble, Ensemble]:
        """A deep ensemble, and its first member with frozen dropout masks."""
        found = self._networks(data)
        return fit.exported(found), fit.exported(found.select(slice(0, 1)).sampled(VIRTUAL))

    def one_network(self, data: Mapping[str, Labelled]) -> Ensemble:
        """The first member of the deep ensemble."""
        return fit.exported(self._networks(data).select(slice(0, 1)))

    def _networks(self, data: Mapping[str, Labelled]) -> TrainedEnsemble:
        return train.train(
            fit.labelled(data["train"], self.plan.network_rows),
            fit.labelled(data["dev_in"]),
            settings=PRESETS["fast"],
            members=self.plan.networks,
            classes=HEADS[1].classes,
            sentinels=tuple((place, float(value)) for place, value in SCHEMA.sentinels),
            checkpoint=self.folder / "networks",
            progress=_teller("networks"),
        )

    def said(self, name: str, ensemble: Ensemble, tables: Mapping[str, Labelled]) -> dict[str, Members]:
        """What members say of each table."""
        executor: MemberExecutor | None = None
        found: dict[str, Members] = {}
        for table, rows in tables.items():
            path = self.folder / f"said-{name}-{table}.npz"
            if not path.exists():
                executor = executor or self._opened(name, ensemble)
                _save(path, _run(executor, rows.features, f"{name} {table}"))
            with np.load(path) as arrays:
                found[table] = {head: arrays[head] for head in arrays.files}
        return found

    def _opened(self, name: str, ensemble: Ensemble) -> MemberExecutor:
        for file, content in ensemble.files.items():
            if isinstance(content, bytes):
                (self.folder / f"{name}-{file}").write_bytes(content)

        def place(file: str) -> Path:
            content = ensemble.files[file]
            return content if isinstance(content, Path) else self.folder / f"{name}-{file}"

        return serving.opened(place, ensemble.executors, SCHEMA, HEADS)


def _run(executor: MemberExecutor, features: NDArray[np.float32], what: str) -> Members:
    parts = []
    started = time.monotonic()
    for start in range(0, len(features), ROWS):
        parts.append(executor(np.ascontiguousarray(features[start : start + ROWS], np.float32)))
        _say(f"{what}: {min(start + ROWS, len(features))}/{len(features)} rows, {time.monotonic() - started:.0f} s")
    return {head: np.concatenate([part[head] for part in parts], axis=1) for head in parts[0]}


def _save(path: Path, members: Members) -> None:
    part = path.with_suffix(".part.npz")
    np.savez(part, **members)
    part.replace(path)


def _teller(what: str) -> Callable[[object], None]:
    last = [0.0]

    def tell(state: object) -> None:
        if time.monotonic() - last[0] > 10:
            last[0] = time.monotonic()
            _say(f"{what}: {state}")

    return tell


def _say(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()
