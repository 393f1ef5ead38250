"""Submissions that are written: read back exactly, joined, scored, and refused where they could not be scored."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.assessment.trajectories import WeightsError
from models.evaluation.unit_errors import ErrorOptions
from models.tasks.motion.data import submission_file
from models.tasks.motion.data.predictions import read
from models.tasks.motion.protocol.motion_pb2 import Submission
from tests.models.motion.wire import prediction


def batch(n: int = 3, modes: int = 5, steps: int = 25, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "scenes": [f"scene-{row}" for row in range(n)],
        "tracks": [row * 10**15 for row in range(n)],
        "trajectories": rng.normal(size=(n, modes, steps, 2)).astype(np.float32),
        "weights": rng.dirichlet(np.ones(modes), n),
        "uncertainty": rng.normal(size=n),
    }


def parsed(content: bytes) -> Submission:
    message = Submission()
    message.ParseFromString(content)
    return message


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 25), st.integers(1, 60), st.integers(0, 99))
def test_the_generated_classes_read_what_was_written(n: int, modes: int, steps: int, seed: int) -> None:
    content = batch(n, modes, steps, seed) | {"shifted": np.arange(n) % 2 == 1}
    content["trajectories"][0, 0, 0] = 0.0  # zeros are left out by the classes, and read by them
    predictions = parsed(submission_file.encoded(**content)).predictions
    assert [(record.scene_id, record.track_id, record.is_ood) for record in predictions] == list(
        zip(content["scenes"], content["tracks"], content["shifted"], strict=True)
    )
    for row, message in enumerate(predictions):
        assert message.uncertainty_measure == np.float32(content["uncertainty"][row])
        points = [[(p.x, p.y) for p in mode.trajectory.points] for mode in message.weighted_trajectories]
        np.testing.assert_array_equal(np.array(points), content["trajectories"][row])
        weights = [mode.weight for mode in message.weighted_trajectories]
        np.testing.assert_array_equal(weights, np.float32(content["weights"][row]))


def test_batches_joined_are_one_submission_in_bounded_memory() -> None:
    first, other = submission_file.encoded(**batch(2)), submission_file.encoded(**batch(3, seed=1))
    assert len(parsed(first + other).predictions) == 5
    assert submission_file.encoded(**batch(0)) == b""


def test_what_was_written_is_scored(tmp_path: Path) -> None:
    """Softmax weights in float64 sum to one in float32 within what the scorer allows."""
    content = batch(40)
    target = content["trajectories"][:, 2].astype(np.float64)
    truth = [
        prediction(scene, track, [(target[row], 1.0)])
        for row, (scene, track) in enumerate(zip(content["scenes"], content["tracks"], strict=True))
    ]
    (tmp_path / "truth.pb").write_bytes(b"".join(truth))
    (tmp_path / "submission.pb").write_bytes(submission_file.encoded(**content))
    judged = read(tmp_path / "submission.pb", ErrorOptions(companions={"scenes": tmp_path / "truth.pb"}))
    assert judged.errors["minade"].values == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(judged.uncertainty, np.float32(content["uncertainty"]))


WRONG: dict[str, tuple[str, Any, str]] = {
    "scores instead of weights": ("weights", np.full((3, 5), -4.0), "sum to 1"),
    "negative": ("weights", np.tile([1.2, -0.2, 0, 0, 0], (3, 1)), "non-negative"),
    "nan weight": ("weights", np.full((3, 5), math.nan), "finite"),
    "fewer weights": ("weights", np.full((3, 4), 0.25), r"trajectories must be \[N, D, T, 2\]"),
    "no requests": ("trajectories", np.zeros((5, 25, 2)), r"trajectories must be \[N, D, T, 2\]"),
    "no steps": ("trajectories", np.zeros((3, 5, 0, 2)), r"trajectories must be \[N, D, T, 2\]"),
    "nan position": ("trajectories", np.full((3, 5, 25, 2), math.nan), r"trajectories\[0, 0, 0, 0\] is nan"),
    "far position": ("trajectories", np.full((3, 5, 25, 2), 1e8), "less than 1e"),
    "nan uncertainty": ("uncertainty", np.array([0, math.nan, 0]), r"uncertainty\[1\] is nan"),
    "fewer uncertainties": ("uncertainty", np.zeros(2), "uncertainty has 2 values"),
    "fewer tracks": ("tracks", [1, 2], "tracks has 2 values"),
    "fewer flags": ("shifted", np.zeros(4, bool), "shifted has 4 values"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_could_not_be_scored_is_not_written(name: str) -> None:
    field, value, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        submission_file.encoded(**batch() | {field: value})


def test_refusals_of_weights_have_their_own_type_and_modes_a_limit() -> None:
    with pytest.raises(WeightsError):
        submission_file.encoded(**batch() | {"weights": np.full((3, 5), 0.3)})
    with pytest.raises(ValueError, match="26 modes a request; 1 to 25 can be scored"):
        submission_file.encoded(**batch(modes=26))
