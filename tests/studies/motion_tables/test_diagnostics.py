"""Figures that explain the tables: plans at random, who moves, and the record that keeps them."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from studies.motion_tables import diagnostics, page, record
from studies.motion_tables.__main__ import RECORD
from studies.motion_tables.diagnostics import Diagnostics
from studies.motion_tables.members import Imagined
from studies.motion_tables.plan import Plan

N, MEMBERS, SAMPLES, STEPS = 40, 5, 10, 25


def imagined(seed: int) -> Imagined:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(N, STEPS, 2)).cumsum(axis=1).astype(np.float32)
    truth[:10] = 0
    plans = truth[:, None] + rng.normal(0, 0.5, (N, MEMBERS * SAMPLES, 1, 2)).astype(np.float32)
    scores = rng.normal(-20, 4, (N, MEMBERS, MEMBERS * SAMPLES)).astype(np.float32)
    return Imagined(plans, scores, truth, np.arange(N) % 3 == 0, np.array(["Moscow", "TelAviv"] * (N // 2)))


@pytest.fixture(scope="module")
def found() -> Diagnostics:
    both = {(split, family): imagined(seed) for seed, split in enumerate(("dev", "eval")) for family in ("bc", "dim")}
    return diagnostics.diagnostics(both, "a machine")


@pytest.mark.parametrize(("plans", "count"), [(5, 5), (7, 3), (6, 1)])
def test_plans_at_random_are_all_choices_of_them(plans: int, count: int) -> None:
    errors = np.random.default_rng(0).random((4, plans))
    expected = np.mean([errors[:, list(each)].min(axis=1) for each in combinations(range(plans), count)], axis=0)
    assert diagnostics.among(errors, count) == pytest.approx(expected)


def test_more_plans_are_nearer_to_the_truth(found: Diagnostics) -> None:
    for one in found.plans:
        assert one.every < one.random
        assert one.every < one.kept
        assert one.apart > 0
    one, five = (each for each in found.plans if (each.split, each.backbone) == ("eval", "BC"))
    assert five.every < one.every


def test_who_stands_does_not_move(found: Diagnostics) -> None:
    assert not diagnostics.moves(imagined(0))[:10].any()
    assert set(found.moving["dev"]) == {"Moscow", "TelAviv"}
    assert all(0 < share < 1 for share in found.moving["dev"].values())


def test_the_record_keeps_them_and_the_page_prints_them(found: Diagnostics, tmp_path: Path) -> None:
    replace(record.load(RECORD, Plan()), diagnostics=found).save(tmp_path / "recorded.json")
    again = record.load(tmp_path / "recorded.json", Plan())
    assert again.diagnostics == found
    text = page.document(again)
    assert "## Diagnostics" in text
    assert "on a machine." in text
    assert "## Diagnostics" not in page.document(replace(again, diagnostics=None))
