"""Arrays of predicted trajectories: released numbers, errors and limits, and refusals by name."""

import contextlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.assessment import retention
from models.assessment.convention import CONVENTIONS
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.motion.data.predictions import read
from models.tasks.motion.spec import TRAJECTORIES

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "motion_metrics.json").read_text())["cases"]
NAMES = {"cnll": "corrected_nll"} | {
    f"{how}{what}": f"{how}_{what}" for how in ("min", "avg", "top1", "weighted") for what in ("ade", "fde")
}
LINE = [(0.5 * step, 0.1) for step in range(1, 26)]


def arrays(requests: int = 6, modes: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(modes), requests)
    return {
        "trajectories": rng.normal(size=(requests, modes, 25, 2)),
        "weights": weights,
        "target": rng.normal(size=(requests, 25, 2)),
        "uncertainty": rng.random(requests),
    }


def saved(tmp_path: Path, content: dict[str, Any]) -> Path:
    path = tmp_path / "predictions.npz"
    np.savez(path, **content)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["seed"]))
def test_arrays_give_the_released_errors(case: dict[str, Any], tmp_path: Path) -> None:
    content = {
        "trajectories": [case["predicted"]],
        "weights": [case["weights"]],
        "target": [case["ground_truth"]],
        "uncertainty": [0.0],
    }
    judged = read(saved(tmp_path, content), ErrorOptions())
    for name, official in NAMES.items():
        assert judged.errors[name].values == pytest.approx([case["official"][official]], rel=1e-9), name


def test_cnll_comes_first_under_either_convention_with_the_papers_limit(tmp_path: Path) -> None:
    path = saved(tmp_path, arrays())
    for convention in CONVENTIONS.values():
        judged = read(path, ErrorOptions(convention=convention))
        assert judged.error_name == TRAJECTORIES.error == "cnll"
        assert (judged.error.unit, judged.error.acceptable) == (TRAJECTORIES.error_unit, 25.0)
        assert {column.acceptable for name, column in judged.errors.items() if name != "cnll"} == {1.0}


def test_another_error_and_limit_can_be_asked_for(tmp_path: Path) -> None:
    judged = read(saved(tmp_path, arrays()), ErrorOptions(error="minADE", acceptable=0.5))
    assert (judged.error_name, judged.error.acceptable, judged.error.unit) == ("minade", 0.5, "m")
    assert judged.errors["cnll"].acceptable == 25.0
    with pytest.raises(BadFile, match="error 'speed' is not one of cnll, minade"):
        read(saved(tmp_path, arrays()), ErrorOptions(error="speed"))


def widened(content: dict[str, Any], positions: Any) -> dict[str, Any]:
    """One mode of weight zero more."""
    return content | {
        "trajectories": np.concatenate([content["trajectories"], positions], axis=1),
        "weights": np.concatenate([content["weights"], np.zeros((6, 1))], axis=1),
    }


def test_a_trajectory_of_nan_is_padding(tmp_path: Path) -> None:
    content = arrays()
    plain = read(saved(tmp_path, content), ErrorOptions())
    padded = read(saved(tmp_path, widened(content, np.full((6, 1, 25, 2), math.nan))), ErrorOptions())
    for name, column in plain.errors.items():
        np.testing.assert_array_equal(padded.errors[name].values, column.values, err_msg=name)


def test_a_mode_of_weight_zero_counts_for_the_least_and_average_errors(tmp_path: Path) -> None:
    content = arrays()
    plain = read(saved(tmp_path, content), ErrorOptions()).errors
    exact = read(saved(tmp_path, widened(content, content["target"][:, None])), ErrorOptions()).errors
    for name in ("minade", "minfde"):
        assert (plain[name].values > 0).all()
        np.testing.assert_array_equal(exact[name].values, np.zeros(6), err_msg=name)
    for name in ("avgade", "avgfde"):
        np.testing.assert_allclose(exact[name].values, 0.75 * plain[name].values, err_msg=name)
    for name in ("cnll", "top1ade", "top1fde", "weightedade", "weightedfde"):
        np.testing.assert_allclose(exact[name].values, plain[name].values, rtol=1e-12, err_msg=name)


