"""The paper's statements, checked on the paper's own numbers and on numbers where they do not hold."""

from dataclasses import replace

import pytest

from studies.translation_tables import page
from studies.translation_tables.judge import AWAY, FULL, IN, MEASURES, SINGLE, TOGETHER, Decided
from studies.translation_tables.plan import RETENTION
from studies.translation_tables.relations import own, relations

AREAS = {name: 30.0 + place for place, name in enumerate(("scr_pe", *(set(MEASURES) - {"scr_pe"})))}


def decided(deferred: float) -> Decided:
    return Decided(100, 0, deferred, 70.0, 65.0, 90.0, 0.3, 0.4, 0.1, 0.0)


DECISIONS = {IN: decided(1 - RETENTION), AWAY: decided(0.7), "wmt22": decided(0.8)}


@pytest.mark.parametrize("split", page.SPLITS)
def test_all_statements_hold_on_the_papers_own_tables(split: str) -> None:
    statements = relations(page.printed(split))
    assert len(statements) == 15
    assert [statement.text for statement in statements if not statement.holds] == []


@pytest.mark.parametrize(
    ("row", "kind", "name", "value", "wrong"),
    [
        (IN, SINGLE, "bleu", 50.0, "The ensemble is better than its members alone in BLEU"),
        (AWAY, TOGETHER, "egleu", 5.0, "The ensemble is better than its members alone in eGLEU"),
        (AWAY, TOGETHER, "maxgleu", 60.0, "Shift lowers maxGLEU"),
        (AWAY, SINGLE, "bleu", 33.0, "Shift lowers BLEU"),
        (AWAY, SINGLE, "egleu", 33.0, "Shift costs nearly 10 points"),
        (IN, TOGETHER, "bleu", 37.0, "Shift costs nearly 10 points"),
        (FULL, SINGLE, "maxgleu", 31.0, "maxGLEU is more than 5 points above eGLEU"),
        (FULL, SINGLE, "r_auc", 30.0, "The ensemble is better than its members alone in R-AUC"),
        (FULL, TOGETHER, "f1_at_95", 0.3, "The ensemble is better than its members alone in F1@95"),
        (FULL, SINGLE, "r_auc", 36.0, "Deferring by uncertainty leaves less error"),
        (FULL, TOGETHER, "roc_auc", 49.0, "Uncertainty tells shifted sentences"),
    ],
)
def test_each_statement_can_fail(row: str, kind: str, name: str, value: float, wrong: str) -> None:
    results = dict(page.printed("dev"))
    results[row, kind] = (replace(results[row, kind][0], **{name: value}),)
    assert any(statement.text.startswith(wrong) for statement in relations(results) if not statement.holds)


def test_bleu_that_ranks_otherwise_fails() -> None:
    results = dict(page.printed("dev"))
    for row, value in ((IN, 1.0), (AWAY, 90.0)):
        for kind in (SINGLE, TOGETHER):
            results[row, kind] = (replace(results[row, kind][0], bleu=value),)
    assert "BLEU and eGLEU agree on which rows are better" in [
        statement.text for statement in relations(results) if not statement.holds
    ]


def test_decisions_and_measures_are_checked() -> None:
    results = page.printed("dev")
    assert all(statement.holds for statement in own(results, AREAS, DECISIONS, RETENTION))
    worst = own(results, AREAS | {"scr_pe": 99.0}, DECISIONS, RETENTION)[0]
    assert (worst.holds, "place 20" in worst.found) == (False, True)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"wmt22": replace(decided(0.3), deferred_error=60.0)}, "What is deferred is worse"),
        ({AWAY: decided(0.01)}, "More is deferred of other domains"),
    ],
)
def test_decisions_can_fail(change: dict[str, Decided], wrong: str) -> None:
    statements = own(page.printed("dev"), AREAS, DECISIONS | change, RETENTION)
    assert any(statement.text.startswith(wrong) for statement in statements if not statement.holds)


def test_another_share_than_the_policy_keeps_fails() -> None:
    statements = own(page.printed("dev"), AREAS, DECISIONS, RETENTION - 0.03)
    assert [statement.found for statement in statements if not statement.holds] == ["**answered 57.0**"]


def test_rows_of_public_sets_are_checked_where_they_are() -> None:
    results = dict(page.printed("dev"))
    for kind in (SINGLE, TOGETHER):
        results["wmt22", kind] = (replace(results[FULL, kind][0], roc_auc=40.0),)
    statements = own(results, AREAS, DECISIONS, RETENTION)
    assert [statement.text for statement in statements if not statement.holds] == [
        "Public sets of other domains are more uncertain than held-out sentences"
    ]
