"""Page of tables in Markdown, laid out as in the paper."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from studies import pages, statements
from studies.motion_tables import diagnostics
from studies.motion_tables.judge import MEASURES, SETS, Score
from studies.motion_tables.plan import BACKBONES, METHODS, ROWS, Row
from studies.motion_tables.record import Record
from studies.motion_tables.relations import TITLES, said, shown

SET_TITLES = {"in": "In", "shifted": "Shifted", "full": "Full"}
SPLIT_TITLES = {"dev": "Dev", "eval": "Eval"}
PICTURE = "motion-retention.png"
_DEEP = METHODS[0]
_METRES, _NATS, _PERCENT = ".3f", ".2f", ".1f"
_R_AUC = ("r_auc", "R-AUC cNLL", 1, _NATS)
_F1 = (("f1_auc", "F1-AUC (%)", 100, _PERCENT), ("f1_at_95", "F1@95 (%)", 100, _PERCENT))
MARK = "†"
"""Mark beside the split of rows whose figures include the requests that chose the weights of members."""


def document(record: Record) -> str:
    """Return the page above the hand-written part."""
    results = record.results
    return pages.document(
        "# Motion: the tables of the paper on simulated traffic",
        f"{pages.written_by('motion_tables --parts page')[:-1]}, from the figures of "
        "`studies/motion_tables/recorded.json`; `python -m studies.motion_tables --served artefacts/motion` "
        "judges all rows anew and trains the members of dropout ensembles for it, which no artefact holds. Traffic is "
        "simulated ([datasheet](../datasheets/motion-simulator.md)), networks are small and trained for minutes, so "
        "numbers are compared with Shifts 1.0 (section 5, appendix E) in their relations, not digit by digit.",
        pages.bullets(
            _scenes(record),
            *origins(record),
            _networks(record),
            "As released: ten samples a member, every sample scored by every member, the five best kept, softmax of "
            "their scores; standard deviations with ddof 0. Scores are conditioned on the plan itself (equation 20). "
            "Rows of one and three members are means over the five ensembles of neighbouring members.",
            "Errors in metres, cNLL and its areas in nats, F1 with cNLL up to 25 as acceptable; areas by the released "
            "code.",
        ),
        "## Table 6: predictive performance, deep ensembles",
        table_6(record),
        "## Table 7: uncertainty and robustness, deep ensembles, full data",
        table_7(record),
        "## Table 20: predictive performance of all rows",
        table_20(record),
        "## Table 21: uncertainty and robustness of all rows",
        table_21(record),
        "## Measures compared",
        "Five members, full data: R-AUC of cNLL when requests are deferred by each measure, and ROC-AUC (%) of "
        "detecting shifted requests by it. `knowledge_spread` is the variance of the members' mean positions; the "
        "paper has the first three only.",
        measures(record),
        pages.picture("Retention curves of cNLL on the full eval split, as Figure 3", PICTURE),
        *([] if record.diagnostics is None else ["## Diagnostics", *diagnostics.section(record.diagnostics)]),
        "## Relations that the paper reports",
        "All statements of section 5 that these tables allow to check, then what the paper's Tables 7, 20 and 21 show "
        "besides of five members against one and of the two backbones, on the full data with model averaging and where "
        "both splits agree. Each holds on the paper's own printed numbers. Here, too, printed numbers are compared, "
        "and equal ones count as failing. What fails is in bold; of very many comparisons only that is listed.",
        "### What its text says",
        statements.table(said(results)),
        "### What its tables show besides",
        statements.table(shown(results)),
    )


def origins(record: Record) -> list[str]:
    """Return a line for each run: its rows, requests, members and machine."""
    lines = []
    for place, run in enumerate(record.runs):
        keys = [key for key, origin in record.origin.items() if origin == place]
        judged = "; ".join(_counted(split, run.requests[split]) for split in _splits(keys))
        marked = any(record.marked(split, row) for split, row in keys)
        sentences = [f"**{_covered(keys, record)}**: judged requests: {judged}."]
        if any(split == "dev" for split, _ in keys):
            sentences.append(
                f"**Their figures on dev include the {run.chose} in-domain requests (of every fourth scene) that chose "
                f"the weights of members, in In and Full and in every relation**; these rows are marked {MARK}."
                if marked
                else f"Dev leaves out the {run.chose} in-domain requests (of every fourth scene) that chose the "
                "weights of members; those that are judged also calibrate the artefacts' thresholds, which no figure "
                "of this page depends on."
            )
        lines.append(" ".join([*sentences, *run.notes, f"Recorded on {run.machine}."]))
    return lines


def _scenes(record: Record) -> str:
    return (
        f"Scenes: simulator of seed {record.plan.seed} at scale {record.plan.scale:g}. In-domain is the city that "
        "carries the name Moscow, without precipitation; the other cities are shifted. No city is a model of the place "
        "whose name it carries. The simulator was adjusted by hand until errors resembled the paper's, in size and in "
        "that those of shifted cities are larger "
        "([what was changed](../datasheets/motion-simulator.md#what-was-adjusted-and-why))."
    )


def _networks(record: Record) -> str:
    settings = record.plan.settings()
    first = settings["bc"]
    return (
        f"Networks: {record.plan.members} seeds of each family; small encoder with {first.sizes.channels} channels, "
        f"{first.sizes.hidden} hidden units, {first.schedule.length} {first.schedule.unit} of AdamW in batches of "
        f"{first.batch}; BC conditioned on its own samples in training, as in the paper; dropout "
        f"{settings['bc_dropout'].sizes.dropout:g} with ten frozen masks a member. The paper trains MobileNetV2 "
        "with 512 hidden units on 5.6 million requests."
    )


def _covered(keys: Sequence[tuple[str, Row]], record: Record) -> str:
    """Return the name of a run's rows: methods, with the backbones unless both are present, by split."""
    if set(keys) == set(record.results):
        return "All rows"
    parts = []
    for split in _splits(keys):
        names = []
        for method in METHODS:
            own = {row.backbone for data, row in keys if data == split and row.method == method}
            every = {row.backbone for data, row in record.results if data == split and row.method == method}
            if own:
                names.append(f"{method.lower()}s" + ("" if own == every else f" ({', '.join(sorted(own))})"))
        parts.append(f"{' and '.join(names)} on {split}")
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _counted(split: str, cities: Mapping[str, int]) -> str:
    by_city = ", ".join(f"{city} {number}" for city, number in cities.items())
    return f"{split} {sum(cities.values())} ({by_city})"


