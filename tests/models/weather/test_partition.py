"""Splits by time and climate: the numbers of the paper, what a split may hold, and that none is used twice."""

from datetime import UTC, datetime

import numpy as np
import pytest

from models.tasks.weather.data import partition
from models.tasks.weather.data.partition import BEGIN, END, SPLITS, UNUSED, BadPartition, Rules, assign, counts
from models.tasks.weather.data.table import CLIMATES, UNKNOWN, Table


def day(month: int, number: int, year: int = 2019) -> float:
    return datetime(year, month, number, tzinfo=UTC).timestamp()


def test_at_scale_one_the_rows_are_those_of_the_paper() -> None:
    by_split = counts(1.0)
    totals = {name: int(rows.sum()) + (partition.DUMMIES if name == "train" else 0) for name, rows in by_split.items()}
    assert totals == {
        "train": 3_129_592,
        "dev_in": 50_000,
        "dev_out": 50_000,
        "eval_in": 561_105,
        "eval_out": 576_626,
    }
    assert by_split["eval_out"].tolist() == [0, 0, 0, 525_967, 50_659]


def test_the_extended_splits_are_shares_of_a_year_of_even_reports() -> None:
    by_split = counts(1.0, extended=True)
    everything = sum(int(rows.sum()) for rows in by_split.values())
    assert 7_500_000 < everything < 10_100_000, "the whole set has ten million rows"
    assert (by_split["train_xclim"][:3] == 0).all()
    assert (by_split["train_xtime"][3:] == 0).all()
    assert by_split["dev_xclim"].sum() / by_split["train_xclim"].sum() == pytest.approx(0.01358 / 0.83642, rel=1e-3)


def test_simulated_splits_have_their_counts_climates_and_times(splits: dict[str, Table]) -> None:
    for name, rows in counts(0.003, extended=True).items():
        table = splits[name]
        real = table.rows(slice(0, len(table) - (partition.DUMMIES if name == "train" else 0)))
        assert np.bincount(real.climate, minlength=5).tolist() == rows.tolist()
        begin, end = {
            "dev_out": (day(7, 8), END),
            "eval_out": (day(5, 14), day(7, 9)),
            "train_xtime": (day(5, 14), END),
            "dev_xtime": (day(5, 14), END),
        }.get(name, (BEGIN, day(4, 8)))
        assert real.time.min() >= begin
        assert real.time.max() < end


def test_no_station_reports_twice_in_three_hours(splits: dict[str, Table]) -> None:
    keys = np.concatenate(
        [
            np.stack([table.latitude, table.longitude, table.time // 10_800], axis=1)[
                : len(table) - 2 * (name == "train")
            ]
            for name, table in splits.items()
        ]
    )
    assert len(np.unique(keys, axis=0)) == len(keys)


def rows(number: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(BEGIN, END, number))
    time[[0, -1]] = BEGIN, END
    return time, rng.integers(0, 5, number).astype(np.uint8)


def test_the_last_block_is_dev_out_and_the_third_eval_out() -> None:
    time, climate = rows()
    which = assign(time, climate, Rules(), 0)
    named = {name: which == index for index, name in enumerate(SPLITS)}
    assert time[named["eval_out"]].max() < time[named["dev_out"]].min()
    assert day(7, 8) < time[named["dev_out"]].min()
    assert time[named["train"]].max() < day(4, 9)
    assert set(climate[named["dev_out"]]) == {3}
    assert set(climate[named["eval_out"]]) == {3, 4}
    assert set(climate[named["train"]]) == {0, 1, 2}
    assert (which[(time > day(4, 8)) & (time < day(5, 14))] == UNUSED).all()


def test_in_domain_rows_are_divided_by_the_shares() -> None:
    time, climate = rows()
    which = assign(time, climate, Rules(), 0)
    inside = np.isin(which, [SPLITS.index(name) for name in ("train", "dev_in", "eval_in")]).sum()
    for name, share in zip(("train", "dev_in", "eval_in"), Rules().in_split, strict=True):
        assert (which == SPLITS.index(name)).sum() == pytest.approx(share * inside, abs=1.5)


def test_extended_splits_never_take_what_is_shifted() -> None:
    time, climate = rows()
    plain, more = (assign(time, climate, Rules(), 0, extended=extended) for extended in (False, True))
    used = plain != UNUSED
    np.testing.assert_array_equal(plain[used], more[used])
    assert set(climate[more == SPLITS.index("train_xclim")]) == {3, 4}
    assert time[more == SPLITS.index("train_xclim")].max() < day(4, 9)
    assert set(climate[more == SPLITS.index("train_xtime")]) == {0, 1, 2}
    assert time[more == SPLITS.index("train_xtime")].min() > day(5, 14)


def test_other_rules_give_other_splits() -> None:
    time, climate = rows()
    rules = Rules((0.5, 0.0, 0.25, 0.25), ("snow",), ("dry",), ("dry", "tropical"), (0.5, 0.25, 0.25))
    which = assign(time, climate, rules, 1)
    assert set(climate[which == SPLITS.index("train")]) == {CLIMATES.index("snow")}
    assert set(climate[which == SPLITS.index("dev_out")]) == {CLIMATES.index("dry")}
    assert (which == SPLITS.index("train")).sum() == pytest.approx(0.5 * 0.5 * len(time) / 5, rel=0.1)


def test_rows_of_unknown_climate_are_not_used() -> None:
    time, climate = rows()
    climate[::2] = UNKNOWN
    which = assign(time, climate, Rules(), 0, extended=True)
    assert (which[::2] == UNUSED).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"time_split": (0.6, 0.1, 0.1, 0.1)}, "time-split .* add up to 1, not 0.9"),
        ({"in_split": (1.2, -0.1, -0.1)}, "in-split"),
        ({"in_climates": ("mild",)}, "no climate 'mild'; the climates are tropical"),
        ({"in_climates": ()}, "at least one climate"),
    ],
)
def test_impossible_rules_are_refused_in_words(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(BadPartition, match=words):
        Rules(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.0, -1.0, 1.5, float("nan")])
def test_a_scale_outside_its_range_is_refused(scale: float) -> None:
    with pytest.raises(BadPartition, match="scale"):
        counts(scale)


def test_nothing_to_train_on_is_refused() -> None:
    time, climate = rows()
    with pytest.raises(BadPartition, match="nothing to train on"):
        assign(time, np.full_like(climate, 4), Rules(), 0)
    with pytest.raises(BadPartition, match="finite times"):
        assign(np.full(3, np.nan), np.zeros(3, np.uint8), Rules(), 0)
