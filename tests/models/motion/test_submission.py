"""The official submission: released numbers, its order and its domains, and refusals by scene and track."""

import contextlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.motion.data.predictions import read
from tests.models.motion.wire import nested, prediction, single

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "motion_metrics.json").read_text())["cases"]
NAMES = {"cnll": "corrected_nll"} | {
    f"{how}{what}": f"{how}_{what}" for how in ("min", "avg", "top1", "weighted") for what in ("ade", "fde")
}
LINE = [(0.5 * step, 0.1) for step in range(1, 26)]


def submitted(tmp_path: Path, predictions: bytes, truth: bytes, **options: Any) -> Callable[[], Any]:
    """Reading a submission against true trajectories."""
    submission, scenes = tmp_path / "submission.pb", tmp_path / "truth.pb"
    submission.write_bytes(predictions)
    scenes.write_bytes(truth)
    return lambda: read(submission, ErrorOptions(companions={"scenes": scenes}, **options))


def test_submissions_of_unlike_numbers_of_modes_give_the_released_errors(tmp_path: Path) -> None:
    """Weights are float32 in the file, which is what the released scorer sees as well."""
    predictions, truth = b"", b""
    for case in CASES:
        modes = zip(case["predicted"], case["weights"], strict=True)
        predictions += prediction("s", case["seed"], modes, uncertainty=case["seed"])
        truth += prediction("s", case["seed"], [(case["ground_truth"], 1.0)])
    judged = submitted(tmp_path, predictions, truth)()
    for row, case in enumerate(CASES):
        for name, official in NAMES.items():
            value = float(judged.errors[name].values[row])
            assert value == pytest.approx(case["official"][official], rel=1e-6, abs=1e-6), (case["seed"], name)
    np.testing.assert_array_equal(judged.uncertainty, [case["seed"] for case in CASES])


def test_modes_of_weight_zero_count_in_a_submission_as_released(tmp_path: Path) -> None:
    far = [(x + 3, y + 4) for x, y in LINE]
    modes = [(far, 1.0), (LINE, 0.0)]
    judged = submitted(tmp_path, prediction("s", 1, modes), prediction("s", 1, [(LINE, 1.0)]))()
    errors = {name: column.values[0] for name, column in judged.errors.items()}
    assert errors["minade"] == 0
    assert (errors["avgade"], errors["weightedade"], errors["top1fde"]) == pytest.approx((2.5, 5.0, 5.0))
    assert errors["cnll"] == pytest.approx(25 * 25 / 2)


def test_points_on_an_axis_or_with_a_height_are_read_as_others(tmp_path: Path) -> None:
    """Zeros are left out of the file, and a third coordinate is in it: neither has the usual length."""
    point, flat, high, beside = (1.0, 0.5), (1.0, 0.0), (1.0, 1.0, 9.0), (1.0, 0.0, 9.0)
    mixed = [point, *[flat, high] * 12]  # together as long as 25 usual points
    shapes = [[(0.0, 1.0)] * 25, [flat] * 25, [(0.0, 0.0)] * 25, [high] * 25, [beside] * 25, mixed, [point] * 25]
    truth = b"".join(prediction("s", track, [(LINE, 1.0)]) for track in range(7))
    predictions = b"".join(prediction("s", track, [(points, 1.0)]) for track, points in enumerate(shapes))
    judged = submitted(tmp_path, predictions, truth)()
    for row, points in enumerate(shapes):
        distances = [math.dist(point[:2], true) for point, true in zip(points, LINE, strict=True)]
        assert judged.errors["minade"].values[row] == pytest.approx(np.mean(distances)), row
        assert judged.errors["minfde"].values[row] == pytest.approx(distances[-1]), row


def test_the_25_heaviest_modes_count_without_new_weights(tmp_path: Path) -> None:
    modes = [(LINE, 0.0)] + [([(x, y + 1) for x, y in LINE], 0.04)] * 25
    judged = submitted(tmp_path, prediction("s", 1, modes), prediction("s", 1, [(LINE, 1.0)]))()
    assert judged.errors["minade"].values[0] == pytest.approx(1.0), "the exact mode is the 26th, and is dropped"
    heavier = [(LINE, 1 / 26)] * 26
    wrong = submitted(tmp_path, prediction("s", 1, heavier), prediction("s", 1, [(LINE, 1.0)]))
    with pytest.raises(BadFile, match=r"scene 's', track 1, field weight \(the 25 largest weights count\).*sum to 1"):
        wrong()


def test_units_come_in_the_order_of_the_truth(tmp_path: Path) -> None:
    truth = b"".join(prediction("s", track, [(LINE, 1.0)]) for track in (7, 3, 5))
    rows = {
        track: prediction("s", track, [([(x, y + track) for x, y in LINE], 1.0)], uncertainty=track / 10)
        for track in (3, 5, 7)
    }
    first = submitted(tmp_path, rows[3] + rows[5] + rows[7], truth)()
    second = submitted(tmp_path, rows[7] + rows[3] + rows[5], truth)()
    np.testing.assert_allclose(first.errors["minade"].values, [7, 3, 5])
    np.testing.assert_allclose(first.uncertainty, [0.7, 0.3, 0.5], rtol=1e-6)
    np.testing.assert_array_equal(first.uncertainty, second.uncertainty)
    assert first.labels == second.labels
    assert first.labels != submitted(tmp_path, rows[7], prediction("s", 7, [(LINE, 1.0)]))().labels


