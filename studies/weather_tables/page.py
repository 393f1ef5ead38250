"""Page of tables in Markdown, from the output of `models.tasks.weather.tables`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from models.assessment import retention
from models.tasks.weather.spec import HEADS
from models.tasks.weather.tables import MEASURES, SETS, Row
from studies import pages

SET_TITLES = {"in": "In", "shifted": "Shifted", "full": "Full"}
TABLE_9 = (
    ("temperature.rmse_celsius", "RMSE", 1.0, ".2f"),
    ("temperature.mae_celsius", "MAE", 1.0, ".2f"),
    ("precipitation.accuracy", "Accuracy", 0.01, ".1f"),
    ("precipitation.macro_f1", "Macro F1", 0.01, ".1f"),
)
TABLE_10 = (
    ("temperature.r_auc", "R-AUC", 1.0, ".3f"),
    ("temperature.f1_auc", "F1-AUC", 0.01, ".2f"),
    ("temperature.f1_at_95", "F1@95", 0.01, ".2f"),
    ("precipitation.r_auc", "R-AUC (cl.)", 1.0, ".4f"),
    ("precipitation.f1_auc", "F1-AUC (cl.)", 0.01, ".2f"),
    ("precipitation.f1_at_95", "F1@95 (cl.)", 0.01, ".2f"),
)
Columns = Sequence[tuple[str, str, float, str]]
Areas = Mapping[tuple[str, str], tuple[float, float]]


def performance(rows: Sequence[Row], columns: Columns, sets: Sequence[str] = SETS) -> str:
    """Return rows against figures in each set, in the layout of Tables 9 and 10."""
    places = [(name, figure, unit, form) for figure, _, unit, form in columns for name in sets]
    return pages.table(
        ("model", *(f"{title} {SET_TITLES[name]}" for _, title, _, _ in columns for name in sets)),
        ((row.label, *(_cell(row, *place) for place in places)) for row in rows),
    )


def measures(by_label: Mapping[str, Areas]) -> str:
    """Return F1-AUC and ROC-AUC in per cent by measure, in the layout of Table 11."""
    columns = [(head, measure) for head, names in MEASURES.items() for measure in names]
    return pages.table(
        ("metric", "model", *(f"{measure}{' (cl.)' * (head != 'temperature')}" for head, measure in columns)),
        (
            (metric, label, *(f"{values[column][place] * 100:.2f}" for column in columns))
            for place, metric in enumerate(("F1-AUC", "ROC-AUC"))
            for label, values in by_label.items()
        ),
    )


def extended(rows: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """Return training sets A to D by development and evaluation set, as Table 13: set → experiment → rows."""
    experiments = sorted(next(iter(rows.values())))
    return pages.table(
        ("data", "model", *(f"{title} {experiment}" for _, title, _, _ in TABLE_9 for experiment in experiments)),
        (
            (
                data,
                row.label,
                *(
                    _cell(by_experiment[experiment][number], "full", figure, unit, form)
                    for figure, _, unit, form in TABLE_9
                    for experiment in experiments
                ),
            )
            for data, by_experiment in rows.items()
            for number, row in enumerate(by_experiment[experiments[0]])
        ),
    )


def served(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return figures of each artefact on each set, rounded as in Tables 9 and 10: artefact → set → figure."""
    columns = (*TABLE_9, *TABLE_10)
    return pages.table(
        ("artefact", "data", *(title for _, title, _, _ in columns)),
        (
            (f"`{name}`", data, *(format(values[figure] / unit, form) for figure, _, unit, form in columns))
            for name, by_set in figures.items()
            for data, values in by_set.items()
        ),
    )


def _cell(row: Row, part: str, figure: str, unit: float, form: str) -> str:
    mean = format(row.mean[part][figure] / unit, form)
    if not row.deviation:
        return mean
    return f"{mean} ± {format(row.deviation[part][figure] / unit, form)}"


TITLES = {"temperature": ("temperature", "squared error, °C²"), "precipitation": ("precipitation class", "error rate")}
Curves = Mapping[str, Mapping[str, tuple[Any, Any]]]
"""Errors and uncertainties [N], by label of a model and head."""


def draw(curves: Curves, path: Path, title: str) -> None:
    """Draw error and F1 against retention, with a column per head."""
    figure = Figure(figsize=(10.5, 7.5), layout="constrained")
    axes = figure.subplots(2, len(HEADS))
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
    pages.save(figure, path)


def _line(axis: Any, curve: Any, label: str, style: str) -> None:
    points = np.linspace(0, len(curve) - 1, 301).astype(int)
    axis.plot(points / (len(curve) - 1), np.asarray(curve)[points], style, label=label, linewidth=1.3)
