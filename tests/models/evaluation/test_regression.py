"""Files of normal distributions: figures against formulas, singles, conventions, refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.evaluation import regression
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.vessel.data import predictions as vessel
from models.tasks.weather.data import predictions as weather

FIXTURES = Path(__file__).parents[2] / "fixtures"
CALIBRATION = json.loads((FIXTURES / "regression_calibration.json").read_text())
UNCERTAINTY = json.loads((FIXTURES / "regression_uncertainty.json").read_text())["cases"]


def arrays(seed: int = 0, members: int = 4, units: int = 80) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    mean = rng.normal(10, 3, units) + rng.normal(0, 0.5, (members, units))
    variance = rng.gamma(2, 0.6, (members, units)) + 0.05
    target = rng.normal(mean[0], 1.5)
    return {
        "members": np.stack([mean, variance], axis=2),
        "target": target,
        "shifted": (rng.random(units) < 0.4).astype(int),
    }


def saved(tmp_path: Path, fields: dict[str, np.ndarray], name: str = "p.npz") -> Path:
    path = tmp_path / name
    np.savez(path, **fields)
    return path


def test_figures_are_those_of_the_formulas(tmp_path: Path) -> None:
    fields = arrays()
    mean, variance, target = fields["members"][..., 0], fields["members"][..., 1], fields["target"]
    document = evaluate(regression.read(saved(tmp_path, fields), ErrorOptions(bins=4))).document()
    squared = (target - mean.mean(0)) ** 2
    mvar = variance.mean(0)
    order = np.argsort(mvar, kind="stable").reshape(4, 20)
    rmv, rmse = np.sqrt(mvar[order].mean(1)), np.sqrt(squared[order].mean(1))
    ence, sigma = np.mean(np.abs(rmv - rmse) / rmv), np.sqrt(mvar)
    cv = sigma.std(ddof=1) / sigma.mean()
    likelihood = np.exp(-((target - mean) ** 2) / (2 * variance)) / np.sqrt(2 * math.pi * variance)
    expected = {
        "error": squared.mean(),
        "rmse": math.sqrt(squared.mean()),
        "mae": np.abs(target - mean.mean(0)).mean(),
        "mape": np.mean(np.abs(target - mean.mean(0)) / np.abs(target)),
        "nll": -np.log(likelihood.mean(0)).mean(),
        "ence": ence,
        "cv": cv,
        "lence": math.log(ence + 1 / cv),
        "mwse": np.mean(squared * mvar),
        "ll_fu": np.mean(np.maximum(0, 0.5 * np.log10(2 * math.pi * mvar)) + squared / (2 * mvar)),
    }
    for name, value in expected.items():
        assert document[name] == pytest.approx(value, rel=1e-6), name
    assert set(document["measures"]) == {"tvar", "mvar", "varm", "epkl", "entropy", "ll_fu"}
    assert document["measure"] == "tvar"
    assert document["diagnostics"] == ["ll_fu"]
    assert {"in", "shifted", "full", "singles", "units"} <= document.keys()
    assert document["units"]["mape"] == "1"


@pytest.mark.parametrize("case", CALIBRATION["small_ence_cases"], ids=lambda case: str(case["seed"]))
def test_calibration_is_that_of_the_released_code(tmp_path: Path, case: dict) -> None:
    members = np.stack([np.array(case["mean"]), np.array(case["var"])], axis=1)[None]
    path = saved(tmp_path, {"members": members, "target": np.array(case["target"])})
    document = evaluate(regression.read(path, ErrorOptions(bins=case["bins_used"]))).document()
    for name, value in (("ence", "ence"), ("cv", "cv"), ("lence", "lence"), ("mwse", "mwse_full")):
        assert document[name] == pytest.approx(case[value], rel=1e-9), name
    assert document["r3"] == pytest.approx(case["r3_paper_full"], rel=1e-9)


@pytest.mark.parametrize("case", CALIBRATION["llfu_cases"], ids=lambda case: str(case["seed"]))
def test_ll_fu_is_that_of_the_released_code_and_of_the_text(tmp_path: Path, case: dict) -> None:
    path = saved(tmp_path, {"members": np.array(case["preds_mean_var"]), "target": np.array(case["targets"])})
    for convention, name in ((OFFICIAL, "official_llfu_ensemble"), (PAPER, "paper_llfu_natural_log_ensemble")):
        actual = evaluate(regression.read(path, ErrorOptions(convention))).document()["ll_fu"]
        assert actual == pytest.approx(np.mean(case[name]), rel=1e-9), name


@pytest.mark.parametrize("case", UNCERTAINTY, ids=lambda case: f"{case['seed']}-{case['mode']}")
@pytest.mark.filterwarnings("error")
def test_likelihood_and_error_are_those_of_the_released_code(tmp_path: Path, case: dict) -> None:
    """Among them members whose variance is zero."""
    path = saved(tmp_path, {"members": np.array(case["preds_mean_var"]), "target": np.array(case["targets"])})
    with np.errstate(all="ignore"):
        document = evaluate(regression.read(path, ErrorOptions())).document()
    assert document["rmse"] == pytest.approx(case["ens_rmse"], rel=1e-9)
    if case["ens_nll_mean"] != "inf":  # there the released code underflows
        assert document["nll"] == pytest.approx(case["ens_nll_mean"], rel=1e-9)
    tvar = regression.read(path, ErrorOptions()).measures["tvar"]
    np.testing.assert_allclose(tvar, case["official"]["tvar"], rtol=1e-9)


def test_the_total_variance_is_judged_beside_the_released_one(tmp_path: Path) -> None:
    fields = arrays()
    fields["members"][..., 0] += np.array([-2, -1, 1, 2])[:, None]  # members that disagree
    document = evaluate(regression.read(saved(tmp_path, fields), ErrorOptions(bins=1))).document()
    mean, variance = fields["members"][..., 0], fields["members"][..., 1]
    rmse = document["rmse"]
    for name, width in (("ence", variance.mean(0)), ("ence_tvar", variance.mean(0) + mean.var(0))):
        assert document[name] == pytest.approx(abs(1 - rmse / math.sqrt(width.mean())), rel=1e-9), name
    single = evaluate(regression.read(saved(tmp_path, arrays(members=1)), ErrorOptions())).document()
    assert "ence_tvar" not in single


def test_members_are_judged_one_by_one_too(tmp_path: Path) -> None:
    fields = arrays()
    result = evaluate(regression.read(saved(tmp_path, fields), ErrorOptions(acceptable=1.0)))
    alone = []
    for member in range(4):
        path = saved(tmp_path, {**fields, "members": fields["members"][member : member + 1]}, f"{member}.npz")
        alone.append(evaluate(regression.read(path, ErrorOptions(acceptable=1.0))).full.headline)
    assert [single.headline for single in result.singles] == alone
    singles = result.document()["singles"]["r_auc"]
    assert singles["mean"] == pytest.approx(np.mean([headline.r_auc for headline in alone]))
    assert singles["sd"] == pytest.approx(np.std([headline.r_auc for headline in alone]))


def test_a_single_model_has_no_knowledge_measure(tmp_path: Path) -> None:
    judged = regression.read(saved(tmp_path, arrays(members=1)), ErrorOptions())
    assert judged.measure_name == "variance"
    assert not {"varm", "epkl"} & judged.measures.keys()
    assert judged.singles is None


def test_conventions_differ_where_the_papers_and_the_code_do(tmp_path: Path) -> None:
    path = saved(tmp_path, arrays())
    documents = [
        evaluate(regression.read(path, ErrorOptions(convention, acceptable=1.0))).document()
        for convention in (OFFICIAL, PAPER)
    ]
    for name in ("r_auc", "f1_auc", "ll_fu"):
        assert documents[0][name] != documents[1][name], name
    epkl = [document["measures"]["epkl"]["r_auc"] for document in documents]
    assert epkl[0] != epkl[1]
    assert documents[0]["rmse"] == documents[1]["rmse"]


def test_tasks_bring_their_limits_units_and_areas(tmp_path: Path) -> None:
    path = saved(tmp_path, arrays())
    cold, power = (
        evaluate(weather.read(path, ErrorOptions())).document(),
        evaluate(vessel.read(path, ErrorOptions())).document(),
    )
    assert (cold["acceptable"], cold["units"]["error"]) == (1.0, "°C²")
    assert (power["acceptable"], power["units"]["error"]) == (500.0**2, "kW²")
    n, last = cold["n"], cold["error"]
    assert cold["r_auc"] == pytest.approx((n * power["r_auc"] + last / 2) / (n + 1), rel=1e-9)


def test_absurd_variances_break_nothing(tmp_path: Path) -> None:
    fields = arrays()
    fields["members"][0, :, 1] = 1.1e37
    fields["members"][1, :, 1] = 1.5e-16
    document = evaluate(weather.read(saved(tmp_path, fields), ErrorOptions())).document()
    for name in ("r_auc", "f1_auc", "nll", "ence", "ll_fu", "mwse"):
        assert math.isfinite(document[name]), name
    assert all(math.isfinite(measure["r_auc"]) for measure in document["measures"].values())


def broken(**changes: object) -> dict[str, np.ndarray]:
    fields = {**arrays(members=2, units=5), **changes}
    return {name: np.asarray(value) for name, value in fields.items() if value is not None}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (broken(members=None), "members is missing; the file has target, shifted"),
        (broken(target=None), "target is missing"),
        (broken(members=np.zeros((2, 5))), r"members has the shape \[2, 5\]; \[M, N, 2\] is needed"),
        (broken(members=np.ones((2, 5, 3))), r"members has the shape \[2, 5, 3\]"),
        (
            broken(members=np.zeros((2, 0, 2)), target=np.zeros(0)),
            r"members has the shape \[2, 0, 2\]; axis N is empty",
        ),
        (broken(target=np.zeros(4)), r"target has the shape \[4\]; \[N\] with M = 2, N = 5 is needed"),
        (broken(target=np.array(list("abcde"))), "target has the type <U1; numbers are needed"),
        (broken(target=np.array([0, 1, np.nan, 3, 4])), r"target\[2\] is nan; finite numbers are needed"),
        (
            broken(members=np.full((2, 5, 2), -1.0)),
            r"members \(variance\)\[0, 0\] is -1.0; a variance is finite and at",
        ),
        (broken(shifted=np.array([0, 1, 2, 0, 1])), r"shifted\[2\] is 2; 0"),
        (broken(shifted=np.zeros(3)), r"shifted has the shape \[3\]; \[N\] with N = 5"),
    ],
)
def test_bad_files_are_refused_by_name_and_field(tmp_path: Path, given: dict, words: str) -> None:
    with pytest.raises(BadFile, match=f"p.npz: {words}"):
        regression.read(saved(tmp_path, given), ErrorOptions())


def test_each_error_names_its_own_unit_and_limit(tmp_path: Path) -> None:
    errors = evaluate(vessel.read(saved(tmp_path, arrays()), ErrorOptions())).document()["errors"]
    assert (errors["squared_error"]["unit"], errors["squared_error"]["acceptable"]) == ("kW²", 500.0**2)
    assert (errors["absolute_error"]["unit"], errors["absolute_error"]["acceptable"]) == ("kW", None)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 truncated", b"text"])
def test_a_file_that_is_no_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.npz"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=r"p.npz (cannot be read as NPZ|is no NPZ file)"):
        regression.read(path, ErrorOptions())


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, {"members": np.array([{}], dtype=object), "target": np.zeros(1)})
    with pytest.raises(BadFile, match="members cannot be read as plain numbers"):
        regression.read(path, ErrorOptions())


def test_a_column_to_break_down_by_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no column 'site'"):
        regression.read(saved(tmp_path, arrays()), ErrorOptions(by=("site",)))


def test_an_unknown_error_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="error 'cubed' is not one of squared_error, absolute_error"):
        regression.read(saved(tmp_path, arrays()), ErrorOptions(error="cubed"))
    chosen = regression.read(saved(tmp_path, arrays()), ErrorOptions(error="absolute-error", acceptable=2.0))
    assert (chosen.error_name, chosen.error.acceptable) == ("absolute_error", 2.0)


@pytest.mark.filterwarnings("error")
def test_huge_variances_are_summed_up_over_members_without_a_word(tmp_path: Path) -> None:
    fields = arrays()
    fields["members"][..., 1] = 1e300
    with np.errstate(all="ignore"):
        result = evaluate(regression.read(saved(tmp_path, fields), ErrorOptions()))
    assert "mwse" in result.document()["singles"]


def test_the_bins_asked_for_reach_the_figure(tmp_path: Path) -> None:
    judged = regression.read(saved(tmp_path, arrays()), ErrorOptions(bins=4))
    assert judged.normals is not None
    assert judged.normals.bins == 4
