"""Which training scans calibrate, and that no scan is scored by members that have seen it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from models.tasks.lesion.training.held_out import FOLDS, PLENTY, SHARE, blocks, held_out

CANONICAL = {"site_a": 8, "site_b": 5, "site_c": 10, "site_d": 10}


@dataclass(frozen=True)
class Named:
    id: str
    flair: Path
    t1: Path | None = None
    truth: Path | None = None
    brain: Path | None = None


def scans(counts: dict[str, int]) -> list[Named]:
    return [
        Named(f"{site}_{number:03d}", Path(site) / "train" / "flair" / f"{number:03d}_FLAIR_isovox.nii.gz")
        for site, count in counts.items()
        for number in range(count)
    ]


def ids(part: object) -> list[str]:
    return [case.id for case in part]  # type: ignore[attr-defined]


def test_few_scans_are_cut_into_folds_that_hold_each_once() -> None:
    cases = scans(CANONICAL)
    split = held_out(cases)
    assert ids(split.train) == ids(cases)
    assert split.share == ()
    assert len(split.folds) == FOLDS
    assert sorted(name for fold in split.folds for name in ids(fold)) == sorted(ids(cases))
    assert [len(fold) for fold in split.folds] == [11, 11, 11]


@pytest.mark.parametrize("reverse", [False, True])
def test_each_site_is_in_each_part_as_neighbours(reverse: bool) -> None:
    cases = scans(CANONICAL)
    parts = blocks(cases[::-1] if reverse else cases, 3)
    for site, count in CANONICAL.items():
        numbers = [[int(name[-3:]) for name in ids(part) if name.startswith(site)] for part in parts]
        assert [value for part in numbers for value in part] == list(range(count))
        assert max(map(len, numbers)) - min(map(len, numbers)) <= 1


def test_of_many_scans_a_share_is_kept_from_all_members() -> None:
    split = held_out(scans({"site_a": PLENTY // 2, "site_b": PLENTY // 2 + 7}))
    assert split.folds == ()
    assert SHARE <= len(split.share) <= SHARE + 2
    assert not set(ids(split.share)) & set(ids(split.train))
    assert len(split.share) + len(split.train) == PLENTY + 7
    assert {name[:6] for name in ids(split.share)} == {"site_a", "site_b"}


def test_two_scans_make_two_folds_and_one_makes_none() -> None:
    assert [ids(fold) for fold in held_out(scans({"site_a": 2})).folds] == [["site_a_000"], ["site_a_001"]]
    assert held_out(scans({"site_a": 1})).folds == ()
    assert held_out([]).train == ()
