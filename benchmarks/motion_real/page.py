"""The page of real traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.motion_real.data import ATTRIBUTION, BESIDE, Real
from benchmarks.motion_real.judge import MOVING, RETENTION, Line

_ERRORS = ("minade", "weightedade", "minfde", "weightedfde")


def document(
    real: Sequence[Real], found: Mapping[str, Sequence[Line]], steady: Mapping[str, NDArray[np.float64]]
) -> str:
    """The page down to the part that is written by hand.

    Args:
        found: artefact to its lines.
        steady: errors of going straight on at the present speed, [N] each.
    """
    moving = np.array([float(np.linalg.norm(one.future[-1])) > MOVING for one in real])
    lines = [
        "# Motion with real traffic",
        "",
        opening([one.city for one in real]),
        "",
        f"- {ATTRIBUTION}",
        "- Windows of 5 s and 5 s at a stride of 1 s; every vehicle with a full future is asked about. Cars of one "
        "log's windows are the same cars: numbers say what these minutes were like, not what a city is like.",
        f"- Moving: farther than {MOVING:g} m from where it was after five seconds. Deferred: above the threshold that "
        f"keeps {RETENTION:.0%} of simulated in-domain requests. Outside: speed, density or road unlike training. "
        "Unfamiliar: the members' means farther apart than in 99.9 % of in-domain requests.",
        f"- Going straight on at the present speed has a mean ADE of {steady['minade'].mean():.2f} m and FDE of "
        f"{steady['minfde'].mean():.2f} m, of moving requests {steady['minade'][moving].mean():.2f} and "
        f"{steady['minfde'][moving].mean():.2f} m; its cNLL is {steady['cnll'].mean():.1f} nats.",
        f"- {machine.line()}.",
        "",
    ]
    for name, rows in found.items():
        lines += [f"## {name}", "", table(rows), ""]
    return "\n".join(lines)


def opening(cities: Sequence[str]) -> str:
    """Return the first paragraph: what the artefacts have seen, and which requests shaped the simulator.

    Args:
        cities: of each request.
    """
    windows = [city for city in cities if city in BESIDE]
    named = sorted(set(windows))
    others = sorted(set(cities) - set(windows))
    text = (
        "Written by `python -m benchmarks.motion_real` down to the discussion. The reference artefacts were trained, "
        "chosen and calibrated on simulated traffic only; these are requests of real vehicles."
    )
    if named:
        text += (
            f" **The windows of {_listed(named)} ({len(windows)} of {len(cities)} requests) are no independent test "
            "set: the simulator's parameters were adjusted by hand beside them "
            "([what was adjusted](../datasheets/motion-simulator.md#what-was-adjusted-and-why)).**"
        )
    if others:
        counts = _listed([f"{city} ({cities.count(city)})" for city in others])
        text += f" No record says that others were looked at for this: {counts}."
    return text


def table(rows: Sequence[Line]) -> str:
    """A line a group; metres, nats, shares."""
    heads = (
        *("requests of", "number", "minADE", "weightedADE", "minFDE", "weightedFDE", "cNLL", "R-AUC", "of random"),
        *("F1-AUC", "deferred", "cNLL answered", "cNLL deferred", "outside", "unfamiliar"),
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for one in rows:
        cells = (
            one.group,
            str(one.requests),
            *(f"{one.means[name]:.2f}" for name in _ERRORS),
            *(_number(value) for value in (one.means["cnll"], one.figures.r_auc, one.figures.r_auc_random)),
            "–" if math.isnan(one.figures.f1_auc) else f"{one.figures.f1_auc:.3f}",
            f"{1 - one.answered:.0%}",
            *(_number(value) for value in (one.cnll_answered, one.cnll_deferred)),
            f"{one.outside:.0%}",
            f"{one.unfamiliar:.0%}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"
