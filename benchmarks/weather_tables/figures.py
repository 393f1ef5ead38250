"""Retention curves of the page, as Figures 11 and 12 of Shifts 1.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from models.assessment import retention
from models.tasks.weather.spec import HEADS

TITLES = {"temperature": ("temperature", "squared error, °C²"), "precipitation": ("precipitation class", "error rate")}
Curves = Mapping[str, Mapping[str, tuple[Any, Any]]]
"""Label of a model to head to errors and uncertainties [N]."""


def draw(curves: Curves, path: Path, title: str) -> None:
    """Error and F1 against retention, a column a head."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(HEADS), figsize=(10.5, 7.5), layout="constrained")
    for column, head in enumerate(HEADS):
        assert head.acceptable is not None
        errors_axis, f1_axis = axes[0, column], axes[1, column]
        for label, by_head in curves.items():
            errors, uncertainty = by_head[head.name]
            _line(errors_axis, retention.error_curve(errors, uncertainty), label, "-")
            _line(f1_axis, retention.f_curve(errors, uncertainty, head.acceptable), label, "-")
        last = next(reversed(list(curves.values())))[head.name][0]
        for name, error, f1 in (
            ("optimal", retention.optimal_curve(last), retention.optimal_f_curve(last, head.acceptable)),
            ("random", retention.random_curve(last), retention.random_f_curve(last, head.acceptable)),
        ):
            _line(errors_axis, error, f"{name} (last model)", ":" if name == "optimal" else "--")
            _line(f1_axis, f1, f"{name} (last model)", ":" if name == "optimal" else "--")
        word, unit = TITLES[head.name]
        errors_axis.set(title=word, ylabel=unit, xlim=(0, 1), ylim=(0, None))
        limit = "right" if head.error_unit == "1" else f"up to {head.acceptable:g} {head.error_unit}"
        f1_axis.set(xlabel="retention", ylabel=f"F1, acceptable: {limit}", xlim=(0, 1))
        for axis in (errors_axis, f1_axis):
            axis.grid(alpha=0.3)
        errors_axis.legend(frameon=False, fontsize=8)
    figure.suptitle(title)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)


def _line(axis: Any, curve: Any, label: str, style: str) -> None:
    points = np.linspace(0, len(curve) - 1, 301).astype(int)
    axis.plot(points / (len(curve) - 1), np.asarray(curve)[points], style, label=label, linewidth=1.3)
