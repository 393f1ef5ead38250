"""The page of tables: markdown of what `models.tasks.weather.tables` computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.tasks.weather.tables import MEASURES, SETS, Row

TITLES = {"in": "In", "shifted": "Shifted", "full": "Full"}
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
Wanted = Sequence[tuple[str, str, float, str]]
Found = Mapping[tuple[str, str], tuple[float, float]]


def performance(rows: Sequence[Row], wanted: Wanted, sets: Sequence[str] = SETS) -> str:
    """Rows against figures in each set, as Tables 9 and 10 are laid out."""
    heads = [f"{title} {TITLES[name]}" for _, title, _, _ in wanted for name in sets]
    lines = [f"| model | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for row in rows:
        cells = [_cell(row, name, figure, unit, form) for figure, _, unit, form in wanted for name in sets]
        lines.append(f"| {row.label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def measures(found: Mapping[str, Found]) -> str:
    """F1-AUC and ROC-AUC in per cent by measure, as Table 11 is laid out."""
    columns = [(head, measure) for head, names in MEASURES.items() for measure in names]
    titles = [f"{measure}{' (cl.)' * (head != 'temperature')}" for head, measure in columns]
    lines = [f"| metric | model | {' | '.join(titles)} |", "|---" * (len(columns) + 2) + "|"]
    for place, metric in enumerate(("F1-AUC", "ROC-AUC")):
        for label, values in found.items():
            cells = [f"{values[column][place] * 100:.2f}" for column in columns]
            lines.append(f"| {metric} | {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def extended(rows: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """Training sets A to D by development and evaluation set, as Table 13 is laid out: set → experiment → rows."""
    experiments = sorted(next(iter(rows.values())))
    heads = [f"{title} {one}" for _, title, _, _ in TABLE_9 for one in experiments]
    lines = [f"| data | model | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for data, by_experiment in rows.items():
        for number, row in enumerate(by_experiment[experiments[0]]):
            cells = [
                _cell(by_experiment[one][number], "full", figure, unit, form)
                for figure, _, unit, form in TABLE_9
                for one in experiments
            ]
            lines.append(f"| {data} | {row.label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def served(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Figures of each artefact on each set, rounded as in Tables 9 and 10: artefact → set → figure."""
    wanted = (*TABLE_9, *TABLE_10)
    lines = [
        f"| artefact | data | {' | '.join(title for _, title, _, _ in wanted)} |",
        "|---" * (len(wanted) + 2) + "|",
    ]
    for name, by_set in figures.items():
        for data, values in by_set.items():
            cells = [format(values[figure] / unit, form) for figure, _, unit, form in wanted]
            lines.append(f"| `{name}` | {data} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: Row, part: str, figure: str, unit: float, form: str) -> str:
    mean = format(row.mean[part][figure] / unit, form)
    if not row.deviation:
        return mean
    return f"{mean} ± {format(row.deviation[part][figure] / unit, form)}"
