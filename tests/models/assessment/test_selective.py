"""Risk-coverage areas: the closed form for 0/1 errors, and an independent library."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from models.assessment import selective


@pytest.fixture(scope="module")
def library() -> ModuleType:
    """torch-uncertainty's metrics, without its package that imports a training framework."""
    package = importlib.util.find_spec("torch_uncertainty")
    assert package is not None, "torch-uncertainty is installed with the dev extra"
    assert package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0]) / "metrics" / "classification" / "risk_coverage.py"
    spec = importlib.util.spec_from_file_location("risk_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decimals", [1, 12])
def test_augrc_of_failures_has_its_closed_form(seed: int, decimals: int) -> None:
    rng = np.random.default_rng(seed)
    uncertainty = np.round(rng.random(200), decimals)
    errors = (rng.random(200) < uncertainty / 2).astype(float)
    accuracy, auroc = 1 - errors.mean(), roc_auc_score(errors, uncertainty)
    closed = (1 - auroc) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert selective.augrc(errors, uncertainty) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_areas_are_those_of_torch_uncertainty(library: ModuleType, seed: int) -> None:
    """It leaves out coverages below 1 / n and divides by 1 - 1 / n; its confidences are float32."""
    import torch

    rng = np.random.default_rng(seed)
    n = 300
    confidence = (rng.permutation(n) + n) / (2 * n)  # distinct in float32
    failed = (rng.random(n) < 0.3).astype(float)
    probabilities = torch.tensor(np.stack([confidence, 1 - confidence], 1), dtype=torch.float32)
    labels = torch.tensor(failed.astype(np.int64))  # class 0 is predicted throughout
    theirs = {}
    for name in ("AUGRC", "AURC"):
        metric = getattr(library, name)()
        metric.update(probabilities, labels)
        theirs[name] = float(metric.compute())
    first = failed[np.argmax(confidence)]
    ours = selective.augrc(failed, -confidence) - first / n / (2 * n)
    assert ours / (1 - 1 / n) == pytest.approx(theirs["AUGRC"], rel=1e-5)
    mean = selective.aurc(failed, -confidence)
    trapezoid = mean - (first + failed.mean()) / (2 * n)
    assert trapezoid / (1 - 1 / n) == pytest.approx(theirs["AURC"], rel=1e-5)


def test_excess_is_nothing_for_the_best_ranking_and_more_for_every_other() -> None:
    errors = np.random.default_rng(0).random(50)
    assert selective.e_aurc(errors, errors) == pytest.approx(0, abs=1e-15)
    assert selective.e_aurc(errors, -errors) > 0


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    errors, uncertainty = rng.random(100), rng.random(100)
    whole = selective.aurc(errors, uncertainty)
    monkeypatch.setattr(selective, "_BLOCK", 7)
    assert selective.aurc(errors, uncertainty) == pytest.approx(whole, rel=1e-14)
    ranked = errors[np.argsort(uncertainty)]
    assert whole == pytest.approx(np.mean(np.cumsum(ranked) / np.arange(1, 101)))