def test_figures_are_means_and_curves_over_requests(tmp_path: Path) -> None:
    content = arrays(40) | {"shifted": np.arange(40) % 2, "town": np.arange(40) % 3}
    judged = read(saved(tmp_path, content), ErrorOptions(by=("town",)))
    document = evaluate(judged, ("town",)).document()
    cnll = judged.errors["cnll"].values
    area = retention.r_auc(retention.error_curve(cnll, content["uncertainty"]))
    assert document["r_auc"] == pytest.approx(area, rel=1e-12)
    assert document["cnll"] == pytest.approx(np.mean(cnll))
    assert document["shifted"]["minade"] == pytest.approx(np.mean(judged.errors["minade"].values[1::2]))
    assert document["by"]["town"]["2"]["weightedfde"] == pytest.approx(judged.errors["weightedfde"].values[2::3].mean())
    assert (document["units"]["cnll"], document["units"]["minade"]) == ("nats", "m")


def test_float32_arrays_are_judged_in_float64(tmp_path: Path) -> None:
    content = {name: np.float32(value) for name, value in arrays().items()}
    exact = read(saved(tmp_path, {name: np.float64(value) for name, value in content.items()}), ErrorOptions())
    for name, column in read(saved(tmp_path, content), ErrorOptions()).errors.items():
        np.testing.assert_array_equal(column.values, exact.errors[name].values, err_msg=name)


def with_(name: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    content = arrays()
    return content | {name: change(content[name])}


def place(index: Any, value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({k: v for k, v in arrays().items() if k != "weights"}, "weights is missing; the file has trajectories"),
        (with_("trajectories", lambda a: a[:, 0]), r"trajectories has the shape \[6, 25, 2\]; \[N, D, T, 2\]"),
        (with_("trajectories", lambda a: np.concatenate([a, a], axis=3)), r"\[6, 3, 25, 4\]"),
        (with_("target", lambda a: a[:, :20]), r"target has the shape \[6, 20, 2\]"),
        (with_("uncertainty", lambda a: a[:5]), r"uncertainty has the shape \[5\]; \[N\] with N = 6"),
        (with_("uncertainty", lambda a: a.astype(str)), "uncertainty has the type <U"),
        (with_("weights", lambda a: a * 0.9), r"weights: Weights are expected to sum to 1. Sum: 0.[89]"),
        (with_("weights", place((3, 0), math.nan)), "weights: Weights are expected to sum to 1. Sum: nan in row 3"),
        (with_("weights", lambda a: a * 0 + [-0.5, 0.5, 1]), "weights: Weights are expected to be non-negative"),
        (
            with_("trajectories", place((4, 1, 3, 0), math.inf)),
            r"trajectories\[4, 1\] holds a value that is not finite",
        ),
        (with_("trajectories", place((4, 1, 3, 0), 1e200)), r"trajectories\[4, 1\]"),
        (
            with_("trajectories", place((4, 1), math.nan)),
            r"trajectories\[4, 1\] .* NaN in all positions, and the weight",
        ),
        (widened(arrays(), np.full((6, 1, 25, 2), 1e300)), r"trajectories\[0, 3\] holds a value that is not finite"),
        (widened(arrays(), np.repeat([[[[math.nan, 0.0]]]], 150, 0).reshape(6, 1, 25, 2)), r"trajectories\[0, 3\]"),
        (with_("target", place((5, 1, 0), math.nan)), r"target\[5\] holds a value that is not finite"),
        (arrays() | {"shifted": np.full(6, 2)}, r"shifted\[0\] is 2; 0 "),
        (arrays() | {"shifted": np.zeros(5)}, r"shifted has the shape \[5\]"),
        ({k: v[:0] for k, v in arrays().items()}, "axis N is empty"),
    ],
)
def test_wrong_arrays_are_refused_by_name(content: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = saved(tmp_path, content)
    with pytest.raises(BadFile, match=message) as refusal:
        read(path, ErrorOptions())
    assert str(path) in str(refusal.value)


def test_garbage_is_refused_in_words_whatever_the_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = saved(tmp_path, arrays())
    good = path.read_bytes()
    for _ in range(200):
        noise = bytes(rng.integers(0, 256, rng.integers(1, 200), dtype=np.uint8))
        flipped = bytearray(good)
        for index in rng.integers(0, len(flipped), 3):
            flipped[index] ^= int(rng.integers(1, 256))
        for content in (noise, bytes(flipped), good[: int(rng.integers(0, len(good)))]):
            path.write_bytes(content)
            with contextlib.suppress(BadFile):
                read(path, ErrorOptions())


def test_a_request_without_uncertainty_is_the_least_certain_and_noted(tmp_path: Path) -> None:
    judged = read(saved(tmp_path, with_("uncertainty", place(2, math.nan))), ErrorOptions())
    assert judged.notes == ("1 units have no uncertainty: they rank as the least certain",)
    assert evaluate(judged).full.headline.n == 6
