"""Labels of training rows: drawn among the rows, read as written, and refused where they are something else."""

import numpy as np
import pytest

from models import building, npz
from models.npz import BadArrays
from models.schema import Feature, Schema
from models.training_labels import FILE, POINTS, TrainingLabels, decode

SCHEMA = Schema.of(
    (Feature("speed", "kn", 0, 40, "Speed.", nullable=True), Feature("wind", "kn", 0, 100, "Wind.")),
)


def test_points_are_rows_of_the_training_and_each_is_drawn_once() -> None:
    speeds = np.arange(1, 1001) / 40
    speeds[::3] = np.nan
    rows = np.stack([speeds, np.full(1000, 5.0)], axis=1).astype(np.float32)
    power = np.arange(1000) * 3.0
    files = building.training_labels(rows, {"power": power}, "speed", SCHEMA)
    assert files == building.training_labels(rows, {"power": power}, "speed", SCHEMA)
    (labels,) = decode(files[FILE], SCHEMA).values()
    assert (labels.column, len(labels.values)) == ("speed", POINTS)
    drawn = [round(label / 3) for label in labels.labels]
    assert len(set(drawn)) == POINTS
    assert labels.values == pytest.approx(speeds[drawn], rel=1e-5), "no row without a speed"


def test_few_rows_are_all_kept() -> None:
    rows = np.array([[12.0, 1.0], [15.0, 2.0]], np.float32)
    (file,) = building.training_labels(rows, {"power": np.array([3e4, 4.123456789e4])}, "wind", SCHEMA).values()
    labels = decode(file, SCHEMA)["power"]
    assert sorted(zip(labels.values, labels.labels, strict=True)) == [(1.0, 3e4), (2.0, 41234.6)]
    assert isinstance(labels, TrainingLabels)


@pytest.mark.parametrize(
    "arrays",
    [
        {"labels.power": np.zeros((2, 3))},
        {"column": np.array(2, np.uint32), "labels.power": np.zeros((2, 3))},
        {"column": np.array(np.nan), "labels.power": np.zeros((2, 3))},
        {"column": np.array(0, np.uint32), "labels.power": np.zeros((3, 2))},
        {"column": np.array(0, np.uint32), "labels.power": np.full((2, 3), np.nan)},
        {"column": np.array(0, np.uint32), "power": np.zeros((2, 3))},
    ],
)
def test_other_files_are_refused(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(BadArrays, match=r"column|labels\.HEAD"):
        decode(npz.encode(arrays), SCHEMA)
    with pytest.raises(BadArrays):
        decode(b"nothing", SCHEMA)
