"""The tables judge what the artefact says, ensemble and members alike."""

from pathlib import Path

import numpy as np
import pytest

from models import artefact as artefacts
from models.assessment import errors
from models.executors.onnx import OnnxGraph
from models.tasks.vessel import tables
from models.tasks.vessel.artefact import build
from models.tasks.vessel.inference import scoring
from models.tasks.vessel.inference.scoring import Figures
from studies import pages

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def artefact(trained, data, tmp_path_factory):
    return build.build(trained("mc_dropout", 3), data, tmp_path_factory.mktemp("tables") / "mc_dropout-3x10")


def test_ensemble_and_members_come_from_one_pass(artefact, trained, data, tmp_path) -> None:
    rows = data["eval_in"].features[:200]
    whole, members = tables.predict_both(artefact, rows)
    served = scoring.predict(OnnxGraph(artefact.path("ensemble.onnx")), rows)
    np.testing.assert_allclose(whole.mean, served.mean, rtol=1e-5)
    np.testing.assert_allclose(whole.tvar, served.tvar, rtol=1e-4)
    alone = build.build(trained("mc_dropout", 3).select(slice(1, 2)), {}, tmp_path / "mc_dropout-1x10")
    single = scoring.predict(OnnxGraph(alone.path("ensemble.onnx")), rows)
    np.testing.assert_allclose(members[1].mean, single.mean, rtol=1e-5)
    np.testing.assert_allclose(members[1].tvar, single.tvar, rtol=1e-4)


def test_full_is_in_and_out_together(artefact, data) -> None:
    result = tables.judge(artefact, data)
    assert set(result.whole) == set(tables.SETS) - {"gen"}
    power = np.concatenate([data["dev_in"].power, data["dev_out"].power])
    both, _ = tables.predict_both(artefact, np.concatenate([data["dev_in"].features, data["dev_out"].features]))
    assert result.whole["dev_full"].rmse_kw == pytest.approx(errors.rmse(power, both.mean))
    mean, deviation = result.value("dev_full", "rmse_kw", single=True)
    assert deviation > 0
    assert mean > result.value("dev_full", "rmse_kw", single=False)[0]


def made(family: str, whole: float, single: float, gen: float) -> tables.Result:
    def one(value: float) -> Figures:
        return Figures(value, value, 1.0, value, 0.5, 0.5)

    sets = {name: whole + (name.endswith("out")) for name in tables.SETS} | {"gen": gen}
    return tables.Result(
        family,
        {name: one(value) for name, value in sets.items()},
        {name: (one(single), one(single + 2)) for name in sets},
    )


def test_tables_have_a_row_for_each_model_and_a_deviation_for_singles() -> None:
    results = [made("dnn", 10, 12, 20), made("variational", 10, 12, 15)]
    text = tables.table(results, (("rmse_kw", "RMSE", 1.0, ".0f"),), "eval")
    lines = text.splitlines()
    assert len(lines) == 6
    assert "| VI | deep ensemble | 10 | 11 | 10 | 15 |" in lines
    assert "| DNN | single | 13 ± 1 | 13 ± 1 | 13 ± 1 | 13 ± 1 |" in lines
    assert {line.count("|") for line in lines} == {7}
    assert len(tables.table_3(results).splitlines()) == 6


@pytest.mark.parametrize("name", ["dnn-10", "mc_dropout-10x10", "variational-10x10", "symbolic-10"])
def test_the_quality_page_is_about_the_committed_weights(name) -> None:
    page = (ROOT / "docs" / "quality" / "vessel.md").read_text()
    assert pages.named(artefacts.read(ROOT / "artefacts" / "vessel" / name)) in page, "run studies/vessel_tables.py"
