"""From plans and scores to the statistics of requests; what an artefact says of its own use."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from models import uncertainty
from models.artefact import Artefact, ArtefactError, write
from models.manifest import Executor, Manifest, Source
from models.tasks.motion.artefact import recipe as recipes
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference import rip
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.uncertainty.trajectories import DeviationUndefined

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "motion_rip.json").read_text())["cases"]
ENSEMBLE = next(case for case in CASES if case["K"] > 1)


def imagined(case: dict) -> tuple[np.ndarray, np.ndarray]:
    """Plans whose number stands in their first coordinate, and the scores of the released code."""
    scores = np.array(case["scores_model_plan_request"], np.float32)  # [K, G, N]
    plans = np.zeros((scores.shape[2], scores.shape[1], 25, 2), np.float32)
    plans[:, :, 0, 0] = np.arange(scores.shape[1])
    return plans, scores.transpose(2, 0, 1)


@pytest.mark.parametrize("operator", ["MA", "LQ", "UQ", "WCM", "BCM"])
def test_requests_are_those_of_the_released_code(operator: str) -> None:
    plans, scores = imagined(ENSEMBLE)
    prediction = rip.predictive(plans, scores, Recipe(plan_operator=operator, request_operator=operator, ddof=1))
    official = ENSEMBLE["by_algorithm"][operator]
    assert prediction.plans[:, :, 0, 0].astype(int).tolist() == official["top5_indices"]
    np.testing.assert_allclose(prediction.scores, official["top5_scores"], rtol=1e-5)
    np.testing.assert_allclose(prediction.weights, official["softmax_weights"], rtol=1e-3, atol=1e-7)
    measured = uncertainty.score(prediction, "request_uncertainty")
    np.testing.assert_allclose(measured, official["request_uncertainty"], rtol=1e-5)


def test_statistics_are_float32_and_weights_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    plans = rng.normal(size=(3, 50, 25, 2)).astype(np.float32)
    prediction = rip.predictive(plans, rng.normal(size=(3, 5, 50)).astype(np.float32), Recipe())
    for name in ("plans", "weights", "confidence", "scores", "total", "data", "knowledge"):
        assert getattr(prediction, name).dtype == np.float32
    assert prediction.plans.shape == (3, 5, 25, 2)
    np.testing.assert_allclose(prediction.weights.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(prediction.total, prediction.data + prediction.knowledge, rtol=1e-5)
    assert (np.diff(prediction.scores, axis=1) <= 0).all(), "the most confident comes first"


def test_one_member_has_a_total_only() -> None:
    prediction = rip.predictive(np.zeros((2, 10, 25, 2), np.float32), np.zeros((2, 1, 10), np.float32), Recipe())
    assert prediction.total is not None
    assert prediction.data is None
    assert prediction.knowledge is None
    with pytest.raises(uncertainty.MeasureAbsent):
        uncertainty.score(prediction, "knowledge_spread")


@pytest.mark.parametrize("broken", ["scores", "plans"])
def test_what_is_not_finite_defers_its_own_request_only(broken: str) -> None:
    rng = np.random.default_rng(1)
    plans = rng.normal(size=(3, 10, 25, 2)).astype(np.float32)
    scores = rng.normal(size=(3, 2, 10)).astype(np.float32)
    clean = rip.predictive(plans, scores, Recipe())
    (scores if broken == "scores" else plans)[1, 0, 3] = np.nan
    prediction = rip.predictive(plans, scores, Recipe())
    assert np.isnan(prediction.confidence).tolist() == [False, True, False]
    assert np.isnan(prediction.plans[1]).all()
    for row in (0, 2):
        np.testing.assert_array_equal(prediction.plans[row], clean.plans[row])
        np.testing.assert_array_equal(prediction.total[row], clean.total[row])


def test_one_member_has_no_deviation_with_ddof_1() -> None:
    plans, scores = np.zeros((1, 10, 25, 2), np.float32), np.zeros((1, 1, 10), np.float32)
    rip.predictive(plans, scores, Recipe(plan_operator="LQ", request_operator="LQ"))
    with pytest.raises(DeviationUndefined):
        rip.predictive(plans, scores, Recipe(plan_operator="LQ", ddof=1))


def artefact(folder: Path, content: bytes) -> Artefact:
    manifest = Manifest(
        task="motion",
        family="bc",
        members=1,
        schema_hash="0" * 64,
        executor=Executor(kind="onnx", layout="split", file="planners.onnx"),
        heads={"trajectories": {}},
        golden="golden.npz",
        golden_tolerance=1e-3,
        sources=(Source("training", "none", "CC0-1.0", "unknown", 0),),
        seeds=(0,),
        training={},
        quality={},
        versions={},
        files={},
    )
    return write(folder, manifest, {recipes.RECIPE: content, "planners.onnx": b"-", "golden.npz": b"-"})


def test_a_recipe_is_what_was_written(tmp_path: Path) -> None:
    plan = Recipe(size=64, resolution=0.5, plan_operator="LQ", typical={"speed": (0.0, 20.0)})
    assert recipes.read(artefact(tmp_path / "a", recipes.encode(plan))) == plan
    assert plan.grid == Grid(64, 0.5)
    assert Recipe().grid == OFFICIAL


@pytest.mark.parametrize("change", [{"size": 7}, {"resolution": 0}, {"plan_operator": "best"}, {"ddof": 2}, {"odd": 1}])
def test_other_recipes_are_refused(change: dict, tmp_path: Path) -> None:
    content = msgspec.json.encode(msgspec.to_builtins(Recipe()) | change)
    with pytest.raises(ArtefactError, match=r"recipe\.json"):
        recipes.read(artefact(tmp_path / "a", content))