def test_the_truth_says_what_is_shifted_before_the_predictions_do(tmp_path: Path) -> None:
    says, silent = (prediction("s", 1, [(LINE, 1.0)], ood=ood) for ood in (True, False))
    other = prediction("s", 2, [(LINE, 1.0)])
    also = prediction("s", 2, [(LINE, 1.0)], ood=True)
    judged = submitted(tmp_path, silent + also, says + other)()
    assert judged.shifted.tolist() == [True, False]
    assert judged.notes == ()
    judged = submitted(tmp_path, says + other, silent + other)()
    assert judged.shifted.tolist() == [True, False]
    assert "shifted is what the predictions say (is_ood)" in judged.notes[0]
    assert submitted(tmp_path, silent + other, silent + other)().shifted is None


GOOD = prediction("s", 1, [(LINE, 0.5), (LINE, 0.5)])
TRUTH = prediction("s", 1, [(LINE, 1.0)])


@pytest.mark.parametrize(
    ("predictions", "truth", "message"),
    [
        (GOOD + GOOD, TRUTH, "scene 's', track 1 is predicted twice"),
        (GOOD, TRUTH + TRUTH, "the ground truth of scene 's', track 1 is there twice"),
        (GOOD, TRUTH + prediction("t", 9, [(LINE, 1.0)]), "scene 't', track 9 is not predicted; 1 of 2 requests"),
        (GOOD + prediction("s", 2, [(LINE, 1.0)]), TRUTH, "scene 's', track 2 is predicted, and is no request of"),
        (prediction("s", 1, [(LINE, 0.9)]), TRUTH, r"scene 's', track 1, field weight: .* Sum: 0.89\d+; allowed"),
        (prediction("s", 1, [(LINE, 1.5), (LINE, -0.5)]), TRUTH, "track 1 has the weight -0.5 at mode 1; .*non-neg"),
        (prediction("s", 1, [(LINE, math.nan)]), TRUTH, "track 1 has the weight nan"),
        (prediction("s", 1, []), TRUTH, "track 1 has no weighted_trajectories"),
        (prediction("s", 1, [([], 1.0)]), TRUTH, "track 1 has a trajectory without points"),
        (prediction("s", 1, [(LINE[:9], 1.0)]), TRUTH, "track 1 has 9 points a trajectory; the truth has 25 steps"),
        (prediction("s", 1, [(LINE, 0.5), (LINE[:9], 0.5)]), TRUTH, "trajectories of 9 and of 25 points"),
        (prediction("s", 1, [([*LINE[:24], (math.nan, 1)], 1.0)]), TRUTH, r"point \[nan, 1.0\] at step 24 of mode 0"),
        (prediction("s", 1, [([*LINE[:24], (1e9, 1)], 1.0)]), TRUTH, "less than 1e.07, are needed"),
        (prediction("s", 1, [(LINE, 1.0)], uncertainty=math.nan), TRUTH, "track 1 has the uncertainty_measure nan"),
        (GOOD, prediction("s", 1, [(LINE, 0.5), (LINE, 0.5)]), "has 2 trajectories; a ground truth has one each"),
        (GOOD, TRUTH + prediction("s", 2, [(LINE[:3], 1)]), "track 2 has 3 future steps, and others have 25"),
        (b"", TRUTH, "submission.pb is empty"),
        (GOOD, b"", "truth.pb is empty"),
        (GOOD[:-30], TRUTH, "submission.pb is cut off: field 1 at byte 0"),
        (GOOD, TRUTH[:-30], "truth.pb is cut off"),
        (nested(1, b"\xff" * 40), TRUTH, r"predictions\[0\], at byte 0, cannot be decoded"),
        (b"\xff" * 40, TRUTH, "a number at byte 0 does not end"),
        (b"PK\x03\x04" + bytes(100), TRUTH, "neither a submission nor a scene: tag"),
        (GOOD + nested(6, b"x"), TRUTH, "is no submission: field 6"),
        (GOOD + single(3, 1.0), TRUTH, "neither a submission nor a scene"),
    ],
)
def test_wrong_submissions_are_refused_by_scene_and_track(
    predictions: bytes, truth: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadFile, match=message) as refusal:
        submitted(tmp_path, predictions, truth)()
    assert str(tmp_path) in str(refusal.value)


def test_garbage_is_refused_in_words_whatever_the_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    (tmp_path / "truth.pb").write_bytes(TRUTH)
    options = ErrorOptions(companions={"scenes": tmp_path / "truth.pb"})
    for _ in range(300):
        noise = bytes(rng.integers(0, 256, rng.integers(1, 200), dtype=np.uint8))
        flipped = bytearray(GOOD)
        for index in rng.integers(0, len(flipped), 3):
            flipped[index] ^= int(rng.integers(1, 256))
        for content in (noise, bytes(flipped)):
            path = tmp_path / "garbage.pb"
            path.write_bytes(content)
            with contextlib.suppress(BadFile):
                read(path, options)


def test_a_submission_needs_scenes_and_a_known_suffix(tmp_path: Path) -> None:
    path = tmp_path / "submission.pb"
    path.write_bytes(GOOD)
    with pytest.raises(BadFile, match="submission.pb holds no truth: give --scenes"):
        read(path, ErrorOptions())
    with pytest.raises(BadFile, match="nowhere.pb cannot be read"):
        read(path, ErrorOptions(companions={"scenes": tmp_path / "nowhere.pb"}))
    with pytest.raises(BadFile, match="neither a submission"):
        read(tmp_path / "predictions.csv", ErrorOptions())
    with pytest.raises(BadFile, match="absent.npz cannot be read"):
        read(tmp_path / "absent.npz", ErrorOptions())
