"""The canonical partition, the generalisation set and their files."""

from pathlib import Path

import numpy as np
import pytest

from models.tasks.vessel.data.table import COLUMNS, FEATURES, NAMES
from simulators.vessel import dataset
from simulators.vessel.dataset import COUNTS, Noise, Table, generalisation, read_csv, simulate
from simulators.vessel.units import MINUTES_PER_MONTH

SCALE = 0.05


@pytest.fixture(scope="module")
def splits() -> dict[str, Table]:
    return simulate(SCALE, seed=7)


@pytest.fixture(scope="module")
def box() -> Table:
    return generalisation(30_000, seed=7)


def test_canonical_counts_are_those_of_table_13() -> None:
    assert {name: sum(counts) for name, counts in COUNTS.items()} == {
        "train": 523_190,
        "dev_in": 18_108,
        "dev_out": 18_108,
        "eval_in": 46_021,
        "eval_out": 46_021,
    }


def test_group_counts_are_exact(splits: dict[str, Table]) -> None:
    for name, counts in COUNTS.items():
        wind = splits[name].true_wind
        assert wind is not None
        actual = np.histogram(wind, [0.0, 9.0, 14.0, 19.0, 40.0001])[0]
        expected = [*counts, 0] if len(counts) == 3 else [0, 0, 0, *counts]
        assert actual.tolist() == [round(count * SCALE) for count in expected]


@pytest.mark.parametrize(
    ("name", "wind", "months"),
    [
        ("train", (0.0, 19.0), (0.0, 39.4)),
        ("dev_in", (0.0, 19.0), (0.0, 39.4)),
        ("eval_in", (0.0, 19.0), (0.0, 39.4)),
        ("dev_out", (19.0, 26.0), (36.4, 43.01)),
        ("eval_out", (19.0, 40.0), (30.0, 48.0)),
    ],
)
def test_wind_and_time_ranges(
    splits: dict[str, Table], name: str, wind: tuple[float, float], months: tuple[float, float]
) -> None:
    table = splits[name]
    assert table.true_wind is not None
    assert table.true_wind.min() >= wind[0]
    assert table.true_wind.max() < wind[1]
    time = table.time_id / MINUTES_PER_MONTH
    assert time.min() >= months[0]
    assert time.max() <= months[1]
    assert np.ptp(time) > 0.85 * (months[1] - months[0])


def test_no_minute_is_used_twice_and_time_rises(splits: dict[str, Table]) -> None:
    everything = np.concatenate([table.time_id for table in splits.values()])
    assert len(np.unique(everything)) == len(everything)
    for table in splits.values():
        assert (np.diff(table.time_id) > 0).all()


def test_dry_dock_time_is_time_id_plus_a_constant(splits: dict[str, Table], box: Table) -> None:
    for table in (*splits.values(), box):
        assert (table.features[:, -1].astype(np.int64) - table.time_id == 10_776).all()


def test_features_are_physical(splits: dict[str, Table], box: Table) -> None:
    for table in (*splits.values(), box):
        assert table.features.dtype == np.float32
        assert table.features.shape == (len(table), 10)
        for column, feature in zip(table.features.T, FEATURES, strict=True):
            assert column.min() >= feature.lower, feature.name
            assert column.max() <= feature.upper, feature.name
        assert (table.features[:, NAMES.index("awind_ucomp_provider")] >= 0.0).all()
        assert table.power.min() >= 150.0


def test_label_noise_has_the_published_deviations() -> None:
    """y' = y + N(0, a y) + N(0, b w): each term alone, then both, within three per cent."""
    rng, count = np.random.default_rng(0), 40_000
    power, wind = rng.uniform(10_000, 40_000, count), rng.uniform(0.0, 40.0, count)
    only_power = Noise(wind=0.0).label(rng, power, wind, 0.0) - power
    only_wind = Noise(power=0.0).label(rng, power, wind, 0.0) - power
    both = Noise().label(rng, power, wind, 0.0) - power
    assert np.std(only_power / power) == pytest.approx(0.025, rel=0.03)
    assert np.std(only_wind / wind) == pytest.approx(25.0, rel=0.03)
    assert np.std(both / np.hypot(0.025 * power, 25.0 * wind)) == pytest.approx(1.0, rel=0.03)
    assert abs(np.mean(both)) < 20.0


def test_split_labels_carry_that_noise(splits: dict[str, Table]) -> None:
    table = splits["train"]
    assert table.clean_power is not None
    assert table.true_wind is not None
    spread = np.hypot(0.025 * table.clean_power, 25.0 * table.true_wind)
    far = table.clean_power > 5.0 * spread
    score = ((table.power - table.clean_power) / spread)[far]
    assert np.std(score) == pytest.approx(1.0, rel=0.03)
    assert np.mean(score) == pytest.approx(0.0, abs=0.03)


