"""The note's statements on regression metrics, checked on its own numbers and on numbers where they do not hold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from studies import regression_relations
from studies.regression_relations import KINDS, LABELS, Results

PRINTED = json.loads((Path(__file__).parents[1] / "fixtures" / "regression_tables.json").read_text())
MEASURES = ("mvar", "tvar", "varm", "epkl", "ll_fu")
FRACTIONS = (0.2, 0.6, 1.0)


def paper() -> Results:
    """The note's Tables 1 to 3; Table 4 repeats the last column of the two before it."""
    return Results(
        {kind: PRINTED["table_1"][kind][2] for kind in KINDS},
        {
            (kind, "printed", measure, figure): value
            for kind, table in zip(KINDS, ("table_2", "table_3"), strict=True)
            for figure, values in PRINTED[table].items()
            for measure, value in zip(MEASURES, values, strict=True)
        },
    )


def drawn() -> Results:
    """Made-up curves on which all statements about figures hold."""
    return replace(
        paper(),
        fractions=FRACTIONS,
        r3={"ensemble": (1.02, 0.98, 1.01), "single": (1.3, 1.2, 1.1)},
        mwse={"ensemble": (0.2, 0.8, 3.0), "single": (0.1, 0.6, 2.0)},
        least={"tvar": (2.0, 1.0, 3.0), "ll_fu": (1.0, 2.0, 3.0)},
    )


def test_all_statements_about_tables_hold_on_the_notes_own_numbers() -> None:
    statements = regression_relations.printed(paper())
    assert len({statement.text for statement in statements}) == len(statements) == 10
    assert [statement for statement in statements if not statement.holds] == []


def test_tables_of_the_fixture_agree_where_the_note_prints_a_number_twice() -> None:
    results = paper()
    for kind in KINDS:
        assert PRINTED["table_4"][kind] == [results.retention[kind, "printed", "ll_fu", figure] for figure in LABELS]


def test_statements_about_figures_can_hold() -> None:
    statements = regression_relations.drawn(drawn())
    assert len(statements) == 6
    assert [statement for statement in statements if not statement.holds] == []


@pytest.mark.parametrize(
    ("kind", "measure", "figure", "factor", "statement"),
    [
        ("ensemble", "ll_fu", "f1_auc", 0.9, "LL-FU of the ensemble has a larger F1-AUC"),
        ("single", "ll_fu", "f1_at_95", 1.1, "LL-FU of the ensemble has a larger F1@95"),
        ("single", "ll_fu", "r_auc", 0.5, "LL-FU of the ensemble has a smaller R-AUC"),
        ("ensemble", "tvar", "f1_auc", 1.5, "LL-FU has a larger F1-AUC than every other measure, ensemble"),
        ("ensemble", "epkl", "r_auc", 0.4, "LL-FU has a smaller R-AUC than every other measure, ensemble"),
        ("single", "varm", "f1_at_95", 1.1, "LL-FU has a larger F1@95 than every other measure, single"),
    ],
)
def test_each_statement_about_tables_can_fail(
    kind: str, measure: str, figure: str, factor: float, statement: str
) -> None:
    results = paper()
    key = (kind, "printed", measure, figure)
    statements = regression_relations.printed(
        replace(results, retention={**results.retention, key: factor * results.retention[key]})
    )
    failing = [relation for relation in statements if not relation.holds]
    assert any(relation.text.startswith(statement) for relation in failing)
    assert all("**" in relation.found for relation in failing), "what fails is shown in bold"


def test_the_statement_about_calibration_can_fail() -> None:
    statements = regression_relations.printed(replace(paper(), lence={"ensemble": 1.7, "single": 1.6}))
    assert [statement.text for statement in statements if not statement.holds] == [
        "The ensemble has a lower LENCE than the single model"
    ]


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        (
            {"r3": {"ensemble": (1.02, 0.7, 1.01), "single": (1.3, 1.2, 1.1)}},
            "RMSE / RMV of the ensemble is nearer to 1",
        ),
        ({"r3": {"ensemble": (1.3, 1.0, 1.0), "single": (1.4, 1.4, 1.4)}}, "RMSE / RMV of the ensemble is nearer to a"),
        ({"mwse": {"ensemble": (0.2, 0.8, 1.9), "single": (0.1, 0.6, 2.0)}}, "The ensemble diverges more in MWSE"),
        ({"mwse": {"ensemble": (0.2, 0.6, 2.0), "single": (0.0, 0.5, 1.0)}}, "The distance of the two MWSE curves"),
        ({"least": {"tvar": (2.0, 1.0), "ll_fu": (1.0, 0.9)}}, "On shifted rows the lower bound of LL-FU grows"),
        ({"least": {"tvar": (1.0, 2.0), "ll_fu": (1.0, 2.0)}}, "LL-FU is unique in this"),
    ],
)
def test_each_statement_about_figures_can_fail(change: dict[str, object], statement: str) -> None:
    statements = regression_relations.drawn(replace(drawn(), **change))  # type: ignore[arg-type]
    failing = [relation for relation in statements if not relation.holds]
    assert any(relation.text.startswith(statement) for relation in failing)
    assert all("**" in relation.found for relation in failing)
