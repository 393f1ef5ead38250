"""The paper's statements on vessels, checked on the paper's own numbers and on numbers where they do not hold."""

import json
from pathlib import Path

import pytest

from models import artefact as artefacts
from models.tasks.vessel.artefact.ensemble import FAMILIES
from models.tasks.vessel.inference.scoring import Figures
from models.tasks.vessel.tables import Result
from simulators.vessel.dataset import generalisation, simulate
from studies import vessel_relations, vessel_tables

PRINTED = json.loads((Path(__file__).parents[1] / "fixtures" / "vessel_tables.json").read_text())
ARTEFACTS = Path(__file__).parents[2] / "artefacts" / "vessel"
PARTS = ("in", "out", "full", "gen")


def printed(split: str, part: str, family: str, kind: str) -> Figures:
    """The paper's figures, in the units of ``Figures``."""
    place = PARTS.index(part)
    key = f"{split}|{family}|{kind}"
    rmse, mae, mape = PRINTED["table_19"][key][place::4]
    r_auc, f1_auc, f1_at_95 = PRINTED["table_20"][key][place::4]
    return Figures(rmse, mae, mape, 1e5 * r_auc, f1_auc, f1_at_95)


def paper() -> list[Result]:
    sets = {f"{split}_{part}": (split, part) for split in ("dev", "eval") for part in PARTS[:3]} | {
        "gen": ("eval", "gen")
    }
    return [
        Result(
            family,
            {name: printed(*where, family, "ensemble") for name, where in sets.items()},
            {name: (printed(*where, family, "single"),) for name, where in sets.items()},
        )
        for family in FAMILIES
    ]


def test_all_statements_hold_on_the_papers_own_tables() -> None:
    statements = vessel_relations.relations(paper())
    assert len({statement.text for statement in statements}) == len(statements) >= 41
    assert [statement for statement in statements if not statement.holds] == []


def test_statements_that_its_tables_contradict_do_not_hold_there() -> None:
    statements = vessel_relations.unsupported(paper())
    assert [statement for statement in statements if statement.holds] == []


def test_ensembles_against_members_belong_to_the_paper() -> None:
    """Its text says so of all figures; its Table 20 contradicts one, F1-AUC, in the rows of MC dropout."""
    results = paper()
    against = "than their members have on average"
    assert [statement for statement in vessel_relations.own(results) if against in statement.text] == []
    (denied,) = (statement for statement in vessel_relations.unsupported(results) if against in statement.text)
    assert "F1-AUC" in denied.text
    assert "MC dropout" in denied.found


def changed(family: str, kind: str, data: str, figure: str, factor: float) -> list[Result]:
    """The paper's results with one number multiplied."""
    results = paper()
    chosen = next(result for result in results if result.family == family)
    figures = chosen.whole[data] if kind == "ensemble" else chosen.members[data][0]
    values = {name: getattr(figures, name) for name in Figures.__slots__}
    other = Figures(**(values | {figure: factor * values[figure]}))
    if kind == "ensemble":
        chosen.whole[data] = other
    else:
        chosen.members[data] = (other,)
    return results


@pytest.mark.parametrize(
    ("family", "kind", "data", "figure", "factor", "statement"),
    [
        ("dnn", "single", "eval_out", "rmse_kw", 0.5, "eval: RMSE is larger on shifted than on in-domain data"),
        ("dnn", "ensemble", "dev_out", "r_auc_kw2", 0.5, "dev: R-AUC is larger on shifted than on in-domain data"),
        ("symbolic", "ensemble", "gen", "mae_kw", 1.2, "Ensembles have a smaller MAE than their members"),
        ("variational", "ensemble", "dev_in", "mape_percent", 1.01, "Ensembles have a smaller MAPE than their members"),
        ("dnn", "ensemble", "eval_out", "f1_at_95", 0.9, "Ensembles have a larger F1@95 than their members"),
        ("dnn", "single", "eval_in", "r_auc_kw2", 0.9, "Of single models VI has the smallest R-AUC"),
        ("variational", "single", "eval_in", "rmse_kw", 1.1, "Of single models VI has the smallest RMSE"),
        ("variational", "ensemble", "eval_out", "rmse_kw", 1.02, "The VI ensemble is comparable to or better"),
        ("symbolic", "ensemble", "dev_in", "rmse_kw", 0.9, "The symbolic ensemble has the largest RMSE"),
        ("symbolic", "single", "gen", "rmse_kw", 1.5, "Of single models the symbolic one has the smallest RMSE on gen"),
        ("dnn", "ensemble", "gen", "rmse_kw", 1.04, "The DNN ensemble has the second smallest RMSE on gen"),
        ("symbolic", "single", "gen", "r_auc_kw2", 0.9, "Of single models the symbolic one has the second smallest"),
        ("symbolic", "ensemble", "gen", "r_auc_kw2", 0.9, "The DNN ensemble has the smallest R-AUC on gen"),
        ("dnn", "ensemble", "gen", "f1_auc", 0.9, "The DNN ensemble has the largest F1-AUC on gen"),
        ("variational", "ensemble", "gen", "r_auc_kw2", 1.1, "Ensembles of DNN and VI have a smaller R-AUC on gen"),
        ("dnn", "ensemble", "eval_in", "mape_percent", 0.5, "Ensembles differ more in MAPE on gen"),
        ("symbolic", "ensemble", "eval_in", "r_auc_kw2", 0.5, "DNN and VI are the two ensembles of the smallest R-AUC"),
        ("dnn", "ensemble", "eval_full", "r_auc_kw2", 1.03, "The ensembles of DNN and VI are similar by R-AUC"),
        ("variational", "ensemble", "gen", "r_auc_kw2", 0.98, "On gen the ranking by R-AUC is clear"),
        ("symbolic", "single", "dev_out", "mae_kw", 0.9, "Of single models VI has the smallest MAE"),
        ("dnn", "single", "eval_full", "f1_auc", 1.1, "Of single models VI has the largest F1-AUC"),
        ("symbolic", "single", "gen", "rmse_kw", 1.25, "The RMSE of the symbolic model grows less from eval to gen"),
        ("dnn", "ensemble", "dev_out", "f1_auc", 0.97, "DNN and VI are the two ensembles of the largest F1-AUC"),
        ("dnn", "ensemble", "dev_out", "f1_at_95", 1.04, "The ensembles of DNN and VI are similar by F1@95"),
        ("variational", "ensemble", "dev_in", "f1_auc", 1.04, "The ensembles of DNN and VI are similar by F1-AUC"),
    ],
)
def test_each_statement_can_fail(family: str, kind: str, data: str, figure: str, factor: float, statement: str) -> None:
    statements = vessel_relations.relations(changed(family, kind, data, figure, factor))
    failing = [relation for relation in statements if not relation.holds]
    assert any(relation.text.startswith(statement) for relation in failing)
    assert all("**" in relation.found for relation in failing), "what fails is shown in bold"


def test_what_the_discussion_reads_the_tables_by_is_computed() -> None:
    splits = simulate(0.002, 1)
    variational = artefacts.read(ARTEFACTS / "variational-1x10", task="vessel")
    text = vessel_tables.limits(splits["train"], splits["eval_in"], generalisation(200, 1), [variational])
    values = [float(line.split(" | ")[1].strip(" |")) for line in text.splitlines()[2:]]
    labels, simulator, largest, box, width = values
    assert 0 < labels < simulator
    assert largest < 60 < box
    assert 0.001 < width < 0.1
