"""The one entry: folds, certificates, groups and judgement hang together."""

import json
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from models.certification.calibrate import Calibrated, calibrate, default_judge_share, shared_goal, split_by
from models.certification.certificate import About, Certificate, fingerprint
from models.certification.choose import Capacity, Goal, JointRisk, LeastCost, SelectiveRisk, TargetRetention, choose
from models.certification.cost import Costs
from models.certification.folds import id_draws, row_draws, split
from models.certification.threshold_evaluation import evaluate_threshold
from models.certification.units import Units, answered, units

ABOUT = About("tvar", date(2026, 3, 1), error="squared_error", model="vessel-dnn-10:abc")
GOALS: list[Goal] = [
    SelectiveRisk(0.1),
    JointRisk(0.05),
    TargetRetention(0.8),
    Capacity(30, 100),
    LeastCost(Costs(1.0, 0.1), 0.5),
]


def sample(n: int = 4000, seed: int = 0) -> Units:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return units(scores, (rng.random(n) < 0.3 * scores).astype(float))


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
def test_a_goal_gives_a_threshold_its_retention_and_a_certificate(goal: Goal) -> None:
    choice = choose(sample(), goal, ABOUT)
    assert choice.threshold is not None
    assert choice.retention == np.mean(answered(sample().scores, choice.threshold))
    certificate = choice.certificate
    assert certificate is not None
    assert (certificate.measure, certificate.model, certificate.data) == ("tvar", ABOUT.model, fingerprint(sample()))
    assert (certificate.issued, certificate.expires) == ("2026-03-01", "2026-05-30")
    assert not certificate.expired(date(2026, 5, 30))
    assert certificate.expired(date(2026, 5, 31))
    assert Certificate.from_plain(json.loads(json.dumps(certificate.plain()))) == certificate


def test_without_a_threshold_there_is_no_certificate_but_a_reason() -> None:
    choice = choose(sample(20), SelectiveRisk(0.01), ABOUT)
    assert (choice.threshold, choice.retention, choice.certificate) == (None, 0.0, None)
    assert choice.reason.startswith("no certifiable threshold: defer all; ")


def test_certificates_of_another_form_are_refused() -> None:
    certificate = choose(sample(), SelectiveRisk(0.1), ABOUT).certificate
    assert certificate is not None
    good = certificate.plain()
    for wrong in ({**good, "colour": 1}, {k: v for k, v in good.items() if k != "data"}, {**good, "expires": "soon"}):
        with pytest.raises(ValueError, match="certificate|isoformat"):
            Certificate.from_plain(wrong)


def test_the_fingerprint_is_that_of_the_data() -> None:
    some = sample()
    assert some.errors is not None
    assert fingerprint(some) == fingerprint(sample())
    assert fingerprint(replace(some, errors=1 - some.errors)) != fingerprint(some)
    assert fingerprint(replace(some, scores=some.scores[::-1])) != fingerprint(some)


def test_folds_are_random_fixed_and_keep_ids_together() -> None:
    draws = row_draws(100_000)
    np.testing.assert_array_equal(row_draws(1000), draws[:1000])
    assert split(draws, 0.2).judge.mean() == pytest.approx(0.2, abs=0.01)
    assert (split(draws, 0.2).judge ^ split(draws, 0.2).calibrate).all()
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.02
    by_id = id_draws(["a", "b", "a", *map(str, range(20_000))])
    assert by_id[0] == by_id[2] != by_id[1]
    assert split(by_id, 0.3).judge.mean() == pytest.approx(0.3, abs=0.015)
    np.testing.assert_array_equal(id_draws(["7", "8"], b"x"), id_draws(["7", "8"], b"x"))
    assert id_draws(["7"], b"x") != id_draws(["7"], b"y")
    with pytest.raises(ValueError, match="judge share"):
        split(draws, 1.0)


def test_what_judges_had_no_part_in_choosing() -> None:
    some = sample(20_000)
    result = calibrate(some, SelectiveRisk(0.1), ABOUT, 0.3)
    kept = split(some.draws, 0.3)
    assert result.chosen == choose(some.part(kept.calibrate), SelectiveRisk(0.1), replace(ABOUT, fold="calibrate"))
    assert result.judged == evaluate_threshold(some.part(kept.judge), result.chosen.threshold)
    assert result.judged is not None
    assert result.judged.risk is not None
    assert result.judged.risk.low < 0.1
    assert result.retention == np.mean(answered(some.scores, result.chosen.threshold))
    assert calibrate(some, SelectiveRisk(0.1), ABOUT, 0.0).judged is None


def test_groups_share_delta_and_never_borrow_a_threshold() -> None:
    some = sample(4000)
    names = np.where(np.arange(4000) < 30, "rare", np.where(np.arange(4000) % 2, "odd", "even"))
    result = calibrate(some, SelectiveRisk(0.1, 0.06), ABOUT, 0.0, names)
    assert list(result.groups) == ["even", "odd", "rare"]
    rare = result.groups["rare"]
    assert (rare.chosen.threshold, rare.retention) == (None, 0.0)
    assert "delta 0.02 needs at least 38 units" in rare.chosen.reason
    certificate = result.groups["odd"].chosen.certificate
    assert certificate is not None
    assert (certificate.delta, certificate.group) == (pytest.approx(0.02), "odd")
    alone = calibrate(some.part(names == "odd"), SelectiveRisk(0.1, 0.02), replace(ABOUT, group="odd"), 0.0)
    assert isinstance(alone, Calibrated)
    assert alone.chosen.threshold == result.groups["odd"].chosen.threshold
    assert result.chosen.certificate is not None
    assert result.chosen.certificate.delta == 0.06


def test_groups_are_the_values_as_text() -> None:
    parts = split_by(np.array([2.0, 1.0, 2.0, np.nan]))
    assert {name: index.tolist() for name, index in parts.items()} == {"1.0": [1], "2.0": [0, 2], "nan": [3]}
    assert shared_goal(JointRisk(0.1), 3) == JointRisk(0.1), "an expectation has no delta to share"


def test_judgements_have_exact_intervals_and_say_nothing_about_nothing() -> None:
    some = units(np.arange(10.0), (np.arange(10) >= 8).astype(float))
    judgement = evaluate_threshold(some, 8.0)
    assert (judgement.n, judgement.answered) == (10, 9)
    assert judgement.risk is not None
    assert judgement.risk.estimate == pytest.approx(1 / 9)
    assert judgement.joint_risk is not None
    assert judgement.joint_risk.estimate == 0.1
    nobody = evaluate_threshold(some, None)
    assert nobody.risk is not None
    assert np.isnan(nobody.risk.estimate)
    assert (nobody.risk.low, nobody.risk.high) == (0, 1)
    bounded = evaluate_threshold(units(np.arange(10.0), np.arange(10.0)), 9.0, bound=10.0)
    assert bounded.risk is not None
    assert bounded.risk.low < 4.5 < bounded.risk.high <= 10
    assert evaluate_threshold(units(np.arange(10.0)), 3.0).risk is None


def test_only_risks_keep_units_for_judging() -> None:
    assert [default_judge_share(goal, 2000) for goal in GOALS] == [0.05, 0.05, 0, 0, 0.05]
    assert default_judge_share(SelectiveRisk(0.1), 999) == 0, "a few units judge nothing"
