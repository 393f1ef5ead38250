"""Pictures of the page: retention curves as in Figure 2 of Shifts 1.0, and deferred sentences."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from studies import pages
from studies.translation_tables import judge
from studies.translation_tables.judge import BY_NAME, SINGLE, TOGETHER, Decided, ScoredLines

COLOURS = {"in": "#1f77b4", "shifted": "#d62728", "full": "#444444"}
_STYLES = {TOGETHER: "-", SINGLE: "--"}
_WORDS = {TOGETHER: "ensemble", SINGLE: "members alone, mean"}
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def draw_retention(judged: Mapping[tuple[str, str], Sequence[ScoredLines]], path: Path) -> None:
    """Draw error- and F1-retention of the main rows.

    Args:
        judged: models by (row, kind).
    """
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    shares = np.linspace(0, 1, judge.CURVE)
    for (row, kind), models in judged.items():
        error, f1 = judge.curves(models)
        look: Any = {"color": COLOURS[row], "linestyle": _STYLES[kind], "linewidth": 1.5}
        left.plot(shares, error, **look, label=f"{_title(row)}, {_WORDS[kind]}")
        right.plot(shares, f1, **look)
        if row == "full" and kind == TOGETHER:
            thin: Any = {"color": COLOURS[row], "linewidth": 0.9}
            random, best = judge.bounds(models[0])
            left.plot(shares, random, ":", **thin, label=f"{_title(row)}, at random")
            left.plot(shares, best, "-.", **thin, label=f"{_title(row)}, by its errors")
    left.set(ylabel="100 - eGLEU, points", title="error-retention", xlim=(0, 1), ylim=(0, None))
    right.set(ylabel="F1 of “error up to 60”", title="F1-retention", xlim=(0, 1), ylim=(0, None))
    for axes in (left, right):
        axes.set(xlabel="share answered by the model")
        axes.grid(alpha=0.3)
    left.legend(frameon=False, fontsize=8)
    pages.save(figure, path)


def draw_deferral(
    ranks: Mapping[str, NDArray[np.floating]], decisions: Mapping[str, Decided], threshold: float, path: Path
) -> None:
    """Draw the uncertainty of each row beside the threshold, and errors of its answered and deferred lines.

    Args:
        ranks: SCR-PE of the lines of each row, nats a token.
    """
    figure = Figure(figsize=(12, 0.34 * len(ranks) + 1.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    places = -np.arange(len(ranks))
    for place, (row, values) in zip(places, ranks.items(), strict=True):
        low, quarter, half, three, high = np.quantile(values, _QUANTILES)
        left.plot([low, high], [place, place], color="#7f7f7f", linewidth=1)
        left.plot([quarter, three], [place, place], color="#1f77b4", linewidth=5, solid_capstyle="butt")
        left.plot(half, place, "|", color="black", markersize=9)
        decision = decisions[row]
        left.text(high, place, f"  {decision.deferred:.0%}", va="center", fontsize=8)
        right.plot(decision.error, place, "|", color="black", markersize=9)
        right.plot(decision.answered_error, place, "o", color="#009e73", markersize=5)
        right.plot(decision.deferred_error, place, "o", color="#d55e00", markersize=5)
    left.axvline(threshold, color="#d55e00", linestyle="--", linewidth=1)
    left.set_yticks(places, [_title(row) for row in ranks], fontsize=8)
    left.margins(x=0.12)
    left.set(xlabel="SCR-PE, nats a token", title="5, 25, 50, 75, 95 %; threshold; share deferred")
    right.set(xlabel="100 - eGLEU, points", title="error: green answered, red deferred, black all")
    for axes in (left, right):
        axes.grid(alpha=0.3, axis="x")
    pages.save(figure, path)


def _title(row: str) -> str:
    return BY_NAME[row].title.replace("*", "")
