"""The paper's statements, checked on the paper's own numbers and on numbers where they do not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("monai")

from benchmarks.lesion_tables import canonical, page, relations
from benchmarks.lesion_tables.across import WAYS, Crossed, Excluded
from benchmarks.lesion_tables.canonical import ROWS, Results
from benchmarks.lesion_tables.judge import FIGURES, MEASURES, Judged
from benchmarks.lesion_tables.plan import SPLITS, Plan
from benchmarks.relations import Pair, Relation, check, table
from models.assessment.segmentation_retention import POINTS, log_grid

PAPER = {
    "unet": ((68.54, 49.33, 67.59, 55.79), (25.02, 8.17, 25.46, 14.79), (2.51, 7.84, 2.77, 9.87)),
    "unet-ensemble": ((69.70, 50.85, 68.89, 57.53), (28.07, 9.04, 27.74, 16.74), (1.17, 4.66, 1.76, 7.40)),
    "unet-dp": ((59.73, 48.35, 63.93, 54.43), (14.42, 6.75, 18.66, 11.85), (2.62, 8.76, 2.66, 9.71)),
    "unet-mcdp": ((60.65, 44.70, 61.78, 50.06), (12.61, 4.59, 17.31, 10.70), (1.92, 6.77, 2.52, 7.89)),
    "unetr": ((71.21, 51.60, 69.27, 56.76), (33.60, 15.03, 33.85, 17.19), (1.89, 6.17, 1.95, 6.47)),
    "unetr-ensemble": ((72.51, 53.46, 71.41, 59.49), (35.22, 15.80, 35.61, 18.90), (0.34, 1.52, 0.63, 2.88)),
}
"""nDSC, F1 and R-AUC by row and split (Tables 9 to 11), %."""
SCANS = 6
Numbers = Mapping[str, tuple[tuple[float, ...], ...]]


def results(numbers: Numbers) -> Results:
    """Scans of which each model reaches these means; DSC grows with lesion load and nDSC does not."""
    models = canonical.experiment(Plan(), Path(), Path(), Path()).models
    numbers = dict(numbers) | {"both": numbers["unetr-ensemble"]}
    load = np.linspace(0.001, 0.01, SCANS)
    wobble = np.array([1, -1, -1, 1, 1, -1]) * 0.01  # hardly follows the load
    by_split = {}
    for place, split in enumerate(SPLITS):
        figures = np.full((SCANS, len(models), len(FIGURES)), np.nan)
        for number, model in enumerate(models):
            ndsc, f1, area = (one[place] / 100 for one in numbers[model.row])
            values = {"ndsc": ndsc + wobble, "dice": 0.5 + 30 * (load - load.mean()), "lesion_f1": f1}
            values |= {"wrong": 500, "missed": 500, "structural": 0.1}
            values |= {f"r_aac_{measure}": area for measure in MEASURES}
            for name, value in values.items():
                figures[:, number, FIGURES.index(name)] = value
        curves = np.ones((len(models), len(MEASURES), POINTS), np.float32) - 0.01 * log_grid()[None, None] ** 40
        by_split[split] = [
            Judged(one, curves.astype(np.float32), np.array([1e6 * share, 1e6, 1e6 * share, 3e5]))
            for one, share in zip(figures, load, strict=True)
        ]
    return Results(models, by_split, [])


def failing(found: list[Relation]) -> list[str]:
    return [one.statement for one in found if not one.holds]


def test_all_statements_hold_on_the_papers_own_tables() -> None:
    found = relations.canonical(results(PAPER))
    assert len(found) >= 15
    assert failing(found) == []


@pytest.mark.parametrize(
    ("row", "figure", "value", "wrong"),
    [
        ("unet-ensemble", 2, 8.0, ["The UNET deep ensemble is better than its single models in R-AUC"]),
        (
            "unetr-ensemble",
            2,
            9.0,
            ["The UNETR deep ensemble is better than its", "The UNETR deep ensemble has the best"],
        ),
        ("unet-mcdp", 2, 9.9, ["MCDP is better in R-AUC"]),
        ("unet-dp", 0, 70.0, ["Dropout in training costs"]),
        ("unetr", 1, 1.0, ["Shift takes more than", "UNETR is better than UNET in lesion F1"]),
    ],
)
def test_each_statement_can_fail(row: str, figure: int, value: float, wrong: list[str]) -> None:
    changed = {name: [list(one) for one in figures] for name, figures in PAPER.items()}
    changed[row][figure] = [value] * len(SPLITS)
    found = failing(relations.canonical(results({name: tuple(map(tuple, one)) for name, one in changed.items()})))
    for statement in wrong:
        assert any(one.startswith(statement) for one in found), found


def test_what_fails_is_told_in_bold() -> None:
    one = check("larger", [Pair("first", 0.5, 0.4), Pair("second", 0.3, 0.3)])
    assert not one.holds
    assert one.found == "first 50.00 against 40.00; **second 30.00 against 30.00**"
    assert "**no**" in table([one])
    with pytest.raises(ValueError, match="nothing to compare"):
        check("nothing", [])


def test_statements_across_sites_hold_on_the_papers_tables_and_can_fail() -> None:
    crossed, excluded = across()
    assert failing(relations.across(crossed, excluded)) == []
    easy = {way: values.copy() for way, values in crossed.ndsc.items()}
    easy[WAYS[0]][:, 4] = 0.9
    assert len(failing(relations.across(replace(crossed, ndsc=easy), excluded))) == 2
    worse = [replace(one, r_auc={part: value + 0.2 for part, value in one.r_auc.items()}) for one in excluded[1::2]]
    changed = [*excluded[::2], *worse]
    assert len(failing(relations.across(crossed, changed))) == 1


def test_tables_have_the_papers_layout() -> None:
    found = results(PAPER)
    assert page.table_2(found).splitlines()[2].startswith("| Single | UNET | 68.54 | 49.33 | 67.59 | 55.79 | 2.51 |")
    assert "| UNETR | 0.0 | Deep Ensemble | 35.22 | 15.80 | 35.61 | 18.90 |" in page.per_split(found, "lesion_f1")
    assert "| UNET | 0.5 | MCDP | 1.92 ± 0.00 | 6.77 ± 0.00 |" in page.per_split(found, None)
    assert len(page.per_split(found, "ndsc").splitlines()) == 2 + len(ROWS)


def across() -> tuple[Crossed, list[Excluded]]:
    """Tables 4 (its first way, and the others above it) and 5 of the paper, sites in the order of Table 1."""
    first = np.array(
        [
            [50.51, 72.95, 54.81, 47.05, 35.78, 40.63],
            [49.46, 68.18, 55.12, 50.13, 34.70, 46.71],
            [58.73, 69.75, 66.68, 54.84, 42.51, 52.00],
            [59.03, 71.28, 63.93, 63.27, 46.95, 55.74],
            [66.18, 70.29, 65.98, 63.45, 57.03, 62.12],
            [60.00, 60.00, 60.00, 60.00, 60.00, 60.00],
        ]
    )
    table_5 = {
        "site_a": ((66.43, 70.86, 64.50), (3.10, 2.81, 6.54), (68.01, 72.48, 66.46), (2.02, 1.69, 4.14)),
        "site_b": ((65.66, 72.14, 63.21), (3.09, 2.48, 6.61), (66.33, 72.73, 63.25), (1.87, 1.33, 4.05)),
        "site_c": ((63.51, 69.27, 61.85), (3.68, 2.33, 6.69), (65.21, 70.69, 64.46), (2.54, 1.81, 4.70)),
        "site_d": ((65.87, 57.37, 61.78), (2.65, 3.05, 5.70), (66.68, 58.38, 61.93), (1.54, 1.69, 3.15)),
        "site_e": ((67.59, 49.33, 55.70), (2.77, 7.84, 9.87), (68.89, 50.85, 57.53), (1.76, 4.66, 7.40)),
    }
    parts = ("in", "out", "site_f")
    excluded = [
        Excluded(
            site,
            kind,
            {part: np.array([value / 100]) for part, value in zip(parts, values[at], strict=True)},
            {part: np.array([value / 100]) for part, value in zip(parts, values[at + 1], strict=True)},
        )
        for site, values in table_5.items()
        for at, kind in ((0, "Single"), (2, "Ensemble"))
    ]
    ndsc = {way: (first + 2 * number) / 100 for number, way in enumerate(WAYS)}
    return Crossed(ndsc, np.full(6, 0.5)), excluded