def test_feature_noise_has_the_deviations_of_table_15() -> None:
    rng = np.random.default_rng(3)
    clean = np.tile([12.0, 12.0, 18.0, 0.0, 20.0, 8.0, 0.1, 0.2, 3.0, 5e5], (40_000, 1))
    shown = Noise().observe(rng, clean)
    spread = np.std(shown - clean, axis=0)
    expected = [
        0.15,
        0.15,
        0.25,
        0.25,
        0.5 * 20 / np.hypot(20, 8),
        0.5 * 8 / np.hypot(20, 8),
        0.05,
        0.05,
        0.1,
        0,
    ]
    np.testing.assert_allclose(spread, expected, rtol=0.03)
    speed = np.hypot(shown[:, 4], shown[:, 5])
    assert np.std(speed) == pytest.approx(0.5, rel=0.03)
    assert (clean[0] == [12.0, 12.0, 18.0, 0.0, 20.0, 8.0, 0.1, 0.2, 3.0, 5e5]).all()


@pytest.mark.long
def test_seeds_reproduce_and_progress_reaches_one(splits: dict[str, Table]) -> None:
    seen: list[float] = []
    again, other = simulate(SCALE, seed=7, progress=seen.append), simulate(0.01, seed=8)
    for name, table in splits.items():
        np.testing.assert_array_equal(table.features, again[name].features)
        np.testing.assert_array_equal(table.power, again[name].power)
        assert not np.isin(other[name].true_wind, table.true_wind).any()
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_generalisation_box(box: Table) -> None:
    aft, fore, stw, change, head, cross, along, across, wave, _ = box.features.astype(np.float64).T
    ground = stw + along
    ranges = {
        "ground": (ground, 5, 23),
        "aft": (aft, 8, 15),
        "fore": (fore, 8, 15),
        "wind": (np.hypot(head - ground, cross), 0, 40),
        "current": (np.hypot(along, across), 0, 2),
        "wave": (wave, 0, 6),
    }
    for name, (values, low, high) in ranges.items():
        inside = (values > low - 1e-4) & (values < high + 1e-4)
        assert inside.all(), name
        assert np.mean(values) == pytest.approx(0.5 * (low + high), rel=0.02), name
        assert np.std(values) == pytest.approx((high - low) / np.sqrt(12), rel=0.02), name
    assert np.abs(change).max() <= 1.0
    independent = np.corrcoef([ground, aft, fore, ranges["wind"][0], wave])
    assert np.abs(independent - np.eye(5)).max() < 0.03


def test_generalisation_prefix_does_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "_CHUNK", 1000)
    short, long = generalisation(2000, seed=2), generalisation(3000, seed=2)
    np.testing.assert_array_equal(short.power, long.power[:2000])
    assert len(generalisation(0, seed=2)) == 0
    clean = generalisation(500, seed=2, noise=Noise(power=0.0, wind=0.0))
    np.testing.assert_array_equal(clean.power, clean.clean_power)


def test_heavy_weather_slows_the_ship(splits: dict[str, Table]) -> None:
    """The habit that a model can mistake for physics."""
    rows = np.concatenate([table.features for table in splits.values()])
    rough, smooth = rows[:, 8] > 4.0, rows[:, 8] < 2.0
    assert rows[rough, 2].mean() < rows[smooth, 2].mean() - 0.5
    assert np.corrcoef(splits["train"].true_wind, splits["train"].features[:, 8])[0, 1] > 0.3


def test_official_file_round_trip(splits: dict[str, Table], tmp_path: Path) -> None:
    table, path = splits["dev_in"], tmp_path / "dev_in.csv"
    table.write_csv(path)
    assert path.read_text().splitlines()[0] == ",".join(COLUMNS)
    back = read_csv(path)
    np.testing.assert_array_equal(back.time_id, table.time_id)
    np.testing.assert_array_equal(back.features, table.features)
    np.testing.assert_allclose(back.power, table.power, atol=1e-6)
    assert back.clean_power is None
    assert back.true_wind is None


def test_columns_are_found_by_name_and_missed_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    names = [*reversed(COLUMNS), "type"]
    path.write_text(",".join(names) + "\n" + ",".join([*map(str, range(12, 0, -1)), "train"]) + "\n")
    table = read_csv(path)
    assert table.time_id[0] == 1
    assert table.features[0].tolist() == list(range(2, 12))
    path.write_text("time_id,stw,power\n1,2,3\n")
    with pytest.raises(ValueError, match="missing columns draft_aft_telegram"):
        read_csv(path)


@pytest.mark.parametrize("scale", [0.0, -1.0, 1.5, float("nan")])
def test_bad_sizes_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="scale"):
        simulate(scale, seed=1)
    with pytest.raises(ValueError, match="negative"):
        generalisation(-1, seed=1)
