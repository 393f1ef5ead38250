"""The page of tables: markdown of what was judged, laid out as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import machine, relations
from benchmarks.motion_tables.judge import MEASURES, SETS, Score
from benchmarks.motion_tables.relations import TITLES, Results
from benchmarks.motion_tables.rows import BACKBONES, METHODS, ROWS, Row
from benchmarks.relations import Relation

SET_TITLES = {"in": "In", "shifted": "Shifted", "full": "Full"}
SPLIT_TITLES = {"dev": "Dev", "eval": "Eval"}
PICTURE = "motion-retention.png"
_DEEP = METHODS[0]
_METRES, _NATS, _PERCENT = ".3f", ".2f", ".1f"
Compared = Mapping[tuple[str, Row, str], Score]
"""(split, row, measure) to the figures of the full set."""


def document(
    data: Sequence[str], models: Sequence[str], results: Results, compared: Compared, found: Sequence[Relation]
) -> str:
    """The page down to the part that is written by hand.

    Args:
        data, models: lines on what was judged.
    """
    lines = [
        "# Motion: the tables of the paper on simulated traffic",
        "",
        "Written by `python -m benchmarks.motion_tables` down to the discussion. Traffic is simulated "
        "([datasheet](../datasheets/motion-simulator.md)), networks are small and trained for minutes, so numbers are "
        "compared with Shifts 1.0 (section 5, appendix E) in their relations, not digit by digit.",
        "",
        *(f"- {line}" for line in (*data, *models)),
        "- As released: ten samples a member, every sample scored by every member, the five best kept, softmax of "
        "their scores; standard deviations with ddof 0. Scores are conditioned on the plan itself (equation 20). Rows "
        "of one and three members are means over the five ensembles of neighbouring members.",
        "- Errors in metres, cNLL and its areas in nats, F1 with cNLL up to 25 as acceptable; areas by the released "
        "code.",
        f"- {machine.line()}.",
        "",
        "## Table 6: predictive performance, deep ensembles",
        "",
        table_6(results),
        "",
        "## Table 7: uncertainty and robustness, deep ensembles, full data",
        "",
        table_7(results),
        "",
        "## Table 20: predictive performance of all rows",
        "",
        table_20(results),
        "",
        "## Table 21: uncertainty and robustness of all rows",
        "",
        table_21(results),
        "",
        "## Measures compared",
        "",
        "Five members, full data: R-AUC of cNLL when requests are deferred by each measure, and ROC-AUC (%) of telling "
        "shifted requests by it. `knowledge_spread` is the variance of the members' mean positions; the paper has the "
        "first three only.",
        "",
        measures(compared),
        "",
        f"![Retention curves of cNLL on the full eval split, as Figure 3]({PICTURE})",
        "",
        "## Relations that the paper reports",
        "",
        relations.table(found),
    ]
    return "\n".join(lines) + "\n\n"


def table_6(results: Results) -> str:
    """Deep ensembles of one and five members with model averaging."""
    order = ("cnll", "minade", "weightedade", "minfde", "weightedfde")
    lines = _heading(("data", "model", *_columns(order)))
    for split in SPLIT_TITLES:
        for row in _rows(results):
            if row.method == _DEEP and row.operator == "MA" and row.size != 3:
                lines.append(_line((SPLIT_TITLES[split], row.name, *_errors(results[split, row], order))))
    return "\n".join(lines)


def table_7(results: Results) -> str:
    """Both backbones side by side, on the full data."""
    figures = (
        ("r_auc", "R-AUC cNLL", 1, _NATS),
        ("r_auc_weightedade", "R-AUC weightedADE", 1, _METRES),
        ("f1_auc", "F1-AUC (%)", 100, _PERCENT),
        ("f1_at_95", "F1@95 (%)", 100, _PERCENT),
        ("roc_auc", "ROC-AUC (%)", 100, _PERCENT),
    )
    lines = _heading(("data", "K", *(f"{title} RIP-{one}" for _, title, _, _ in figures for one in BACKBONES)))
    for split in SPLIT_TITLES:
        for size in (1, 5):
            cells = [
                f"{scale * getattr(results[split, Row(_DEEP, one, 'MA', size)]['full'], name):{form}}"
                for name, _, scale, form in figures
                for one in BACKBONES
            ]
            lines.append(_line((SPLIT_TITLES[split], str(size), *cells)))
    return "\n".join(lines)


def table_20(results: Results) -> str:
    """All rows, errors."""
    lines = _heading(("data", "method", "model", *_columns(tuple(TITLES))))
    for split in SPLIT_TITLES:
        for row in _rows(results):
            cells = _errors(results[split, row], tuple(TITLES))
            lines.append(_line((SPLIT_TITLES[split], row.method, row.name, *cells)))
    return "\n".join(lines)


def table_21(results: Results) -> str:
    """All rows, retention and detection."""
    figures = (
        ("r_auc", "R-AUC", 1, _NATS),
        ("f1_auc", "F1-AUC (%)", 100, _PERCENT),
        ("f1_at_95", "F1@95 (%)", 100, _PERCENT),
    )
    heads = [f"{title} {SET_TITLES[name]}" for _, title, _, _ in figures for name in SETS]
    lines = _heading(("data", "method", "model", *heads, "ROC-AUC (%)"))
    for split in SPLIT_TITLES:
        for row in _rows(results):
            sets = results[split, row]
            cells = [f"{scale * getattr(sets[one], name):{form}}" for name, _, scale, form in figures for one in SETS]
            last = f"{100 * sets['full'].roc_auc:{_PERCENT}}"
            lines.append(_line((SPLIT_TITLES[split], row.method, row.name, *cells, last)))
    return "\n".join(lines)


def measures(compared: Compared) -> str:
    """Rows against measures."""
    lines = _heading(("data", "method", "model", *(f"{name} R-AUC / ROC" for name in MEASURES)))
    for split, row in dict.fromkeys((split, row) for split, row, _ in compared):
        scores = [compared[split, row, name] for name in MEASURES]
        cells = [f"{one.r_auc:{_NATS}} / {100 * one.roc_auc:{_PERCENT}}" for one in scores]
        lines.append(_line((SPLIT_TITLES[split], row.method, row.name, *cells)))
    return "\n".join(lines)


def _rows(results: Results) -> list[Row]:
    """Return the rows of the paper that were judged, in its order."""
    return [row for row in ROWS if ("dev", row) in results]


def _errors(sets: Mapping[str, Score], order: Sequence[str]) -> list[str]:
    return [f"{getattr(sets[one], name):{_NATS if name == 'cnll' else _METRES}}" for name in order for one in SETS]


def _columns(order: Sequence[str]) -> list[str]:
    return [f"{TITLES[name]} {SET_TITLES[one]}" for name in order for one in SETS]


def _heading(cells: Sequence[str]) -> list[str]:
    return [_line(cells), "|---" * len(cells) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
