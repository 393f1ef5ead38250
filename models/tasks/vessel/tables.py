"""Tables 3, 19, 20 of Shifts 2.0 (synthetic part) for our artefacts.

One pass of an ensemble's graph gives both kinds of rows of the paper: the ensemble, and its single members ("mean ± σ
across the individual metric scores of all members"). For sampled families a member is one network with its ten frozen
samples, which the paper calls "Ensemble" and the whole ensemble a "Deep ensemble".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.executors.onnx import OnnxGraph
from models.predictive import Gaussian
from models.tasks.vessel.artefact.ensemble import SAMPLED
from models.tasks.vessel.inference.scoring import Figures, figures, predict_members, rows_per_pass

if TYPE_CHECKING:
    from models.tasks.vessel.data.table import Table

LABELS = {"mc_dropout": "MC dropout", "variational": "VI", "dnn": "DNN", "symbolic": "Symbolic"}
SETS = ("dev_in", "dev_out", "dev_full", "eval_in", "eval_out", "eval_full", "gen")
"""Data sets: in, out, and both together; the generalisation set is a single set."""
_ROWS = 50_000
Predicted = tuple[Gaussian, list[Gaussian]]
"""Predictions of the whole ensemble, and of each member."""


@dataclass(frozen=True)
class Result:
    """Figures of one family."""

    family: str
    whole: dict[str, Figures]
    """Figures of the ensemble, by data set."""
    members: dict[str, tuple[Figures, ...]]
    """Figures of each single member, by data set."""

    def value(self, data: str, figure: str, *, single: bool) -> tuple[float, float]:
        """Return a figure and its standard deviation over members (ddof 0; zero for the ensemble)."""
        if not single:
            return float(getattr(self.whole[data], figure)), 0.0
        values = [getattr(member, figure) for member in self.members[data]]
        return float(np.mean(values)), float(np.std(values))


def predict_both(artefact: Artefact, rows: NDArray[Any]) -> Predicted:
    """Return predictions of the ensemble and of each member for rows [N, F], without keeping all samples in memory."""
    manifest = artefact.manifest
    graph = OnnxGraph(artefact.path(manifest.executor.file))
    chunk = rows_per_pass(manifest.members * manifest.samples)
    parts = [
        _statistics(*predict_members(graph, rows[start : start + _ROWS], chunk), manifest.samples)
        for start in range(0, len(rows), _ROWS)
    ]
    mean, mvar, varm, means, variances = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
    members = [Gaussian(member_mean, variance) for member_mean, variance in zip(means, variances, strict=True)]
    return Gaussian(mean, mvar, varm), members


def _statistics(mean: NDArray[Any], variance: NDArray[Any], samples: int) -> tuple[NDArray[Any], ...]:
    """Return ensemble mean, mvar, varm [N] and each member's mean and total variance [M, N] from [K, N]."""
    grouped = mean.reshape(-1, samples, mean.shape[1])
    spread = variance.reshape(grouped.shape).mean(axis=1)
    if samples > 1:
        spread = spread + grouped.var(axis=1)
    return mean.mean(axis=0), variance.mean(axis=0), mean.var(axis=0), grouped.mean(axis=1), spread


def judge(
    artefact: Artefact,
    data: Mapping[str, Table],
    progress: Callable[[str], None] | None = None,
    keep: Callable[[str, Predicted, NDArray[Any]], None] | None = None,
) -> Result:
    """Compute figures on ``data`` with names dev_in, dev_out, eval_in, eval_out and gen; *_full are added here.

    Args:
        progress: called with the name of each set before its evaluation.
        keep: called with set name, predictions and target, e.g. to draw curves.
    """
    whole: dict[str, Figures] = {}
    members: dict[str, tuple[Figures, ...]] = {}
    for name, tables in _sets(data):
        if progress is not None:
            progress(name)
        target = np.concatenate([table.power for table in tables])
        both = predict_both(artefact, np.concatenate([table.features for table in tables]))
        whole[name] = figures(both[0], target)
        members[name] = tuple(figures(member, target) for member in both[1])
        if keep is not None:
            keep(name, both, target)
    return Result(artefact.manifest.family, whole, members)


def _sets(data: Mapping[str, Table]) -> Iterator[tuple[str, list[Table]]]:
    for name in SETS:
        stem, _, part = name.partition("_")
        needed = [f"{stem}_in", f"{stem}_out"] if part == "full" else [name]
        if all(key in data for key in needed):
            yield name, [data[key] for key in needed]


def table(results: Sequence[Result], figures_: Sequence[tuple[str, str, float, str]], split: str) -> str:
    """Return one half (``dev`` or ``eval``) of table 19 or 20 as Markdown.

    Args:
        figures_: attribute of ``Figures``, heading, divisor, number format.
    """
    sets = [name for name in SETS if name.startswith(split) or name == "gen"]
    heads = [f"{head} {name.rpartition('_')[2]}" for _, head, _, _ in figures_ for name in sets]
    lines = [f"| method | model | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for single in (False, True):
        for result in results:
            cells = [
                _cell(result.value(name, figure, single=single), divisor, form)
                for figure, _, divisor, form in figures_
                for name in sets
                if name in result.whole
            ]
            lines.append(f"| {LABELS[result.family]} | {_kind(result.family, single)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table_3(results: Sequence[Result]) -> str:
    """Return table 3 (synthetic part): eval RMSE in kW and R-AUC in 10^5 kW²."""
    columns = [("rmse_kw", "eval_in"), ("rmse_kw", "eval_out"), ("rmse_kw", "gen")]
    columns += [("r_auc_kw2", "eval_full"), ("r_auc_kw2", "gen")]
    lines = ["| method | model | RMSE in | RMSE out | RMSE gen | R-AUC full | R-AUC gen |", "|---" * 7 + "|"]
    for single in (True, False):
        for result in results:
            values = [result.value(name, figure, single=single)[0] for figure, name in columns]
            cells = [f"{value:.0f}" for value in values[:3]] + [f"{value / 1e5:.2f}" for value in values[3:]]
            kind = "single" if single else "ensemble"
            lines.append(f"| {kind} | {LABELS[result.family]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: tuple[float, float], divisor: float, form: str) -> str:
    mean, deviation = (format(number / divisor, form) for number in value)
    return f"{mean} ± {deviation}" if value[1] else mean


def _kind(family: str, single: bool) -> str:
    if family in SAMPLED:
        return "ensemble" if single else "deep ensemble"
    return "single" if single else "ensemble"
