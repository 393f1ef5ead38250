"""The paper's statements, checked on the paper's own numbers and on numbers where they do not hold."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("monai")

from models.assessment.segmentation_retention import POINTS, log_grid
from studies.lesion_tables import canonical, page, printed, relations
from studies.lesion_tables.canonical import Results
from studies.lesion_tables.judge import FIGURES, MEASURES, ScanFigures
from studies.lesion_tables.plan import ROWS, SITES, SPLITS, TABLE_5, WAYS, Crossed, Excluded, Plan
from studies.lesion_tables.printed import Printed
from studies.statements import Pair, Statement, check, table

TABLES = json.loads((Path(__file__).parents[2] / "fixtures" / "lesion_tables.json").read_text())
PAPER = {
    row.name: tuple(
        tuple(TABLES[table][f"{row.architecture}|{row.dropout}|{row.kind}"])
        for table in ("table_9", "table_10", "table_11")
    )
    for row in ROWS[:-1]
}
"""nDSC, F1 and R-AUC by row and split (Tables 9 to 11), %."""
PLACES = ("Rennes", "Bordeaux", "Lyon", "Best", "Ljubljana", "Lausanne")
"""In whose spirit the simulated sites are, in their order."""
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
            ndsc, f1, area = (column[place] / 100 for column in numbers[model.row])
            values = {"ndsc": ndsc + wobble, "dice": 0.5 + 30 * (load - load.mean()), "lesion_f1": f1}
            values |= {"wrong": 500, "missed": 500, "structural": 0.1}
            values |= {f"r_aac_{measure}": area for measure in MEASURES}
            for name, value in values.items():
                figures[:, number, FIGURES.index(name)] = value
        curves = np.ones((len(models), len(MEASURES), POINTS), np.float32) - 0.01 * log_grid()[None, None] ** 40
        by_split[split] = [
            ScanFigures(cells, curves.astype(np.float32), np.array([1e6 * share, 1e6, 1e6 * share, 3e5]))
            for cells, share in zip(figures, load, strict=True)
        ]
    return Results(models, by_split, [])


def failing(statements: list[Statement]) -> list[str]:
    return [statement.text for statement in statements if not statement.holds]


def paper(numbers: Numbers = PAPER, correlations: Mapping[str, list[float]] = TABLES["table_8"]) -> Printed:
    means = {
        (row.name, split, ("ndsc", "lesion_f1", row.r_auc)[figure]): numbers[row.name][figure][place] / 100
        for row in ROWS[:-1]
        for place, split in enumerate(SPLITS)
        for figure in range(3)
    }
    linked = {
        (split, name): line[2 + at] for split, line in correlations.items() for at, name in enumerate(("dice", "ndsc"))
    }
    return Printed(means, linked)


def test_all_statements_hold_on_the_papers_own_tables() -> None:
    statements = relations.canonical(paper())
    assert len(statements) >= 31
    assert failing(statements) == []


def test_curves_as_those_of_figure_9_are_far_below_a_random_order() -> None:
    assert relations.retention(results(PAPER)).holds


def test_scans_give_the_figures_that_their_tables_print() -> None:
    measured, tables = results(PAPER), paper()
    for row in ROWS[:-1]:
        for name in ("ndsc", "lesion_f1", row.r_auc):
            assert measured.mean(row, "dev_out", name) == pytest.approx(tables.mean(row, "dev_out", name))


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
        ("unetr", 0, 99.0, ["UNETR is about 2 points of nDSC ahead"]),
        ("unetr-ensemble", 1, 60.0, ["UNETR is about 5 points of lesion F1", "Deep ensembles gain about one point of"]),
        ("unetr-ensemble", 0, 60.0, ["Shift costs UNETR as much", "The UNETR deep ensemble is better"]),
        ("unet-dp", 0, (68, 30, 67, 30), ["Dropout in training costs the single UNET more nDSC", "MCDP lowers nDSC"]),
        ("unet-dp", 1, (25, 2, 25, 2), ["Dropout in training costs the single UNET more lesion", "MCDP lowers lesion"]),
        ("unet-mcdp", 0, 69.0, ["MCDP is worse than the single UNET without dropout in nDSC"]),
        ("unet-mcdp", 1, 26.0, ["MCDP is worse than the single UNET without dropout in lesion F1"]),
        ("unet-mcdp", 2, 3.0, ["MCDP is better in R-AUC than the single UNET without", "Shift makes R-AUC worse"]),
        ("unetr", 2, 9.0, ["The single UNETR has the best R-AUC", "Shift makes R-AUC worse"]),
    ],
)
def test_each_statement_can_fail(row: str, figure: int, value: float | tuple[int, ...], wrong: list[str]) -> None:
    changed = {name: [list(column) for column in figures] for name, figures in PAPER.items()}
    changed[row][figure] = [value] * len(SPLITS) if isinstance(value, float) else list(value)
    failures = failing(relations.canonical(paper({name: tuple(map(tuple, rows)) for name, rows in changed.items()})))
    for statement in wrong:
        assert any(text.startswith(statement) for text in failures), failures


def test_statements_of_correlations_can_fail() -> None:
    independent = {split: [50.0, 50.0, 0.1, 0.2] for split in SPLITS}
    failures = failing(relations.canonical(paper(correlations=independent)))
    assert [text.split(" (")[0] for text in failures] == [
        "DSC grows with lesion load",
        "nDSC is less correlated with lesion load than DSC",
    ]


def test_the_pages_list_is_that_of_its_tables() -> None:
    text = (Path(__file__).parents[3] / "docs" / "quality" / "lesion.md").read_text()
    assert printed.rewritten(text) == text
    worse = text.replace("| UNET | 0.0 | Deep Ensemble | 57.89 |", "| UNET | 0.0 | Deep Ensemble | 12.34 |", 1)
    assert worse != text
    assert "**dev_in 12.34 against 56.95**" in printed.rewritten(worse)
    with pytest.raises(ValueError, match="no Table 9 of 3 names"):
        printed.found(text.replace("## Table 9", "## Table 99"))


def test_what_fails_is_told_in_bold() -> None:
    statement = check("larger", [Pair("first", 0.5, 0.4), Pair("second", 0.3, 0.3)])
    assert not statement.holds
    assert statement.found == "first 50.00 against 40.00; **second 30.00 against 30.00**"
    assert "**no**" in table([statement])
    with pytest.raises(ValueError, match="at least one comparison"):
        check("nothing", [])


def test_statements_across_sites_hold_on_the_papers_tables_and_can_fail() -> None:
    crossed, excluded = across()
    assert failing(relations.across(crossed, excluded)) == []
    easy = {way: values.copy() for way, values in crossed.ndsc.items()}
    easy[WAYS[0]][:5, 4] = 0.9
    assert [text.split(",")[0] for text in failing(relations.across(replace(crossed, ndsc=easy), excluded))] == [
        "Thresholds chosen on the training site's own development scans lose nDSC elsewhere (means of other sites)",
        "Thresholds chosen on the test scans are an upper bound for every pair of sites",
        "Models trained on an in-domain site do worse on site_e than on any other in-domain site",
    ]
    worse = [
        replace(entry, r_auc={part: value + 0.2 for part, value in entry.r_auc.items()}) for entry in excluded[1::2]
    ]
    changed = [*excluded[::2], *worse]
    assert len(failing(relations.across(crossed, changed))) == 1


def test_tables_have_the_papers_layout() -> None:
    measured = results(PAPER)
    assert page.table_2(measured).splitlines()[2].startswith("| Single | UNET | 68.54 | 49.33 | 67.59 | 55.79 | 2.51 |")
    assert "| UNETR | 0.0 | Deep Ensemble | 35.22 | 15.80 | 35.61 | 18.90 |" in page.per_split(measured, "lesion_f1")
    assert "| UNET | 0.5 | MCDP | 1.92 ± 0.00 | 6.77 ± 0.00 |" in page.per_split(measured, None)
    assert len(page.per_split(measured, "ndsc").splitlines()) == 2 + len(ROWS)


def across() -> tuple[Crossed, list[Excluded]]:
    """Tables 4 and 5 of the paper in the order of the simulated sites; Lausanne did not train."""
    columns = ("Rennes", "Bordeaux", "Lyon", "Ljubljana", "Best", "Lausanne")
    order = [columns.index(place) for place in PLACES]
    ndsc = {
        way: np.array(
            [
                np.array(TABLES["table_4"].get(f"{way}|{place}", [None] * len(columns)), float)[order] / 100
                for place in PLACES
            ]
        )
        for way in WAYS
    }
    parts = ("in", "out", SITES[-1])
    excluded = [
        Excluded(
            site,
            kind,
            {part: np.array([value / 100]) for part, value in zip(parts, line[:3], strict=True)},
            {part: np.array([value / 100]) for part, value in zip(parts, line[3:], strict=True)},
        )
        for site, place in zip(TABLE_5, PLACES, strict=False)
        for kind in ("Single", "Ensemble")
        for line in (TABLES["table_5"][f"{place}|{kind}"],)
    ]
    return Crossed(ndsc, np.full(len(SITES), 0.5)), excluded
