"""What is judged of a scan: the released figures of the served mask, curves with their bounds, thresholds."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("monai")

import torch
from torch import Tensor, nn

from models.assessment import segmentation
from models.assessment.segmentation_retention import log_grid, voxel_curve, voxel_r_aac
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference.preparation import prepare
from models.tasks.lesion.inference.segment import segment
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import preset
from studies.lesion_tables import experiment, judge
from studies.lesion_tables.canonical import correlation
from studies.lesion_tables.judge import FIGURES, MEASURES, Model
from tests.models.lesion import toys

SINGLE, ENSEMBLE = Model("single", (1,)), Model("ensemble", (0, 1, 2))


@pytest.fixture(scope="module")
def said() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of three members that find lesions with some noise, truth and brain."""
    made = toys.example(3, 40)
    generator = np.random.default_rng(0)
    brain = np.zeros(made.truth.shape, bool)
    brain[2:-2, 2:-2, 2:-2] = True
    differences = 6.0 * made.truth - 3 + 1.5 * generator.standard_normal((3, *made.truth.shape))
    return differences.astype(np.float32), made.truth & brain, brain


def test_figures_are_those_of_the_thresholded_mask(said: tuple[np.ndarray, ...]) -> None:
    differences, truth, brain = said
    models = [SINGLE, ENSEMBLE, Model("unknown", (0,))]
    judged = judge.judge(differences, truth, brain, models, {SINGLE: 0.4, ENSEMBLE: 0.6})
    probability = 1 / (1 + np.exp(-differences.astype(np.float64)))
    for number, (values, level) in enumerate(((probability[1], 0.4), (probability.mean(axis=0), 0.6))):
        mask = segmentation.drop_small_components(values >= level)
        figures = dict(zip(FIGURES, judged.figures[number], strict=True))
        assert figures["ndsc"] == segmentation.ndsc(truth, mask)
        assert figures["dice"] == segmentation.dice(truth, mask)
        assert figures["lesion_f1"] == segmentation.lesion_f1(truth, mask)
        entropy = -values * np.log(values) - (1 - values) * np.log1p(-values)
        area = voxel_r_aac(voxel_curve(truth, mask, entropy, brain))
        assert figures["r_aac_entropy"] == pytest.approx(area, abs=1e-4)  # float32 ties
    single, ensemble = (dict(zip(FIGURES, row, strict=True)) for row in judged.figures[:2])
    assert np.isnan(single["structural"])
    assert np.isnan(single["r_aac_rmi"])
    assert 0 < ensemble["structural"] < 1
    assert np.isnan(judged.figures[2]).all()
    assert judged.curves.shape == (3, len(MEASURES), 200)


def test_thresholds_are_the_best_of_all_scans_together() -> None:
    curves = np.zeros((2, len(judge.LEVELS)))
    curves[0, 10], curves[1, 10], curves[0, 40] = 0.4, 0.4, 0.7
    assert judge.threshold(curves) == judge.LEVELS[10]
    flat = np.zeros((1, len(judge.LEVELS)))
    flat[0, 20:31] = 0.5
    assert judge.threshold(flat) == judge.LEVELS[25]


def test_scores_at_a_level_are_those_that_are_judged_there(said: tuple[np.ndarray, ...]) -> None:
    differences, truth, brain = said
    curve = judge.scores(differences, truth, [ENSEMBLE])[0]
    for number in (5, 50, 90):
        judged = judge.judge(differences, truth, brain, [ENSEMBLE], {ENSEMBLE: float(judge.LEVELS[number])})
        assert curve[number] == pytest.approx(judged.figures[0, FIGURES.index("ndsc")], abs=1e-12)


def test_bounds_enclose_what_orders_can_do() -> None:
    generator = np.random.default_rng(1)
    truth = generator.random(4000) < 0.02
    prediction = truth.copy()
    prediction[generator.choice(4000, 40, replace=False)] ^= True
    wrong, missed = np.count_nonzero(prediction & ~truth), np.count_nonzero(truth & ~prediction)
    counts = (wrong, missed, truth.sum(), truth.size)
    ideal, random = judge.ideal_curve(*counts), judge.random_curve(*counts)
    best = voxel_curve(truth, prediction, (prediction != truth).astype(np.float32))
    any_order = np.mean([voxel_curve(truth, prediction, generator.random(4000)) for _ in range(300)], axis=0)
    assert voxel_r_aac(ideal) == pytest.approx(voxel_r_aac(best), abs=2e-3)
    assert np.abs(random - any_order).max() < 0.03
    assert ideal[-1] == pytest.approx(random[-1]) == pytest.approx(best[-1])
    assert ideal[0] == random[0] == 1
    assert len(ideal) == len(log_grid())


def test_stitched_differences_give_the_probability_that_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = preset("tiny", "unet")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        members = [architectures.network(settings.sizes, 32) for _ in range(2)]
    monkeypatch.setattr(experiment.Member, "networks", lambda self: [_Difference(member) for member in members])
    scan = read_scan({"flair": toys.case(tmp_path, 5, 48).flair.read_bytes()}, ("flair",))
    recipe = Recipe(window=(32, 32, 32))
    result = segment(scan, _Torch(members), recipe)
    prepared = prepare(scan, recipe)
    differences = experiment.differences(prepared.image, [experiment.Member(tmp_path, 0, settings, samples=2)])
    expected = judge.probability(differences, Model("both", (0, 1)))
    np.testing.assert_allclose(result.maps["probability"], expected, atol=2e-6)


def test_correlation_knows_a_line_and_says_nothing_of_constants() -> None:
    load = np.array([0.1, 0.2, 0.4, 0.3])
    line = correlation(load, 2 * load)
    assert line.pearson == pytest.approx(1)
    assert line.spearman == pytest.approx(1)
    assert np.isnan(correlation(load, np.ones(4)).pearson)


class _Difference(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, window: Tensor) -> Tensor:
        logits: Tensor = self.network(window)
        return logits[:, 1:] - logits[:, :1]


class _Torch:
    def __init__(self, members: list[nn.Module]) -> None:
        self._members = [_Difference(member).eval() for member in members]

    def __len__(self) -> int:
        return len(self._members)

    def difference(self, member: int, window: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return self._members[member](torch.from_numpy(window)[None])[0, 0].numpy()
