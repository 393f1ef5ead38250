"""The page's picture: Figure 3 of Shifts 1.0, retention curves of cNLL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.motion_tables.rows import Row

Curves = Mapping[Row, tuple[NDArray[np.float64], NDArray[np.float64]]]
_COLOURS = {"BC": "#1f77b4", "DIM": "#d6604d"}
_STYLES = {1: ":", 3: "--", 5: "-"}


def draw(curves: Curves, path: Path) -> None:
    """Error and F1 against the retained share, a line a row."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row, (error, f1) in curves.items():
        shares = np.linspace(0, 1, len(error))
        look = {"color": _COLOURS[row.backbone], "linestyle": _STYLES[row.size], "label": f"RIP-{row.name}"}
        left.plot(shares, error, **look)
        right.plot(shares, f1, **look)
    left.set(
        xlabel="retained share of requests", ylabel="cNLL, nats", title="error-retention", xlim=(0, 1), ylim=(0, None)
    )
    right.set(
        xlabel="retained share of requests", ylabel="F1", title="F1-retention, cNLL ≤ 25", xlim=(0, 1), ylim=(0, 1)
    )
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend(frameon=False)
    figure.savefig(path, dpi=90, metadata={"Software": None})
