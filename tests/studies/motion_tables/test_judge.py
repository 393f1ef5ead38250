"""Parts of an ensemble are ensembles; rows are means over them; figures by set."""

from pathlib import Path

import numpy as np
import pytest

from studies.motion_tables import judge
from studies.motion_tables.members import Imagined, load
from studies.motion_tables.plan import Row, subsets


@pytest.fixture(scope="module")
def imagined() -> Imagined:
    rng = np.random.default_rng(0)
    n, members, samples, steps = 60, 5, 6, 25
    truth = rng.normal(size=(n, steps, 2)).cumsum(axis=1).astype(np.float32)
    plans = truth[:, None] + rng.normal(0, 0.5, (n, members * samples, 1, 2)).astype(np.float32)
    scores = rng.normal(-20, 4, (n, members, members * samples)).astype(np.float32)
    return Imagined(plans, scores, truth, np.arange(n) % 3 == 0, np.array(["Moscow", "TelAviv"] * (n // 2)))


def test_members_are_in_equally_many_ensembles() -> None:
    assert subsets(5, 5) == ((0, 1, 2, 3, 4),)
    for size in (1, 3):
        every = subsets(size, 5)
        assert len(set(every)) == 5
        assert np.bincount(np.ravel(every)).tolist() == [size] * 5


def test_a_part_has_its_members_plans_and_scores(imagined: Imagined) -> None:
    plans, scores = imagined.part((1, 3))
    assert plans.shape == (60, 12, 25, 2)
    assert scores.shape == (60, 2, 12)
    np.testing.assert_array_equal(plans[:, 6:], imagined.plans[:, 18:24])
    np.testing.assert_array_equal(scores[:, 1, :6], imagined.scores[:, 3, 6:12])


def test_the_full_set_is_both_together(imagined: Imagined) -> None:
    figures = judge.row(imagined, Row("Deep Ensemble", "BC", "LQ", 3))
    share = imagined.shifted.mean()
    for name in judge.NAMES[:5]:
        both = share * getattr(figures["shifted"], name) + (1 - share) * getattr(figures["in"], name)
        assert getattr(figures["full"], name) == pytest.approx(both, rel=1e-9)
    assert np.isnan(figures["in"].roc_auc)
    assert 0 <= figures["full"].roc_auc <= 1


def test_one_member_has_one_score_whatever_the_operator(imagined: Imagined) -> None:
    lq, ma = (judge.row(imagined, Row("Deep Ensemble", "BC", operator, 1))["full"] for operator in ("LQ", "MA"))
    assert lq.minade == ma.minade
    assert lq.r_auc != ma.r_auc, "the request's operator still differs"


def test_what_is_kept_is_what_was_saved(imagined: Imagined, tmp_path: Path) -> None:
    imagined.save(tmp_path / "dev.npz")
    again = load(tmp_path / "dev.npz")
    for name in Imagined.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again, name), getattr(imagined, name))


def test_curves_end_in_the_mean_error(imagined: Imagined) -> None:
    judged = judge.judged(imagined, (0, 1, 2, 3, 4), "MA")
    error, f1 = judge.curves(judged)
    assert error[0] == 0
    assert error[-1] == pytest.approx(judged.errors["cnll"].mean())
    assert f1.max() <= 1
