"""Page of real traffic."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from studies import pages
from studies.motion_real.judge import ATTRIBUTION, BESIDE, MOVING, Line, Real
from studies.served import RETENTION

_ERRORS = ("minade", "weightedade", "minfde", "weightedfde")


def document(
    real: Sequence[Real], models: Mapping[str, Sequence[Line]], steady: Mapping[str, NDArray[np.float64]]
) -> str:
    """Return the page above the hand-written part.

    Args:
        models: lines by artefact.
        steady: errors of going straight on at the present speed, [N] each.
    """
    moving = np.array([float(np.linalg.norm(request.future[-1])) > MOVING for request in real])
    means = {name: (errors.mean(), errors[moving].mean()) for name, errors in steady.items()}
    return pages.document(
        "# Motion with real traffic",
        opening([request.city for request in real]),
        pages.bullets(
            ATTRIBUTION,
            "Windows of 5 s and 5 s at a stride of 1 s; every vehicle with a full future is asked about. Cars of one "
            "log's windows are the same cars: numbers say what these minutes were like, not what a city is like.",
            f"Moving: farther than {MOVING:g} m from where it was after five seconds. Deferred: above the threshold "
            f"that keeps {RETENTION:.0%} of simulated in-domain requests. Outside: speed, density or road unlike "
            "training. Unfamiliar: the members' means farther apart than in 99.9 % of in-domain requests.",
            f"Going straight on at the present speed has a mean ADE of {means['minade'][0]:.2f} m and FDE of "
            f"{means['minfde'][0]:.2f} m, of moving requests {means['minade'][1]:.2f} and "
            f"{means['minfde'][1]:.2f} m; its cNLL is {means['cnll'][0]:.1f} nats.",
            f"{machine.line()}.",
        ),
        *(block for name, rows in models.items() for block in (f"## {name}", table(rows))),
    )


def opening(cities: Sequence[str]) -> str:
    """Return the first paragraph: training data of the artefacts, and requests that shaped the simulator.

    Args:
        cities: city of each request.
    """
    windows = [city for city in cities if city in BESIDE]
    named = sorted(set(windows))
    others = sorted(set(cities) - set(windows))
    text = (
        f"{pages.written_by('motion_real')} The reference artefacts were trained, "
        "chosen and calibrated on simulated traffic only; these are requests of real vehicles."
    )
    if named:
        text += (
            f" **The windows of {pages.listed(named)} ({len(windows)} of {len(cities)} requests) are no independent "
            "test set: the simulator's parameters were adjusted by hand beside them "
            "([what was adjusted](../datasheets/motion-simulator.md#what-was-adjusted-and-why)).**"
        )
    if others:
        counts = pages.listed([f"{city} ({cities.count(city)})" for city in others])
        text += f" No record says that others were looked at for this: {counts}."
    return text


def table(rows: Sequence[Line]) -> str:
    """Return a table with a row for each group; metres, nats, shares."""
    heads = (
        *("requests of", "number", "minADE", "weightedADE", "minFDE", "weightedFDE", "cNLL", "R-AUC", "of random"),
        *("F1-AUC", "deferred", "cNLL answered", "cNLL deferred", "outside", "unfamiliar"),
    )
    return pages.table(
        heads,
        (
            (
                line.group,
                line.requests,
                *(f"{line.means[name]:.2f}" for name in _ERRORS),
                *_tenths(line.means["cnll"], line.figures.r_auc, line.figures.r_auc_random),
                pages.number(line.figures.f1_auc, ".3f"),
                f"{1 - line.answered:.0%}",
                *_tenths(line.cnll_answered, line.cnll_deferred),
                f"{line.outside:.0%}",
                f"{line.unfamiliar:.0%}",
            )
            for line in rows
        ),
    )


def _tenths(*values: float) -> list[str]:
    return [pages.number(value, ".1f") for value in values]