def _splits(keys: Sequence[tuple[str, Row]]) -> list[str]:
    return [split for split in SPLIT_TITLES if any(data == split for data, _ in keys)]


def table_6(record: Record) -> str:
    """Return Table 6: deep ensembles of one and five members with model averaging."""
    order = ("cnll", "minade", "weightedade", "minfde", "weightedfde")
    return pages.table(
        ("data", "model", *_columns(order)),
        (
            (_data(record, split, row), row.name, *_errors(record.results[split, row], order))
            for split in SPLIT_TITLES
            for row in _rows(record)
            if row.method == _DEEP and row.operator == "MA" and row.size != 3
        ),
    )


def table_7(record: Record) -> str:
    """Return Table 7: both backbones side by side, on the full data."""
    figures = (
        _R_AUC,
        ("r_auc_weightedade", "R-AUC weightedADE", 1, _METRES),
        *_F1,
        ("roc_auc", "ROC-AUC (%)", 100, _PERCENT),
    )
    rows = []
    for split in SPLIT_TITLES:
        for size in (1, 5):
            both = [Row(_DEEP, backbone, "MA", size) for backbone in BACKBONES]
            sets = [record.results[split, row]["full"] for row in both]
            cells = [f"{scale * getattr(score, name):{form}}" for name, _, scale, form in figures for score in sets]
            rows.append((_data(record, split, *both), size, *cells))
    return pages.table(
        ("data", "K", *(f"{title} RIP-{backbone}" for _, title, _, _ in figures for backbone in BACKBONES)), rows
    )


def table_20(record: Record) -> str:
    """Return Table 20: the errors of all rows."""
    return pages.table(
        ("data", "method", "model", *_columns(tuple(TITLES))),
        (
            (_data(record, split, row), row.method, row.name, *_errors(record.results[split, row], tuple(TITLES)))
            for split in SPLIT_TITLES
            for row in _rows(record)
        ),
    )


def table_21(record: Record) -> str:
    """Return Table 21: retention and detection of all rows."""
    figures = (("r_auc", "R-AUC", 1, _NATS), *_F1)
    rows = []
    for split in SPLIT_TITLES:
        for row in _rows(record):
            sets = record.results[split, row]
            cells = [f"{scale * getattr(sets[part], name):{form}}" for name, _, scale, form in figures for part in SETS]
            last = f"{100 * sets['full'].roc_auc:{_PERCENT}}"
            rows.append((_data(record, split, row), row.method, row.name, *cells, last))
    heads = [f"{title} {SET_TITLES[name]}" for _, title, _, _ in figures for name in SETS]
    return pages.table(("data", "method", "model", *heads, "ROC-AUC (%)"), rows)


def measures(record: Record) -> str:
    """Return a table of rows against measures."""
    rows = []
    for split, row in dict.fromkeys((split, row) for split, row, _ in record.compared):
        scores = [record.compared[split, row, name] for name in MEASURES]
        cells = [f"{score.r_auc:{_NATS}} / {100 * score.roc_auc:{_PERCENT}}" for score in scores]
        rows.append((_data(record, split, row), row.method, row.name, *cells))
    return pages.table(("data", "method", "model", *(f"{name} R-AUC / ROC" for name in MEASURES)), rows)


def _rows(record: Record) -> list[Row]:
    """Return the evaluated rows of the paper, in its order."""
    return [row for row in ROWS if ("dev", row) in record.results]


def _data(record: Record, split: str, *rows: Row) -> str:
    """Return a split's name, with the mark if a row's figures include the requests that chose weights."""
    marked = any(record.marked(split, row) for row in rows)
    return SPLIT_TITLES[split] + f" {MARK}" * marked


def _errors(sets: Mapping[str, Score], order: Sequence[str]) -> list[str]:
    return [f"{getattr(sets[part], name):{_NATS if name == 'cnll' else _METRES}}" for name in order for part in SETS]


def _columns(order: Sequence[str]) -> list[str]:
    return [f"{TITLES[name]} {SET_TITLES[part]}" for name in order for part in SETS]


Curves = Mapping[Row, tuple[NDArray[np.float64], NDArray[np.float64]]]
_COLOURS = {"BC": "#1f77b4", "DIM": "#d6604d"}
_STYLES = {1: ":", 3: "--", 5: "-"}


def draw(curves: Curves, path: Path) -> None:
    """Draw error and F1 against the retained share, with a line per row."""
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
    pages.save(figure, path)
