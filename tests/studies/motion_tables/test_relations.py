"""The paper's statements, checked on the paper's own numbers and on numbers where they do not hold."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.motion_tables import page
from studies.motion_tables.judge import MEASURES, SETS, Score
from studies.motion_tables.plan import BACKBONES, METHODS, ROWS, Plan, Row
from studies.motion_tables.record import Compared, Record, Run
from studies.motion_tables.relations import FIGURES, GAINS, LARGEST, Results, relations, said, shown

PRINTED = json.loads((Path(__file__).parents[2] / "fixtures" / "motion_tables.json").read_text())
SPLITS = ("dev", "eval")


def printed(split: str, row: Row) -> dict[str, Score]:
    key = f"{split}|{row.method}|{row.backbone}|{row.operator}|{row.size}"
    errors = np.reshape(PRINTED["table_20"][key], (5, 3))
    *areas, roc_auc = PRINTED["table_21"][key]
    retention = np.reshape(areas, (3, 3)) / [[1], [100], [100]]
    ade = PRINTED["table_7_r_auc_weightedade"].get(f"{split}|{row.backbone}|{row.size}", 0.3)
    return {
        name: Score(
            *errors[:, place],
            retention[0, place],
            ade,
            *retention[1:, place],
            roc_auc / 100 if name == "full" else np.nan,
        )
        for place, name in enumerate(SETS)
    }


def paper() -> dict[tuple[str, Row], dict[str, Score]]:
    return {(split, row): printed(split, row) for split in SPLITS for row in ROWS}


def failing(results: Results) -> list[str]:
    return [statement.text for statement in relations(results) if not statement.holds]


def test_all_statements_hold_on_the_papers_own_tables() -> None:
    statements = relations(paper())
    assert (
        len({statement.text for statement in statements})
        == len(statements)
        == len(said(paper())) + len(shown(paper()))
        >= 40
    )
    assert failing(paper()) == []


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("method", METHODS)
def test_five_members_are_compared_with_one_wherever_the_paper_goes_one_way(
    figure: str, backbone: str, method: str
) -> None:
    """The list is neither longer nor shorter than what its printed numbers of both splits support."""
    if figure == "r_auc_weightedade" and method == METHODS[1]:
        assert (figure, backbone, method) not in GAINS, "the paper does not print it"
        return
    sign = 1 if figure.startswith("f1") else -1
    gains = []
    for split in SPLITS:
        five, single = (
            next(
                getattr(printed(split, row)["full"], figure)
                for row in ROWS
                if (row.method, row.backbone, row.operator, row.size) == (method, backbone, "MA", size)
            )
            for size in (5, 1)
        )
        assert five != single
        gains.append(sign * five > sign * single)
    assert GAINS.get((figure, backbone, method)) == (gains[0] if gains[0] == gains[1] else None)


@pytest.mark.parametrize(
    ("row", "name", "change", "wrong"),
    [
        (
            Row("Deep Ensemble", "BC", "MA", 3),
            "full",
            {"weightedade": 9.0},
            "RIP-BC is better than RIP-DIM in weightedADE",
        ),
        (Row("Deep Ensemble", "DIM", "MA", 1), "full", {"cnll": 99.0}, "RIP-DIM is better than RIP-BC in cNLL"),
        (Row("Dropout Ensemble", "BC", "MA", 5), "full", {"minade": 2.0}, "Five members are better than one in minADE"),
        (
            Row("Deep Ensemble", "BC", "MA", 5),
            "full",
            {"r_auc": 50.0},
            "Five members are better than one in R-AUC of cNLL, RIP-BC, deep ensembles",
        ),
        (
            Row("Deep Ensemble", "BC", "MA", 5),
            "full",
            {"f1_auc": 0.5},
            "Five RIP-BC are better than five RIP-DIM in F1-AUC",
        ),
        (Row("Dropout Ensemble", "DIM", "LQ", 3), "shifted", {"minfde": 0.1}, "Errors are larger on shifted"),
        (
            Row("Dropout Ensemble", "DIM", "LQ", 3),
            "full",
            {"roc_auc": 0.9},
            "Request uncertainties do not detect shifted",
        ),
        (
            Row("Deep Ensemble", "BC", "MA", 5),
            "full",
            {"cnll": 64.29},
            "Five members are better than one in cNLL, RIP-BC, deep ensembles",
        ),
        (Row("Deep Ensemble", "DIM", "MA", 5), "full", {"minfde": 1.6}, "Five members are better than one in minFDE"),
        (
            Row("Dropout Ensemble", "BC", "MA", 5),
            "full",
            {"f1_at_95": 0.8},
            "Five members are better than one in F1@95",
        ),
        (
            Row("Dropout Ensemble", "BC", "MA", 5),
            "full",
            {"cnll": 50.0},
            "One member is better than five in cNLL, RIP-BC, dropout ensembles",
        ),
        (
            Row("Deep Ensemble", "BC", "MA", 3),
            "full",
            {"r_auc": 50.0},
            "RIP-BC is better than RIP-DIM in R-AUC of cNLL, deep ensembles of K=1, K=3",
        ),
        (
            Row("Dropout Ensemble", "DIM", "MA", 3),
            "full",
            {"f1_at_95": 0.95},
            "RIP-BC is better than RIP-DIM in F1@95, dropout ensembles of K=1, K=3, K=5",
        ),
        (
            Row("Dropout Ensemble", "DIM", "MA", 1),
            "full",
            {"minfde": 9.0},
            "RIP-DIM is better than RIP-BC in minFDE, dropout ensembles",
        ),
        (
            Row("Deep Ensemble", "BC", "LQ", 1),
            "full",
            {"minade": 0.5},
            "With one member LQ and MA choose the same plans",
        ),
    ],
)
def test_each_statement_can_fail(row: Row, name: str, change: dict[str, Any], wrong: str) -> None:
    results = paper()
    results["dev", row][name] = replace(results["dev", row][name], **change)
    assert any(statement.startswith(wrong) for statement in failing(results))


def test_the_papers_largest_shares_are_those_of_the_statement() -> None:
    for split, largest in LARGEST.items():
        printed = [100 * sets["full"].roc_auc for (part, _), sets in paper().items() if part == split]
        assert max(printed) == pytest.approx(100 * largest)


def recorded(results: Results, compared: Compared, *, left_out: bool = True) -> Record:
    run = Run("cpu of a test", {"dev": {"Moscow": 3}, "eval": {"Moscow": 2}}, 1, left_out, ("Members of a test.",))
    return Record(Plan(), (), {}, {}, {}).merged(run, results, compared)


def test_rows_of_deep_ensembles_alone_are_checked_and_laid_out() -> None:
    results = {(split, row): sets for (split, row), sets in paper().items() if row.method == "Deep Ensemble"}
    assert failing(results) == []
    assert {statement.text for statement in said(results)} == {statement.text for statement in said(paper())}
    assert not any("dropout" in statement.text for statement in relations(results))
    assert "| Dropout" not in page.document(recorded(results, {}))


def test_the_page_lays_tables_out_as_the_paper() -> None:
    results = paper()
    compared = {(split, ROWS[5], name): results[split, ROWS[5]]["full"] for split in SPLITS for name in MEASURES}
    text = page.document(recorded(results, compared))
    assert "| Eval | BC, MA, K=5 | 57.75 | 95.00 | 65.20 | 0.777 | 1.014 | 0.824 |" in text
    assert "| Dev | 5 | 9.08 | 13.24 | 0.236 | 0.376 | 65.2 | 63.7 | 90.6 | 89.7 | 49.2 | 51.4 |" in text
    assert "| Dev | Dropout Ensemble | DIM, LQ, K=1 | 0.750 | 0.831 | 0.759 |" in text
    assert "| Eval | Dropout Ensemble | BC, LQ, K=3 | 8.22 | 14.83 | 9.39 | 64.9 | 65.6 | 65.1 |" in text
    assert text.count("\n| Dev | ") == text.count("\n| Eval | ")
    assert page.MARK not in text
