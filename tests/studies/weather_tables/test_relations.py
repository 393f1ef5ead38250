"""Statements about the weather tables, checked on the paper's own numbers and on numbers where they do not hold."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from studies.weather_tables import relations
from studies.weather_tables.relations import BOTH, DROPOUT, ERRORS, NETWORKS, RETENTION, TREE, TREES, Results

PRINTED = json.loads((Path(__file__).parents[2] / "fixtures" / "weather_tables.json").read_text())
PARTS = ("in", "shifted", "full")
SPLITS = ("dev", "eval")
MEASURES = [
    *(("temperature", name) for name in ("tvar", "varm", "epkl")),
    *(("precipitation", name) for name in ("confidence", "entropy", "mi", "epkl", "rmi")),
]
SHARES = ("accuracy", "macro_f1", "f1_auc", "f1_at_95")


def share(figure: str, value: float) -> float:
    return value / 100 if figure.endswith(SHARES) else value


def rows(table: str) -> dict[tuple[str, ...], list[float]]:
    return {tuple(key.split("|")): values for key, values in PRINTED[table].items() if key != "columns"}


def paper(edition: str = "first") -> Results:
    performance = {}
    for (split, model), values in rows("table_9").items():
        if edition == "other":
            values = [*values[:9], *PRINTED["other_edition_macro_f1"]["table_9"][f"{split}|{model}"]]
        keys = [(figure, part) for figure in ERRORS for part in PARTS]
        for (figure, part), value in zip(keys, values, strict=True):
            performance[split, model, part, figure] = share(figure, value)
    by_head = [
        f"{head}.{name}" for head in ("temperature", "precipitation") for name in ("r_auc", "f1_auc", "f1_at_95")
    ]
    for (split, model), values in rows("table_10").items():
        for figure, value in zip(by_head, values, strict=True):
            performance[split, model, "full", figure] = share(figure, value)
    deviation = {}
    for (split, head), values in rows("table_2_deviations").items():
        for name, value in zip(("r_auc", "f1_auc", "f1_at_95"), values, strict=True):
            deviation[split, TREE, "full", f"{head}.{name}"] = share(name, value)
    measures = {}
    for (split, metric, model), f1 in rows("table_11").items():
        if metric == "F1-AUC":
            roc = rows("table_11")[split, "ROC-AUC", model]
            for (head, name), first, second in zip(MEASURES, f1, roc, strict=True):
                measures[split, model, head, name] = (first / 100, second / 100)
    extended = {}
    for (name, kind), values in rows("table_13").items():
        if edition == "other":
            values = [*values[:12], *PRINTED["other_edition_macro_f1"]["table_13"][f"{name}|{kind}"]]
        keys = [(figure, experiment) for figure in ERRORS for experiment in "ABCD"]
        for (figure, experiment), value in zip(keys, values, strict=True):
            extended[name, kind, experiment, figure] = share(figure, value)
    return Results(performance, deviation, measures, extended)


def changed(results: Results, change: Callable[[float], float]) -> Results:
    return Results(
        {key: change(value) for key, value in results.performance.items()},
        results.deviation,
        {key: (change(f1), change(roc)) for key, (f1, roc) in results.measures.items()},
        {key: change(value) for key, value in results.extended.items()},
    )


@pytest.mark.parametrize("edition", ["first", "other"])
def test_each_statement_is_as_the_papers_own_numbers_have_it(edition: str) -> None:
    statements = [*relations.said(paper(edition)), *relations.shown(paper(edition))]
    assert len(statements) >= 40
    assert len({statement.text for statement in statements if not statement.text.startswith("The same")}) >= 35
    wrong = [(statement.text, statement.found) for statement in statements if statement.holds != statement.printed]
    assert wrong == []


def test_the_exceptions_of_the_paper_are_few_and_named() -> None:
    statements = [*relations.said(paper()), *relations.shown(paper())]
    failing = [statement for statement in statements if not statement.printed]
    assert len(failing) == 5
    assert all(statement.text.startswith("The same") for statement in failing), (
        "each stands under what it is an exception of"
    )
    assert any(
        "**dev F1@95" in statement.found or "**dev FT-Transformer, ensemble F1@95" in statement.found
        for statement in failing
    )


def test_each_statement_can_fail() -> None:
    upside_down = changed(paper(), lambda value: value**-3)
    held = [*relations.said(paper()), *relations.shown(paper())]
    turned = [*relations.said(upside_down), *relations.shown(upside_down)]
    still = [before.text for before, after in zip(held, turned, strict=True) if before.holds and after.holds]
    assert still == []


@pytest.mark.parametrize(
    ("key", "value", "wrong"),
    [
        (("eval", TREES, "full", ERRORS[0]), 2.1, "An ensemble of CatBoost lowers RMSE on eval by about 0.16"),
        (
            ("dev", TREES, "full", "precipitation.r_auc"),
            0.165,
            "CatBoost ensembles are better than single models by R-",
        ),
        (("dev", NETWORKS, "full", ERRORS[0]), 1.7, "Ensembles of CatBoost and of FT-Transformers perform alike"),
        (("eval", BOTH, "full", RETENTION[0]), 1.2, f"{BOTH} has the best R-AUC and F1-AUC"),
        (("dev", DROPOUT, "full", "temperature.f1_at_95"), 0.6, "MCDP is competitive with the CatBoost ensemble"),
        (("dev", DROPOUT, "shifted", ERRORS[2]), 0.7, "All models are worse on shifted than on in-domain data"),
    ],
)
def test_a_single_number_makes_a_statement_fail(key: tuple[str, str, str, str], value: float, wrong: str) -> None:
    results = paper()
    results = replace(results, performance={**results.performance, key: value})
    failing = [statement for statement in relations.said(results) if statement.printed and not statement.holds]
    assert any(statement.text.startswith(wrong) for statement in failing)
    assert all("**" in statement.found for statement in failing)


def test_the_table_puts_what_fails_in_bold_and_names_the_papers_exceptions() -> None:
    text = relations.table(relations.said(changed(paper(), lambda value: value**-3)))
    assert "| yes | **no** | " in text
    lines = relations.table(relations.said(paper())).splitlines()
    assert lines[0] == "| statement | in the paper | here | found |"
    assert sum("| no | **no** |" in line for line in lines) == 4
    assert sum("| yes | yes |" in line for line in lines) == len(lines) - 2 - 4
    assert len({line.count(" | ") for line in lines if not line.startswith("|---")}) == 1


def test_virtual_ensembles_have_a_list_without_a_column_of_the_paper() -> None:
    results = paper()
    as_virtual = {
        (split, relations.VIRTUAL, part, figure): value
        for (split, model, part, figure), value in results.performance.items()
        if model == TREE
    }
    measures = {
        (split, relations.VIRTUAL, head, name): value
        for (split, model, head, name), value in results.measures.items()
        if model == "CatBoost"
    }
    results = replace(
        results,
        performance={**results.performance, **as_virtual},
        measures={**results.measures, **measures},
    )
    statements = relations.virtual(results)
    assert all(statement.holds for statement in statements)
    assert relations.table(statements, printed=False).startswith("| statement | here | found |\n|---|---|---|\n")
