"""Tokens and hypotheses: numbers of the released code, running sums against batches, what is refused."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.uncertainty.sequences import SCORES, RunningScores, confidences, hypothesis_scores, sequence_scores
from models.uncertainty.tokens import TOKEN_VALUES, TokenUncertainty, token_uncertainty

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "translation_uncertainty.json").read_text())["cases"]
TOKENS = {
    "eoe": "entropy_of_expected",
    "exe": "expected_entropy",
    "mi": "mutual_information",
    "epkl": "EPKL",
    "mkl": "MKL",
    "ep_eoe": "ep_entropy_of_expected",
    "ep_mi": "ep_mutual_information",
    "ep_epkl": "ep_EPKL",
    "ep_mkl": "ep_MKL",
}
SEQUENCES = {
    "scr_ep": "ep_sTU(SCR-EP)",
    "sdu": "sDU",
    "smkl_ep": "ep_sMKL",
    "scr_pe": "pe_sTU(SCR-PE)",
    "smkl_pe": "pe_sMKL",
    "var": "var",
    "varcombo": "combo",
    "logvar": "logvar",
    "logcombo": "logcombo",
}
FLOAT32 = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['models']} models")
def test_token_values_are_those_of_the_released_code(case: dict) -> None:
    logs, cumulative = np.array(case["token_logprobs"]), np.array(case["cumulative_model_loglik"])
    for step, prefix in (("step0", None), ("step2", cumulative[:, :, 1])):
        actual = token_uncertainty(logs, prefix)
        for ours, theirs in TOKENS.items():
            np.testing.assert_allclose(getattr(actual, ours), case[step][theirs], **FLOAT32, err_msg=f"{step} {ours}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['models']} models")
def test_sequence_values_are_those_of_the_released_code(case: dict) -> None:
    scores = sequence_scores(np.array(case["cumulative_model_loglik"]))
    for ours, theirs in SEQUENCES.items():
        np.testing.assert_allclose(scores[ours], case["sequence"][theirs], **FLOAT32, err_msg=ours)


def decoded(seed: int, members: int, lengths: np.ndarray, vocabulary: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities [M, N, L, V] and tokens [N, L] of hypotheses; behind their ends there is noise too."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (members, len(lengths), lengths.max(), vocabulary))
    logs = logits - np.logaddexp.reduce(logits, axis=-1)[..., None]
    return logs, rng.integers(0, vocabulary, (len(lengths), lengths.max()))


def chosen(logs: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Members' log-probabilities of the tokens, [M, N, L]."""
    return np.take_along_axis(logs, tokens[None, ..., None], axis=3)[..., 0]


def in_one_batch(logs: np.ndarray, tokens: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    cumulative = np.cumsum(chosen(logs, tokens), axis=2)
    prefix = np.concatenate([np.zeros_like(cumulative[..., :1]), cumulative[..., :-1]], axis=2)
    steps = [token_uncertainty(logs[:, :, k], prefix[:, :, k] if k else None) for k in range(tokens.shape[1])]
    values = zip(*(step.arrays() for step in steps), strict=True)
    together = TokenUncertainty(*(np.stack(column, axis=1) for column in values))
    return hypothesis_scores(together, cumulative, lengths)


@given(st.integers(0, 2**31), st.integers(1, 4), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_running_sums_give_the_scores_of_the_batch(seed: int, members: int, ends: list[int]) -> None:
    """A search takes finished hypotheses out, so that those of different lengths run together."""
    lengths = np.array(ends)
    logs, tokens = decoded(seed, members, lengths)
    batch = in_one_batch(logs, tokens, lengths)
    taken = chosen(logs, tokens)
    running, alive = RunningScores.start(members, len(lengths)), np.arange(len(lengths))
    for step in range(lengths.max()):
        values = token_uncertainty(logs[:, alive, step], running.loglik)
        running = running.add(values, taken[:, alive, step])
        finished = lengths[alive] == step + 1
        done = running.take(np.flatnonzero(finished)).scores()
        assert tuple(done) == tuple(batch) == SCORES
        for name in SCORES:
            np.testing.assert_allclose(done[name], batch[name][alive[finished]], rtol=1e-9, atol=1e-12, err_msg=name)
        running, alive = running.take(np.flatnonzero(~finished)), alive[~finished]
    assert len(running) == 0


def test_a_step_leaves_the_scores_before_it_alone() -> None:
    logs, tokens = decoded(5, 2, np.array([2, 2]))
    start = RunningScores.start(2, 2)
    first = start.add(token_uncertainty(logs[:, :, 0]), chosen(logs, tokens)[..., 0])
    before = first.scores()
    first.add(token_uncertainty(logs[:, :, 1], first.loglik), chosen(logs, tokens)[..., 1])
    assert all((first.scores()[name] == before[name]).all() for name in SCORES)
    assert start.lengths.tolist() == [0, 0]


def test_a_hypothesis_may_go_on_in_two_ways() -> None:
    logs, tokens = decoded(6, 3, np.array([2, 2]))
    first = RunningScores.start(3, 2).add(token_uncertainty(logs[:, :, 0]), chosen(logs, tokens)[..., 0])
    twice = first.take(np.array([1, 1, 0]))
    assert twice.loglik[:, 0].tolist() == twice.loglik[:, 1].tolist() == first.loglik[:, 1].tolist()
    for name, score in twice.scores().items():
        assert score.tolist() == first.scores()[name][[1, 1, 0]].tolist(), name
    values = token_uncertainty(logs[:, :, 1], first.loglik).take(np.array([1, 1, 0]))
    grown = twice.add(values, logs[:, [1, 1, 0], 1, [0, 1, 2]].reshape(3, 3))
    assert grown.lengths.tolist() == [2, 2, 2]
    assert len(values) == len(grown) == 3


def test_the_score_of_a_search_is_the_log_of_the_mean_probability_over_the_length() -> None:
    logs, tokens = decoded(7, 3, np.array([4]))
    taken = chosen(logs, tokens)
    scores = in_one_batch(logs, tokens, np.array([4]))
    by_hand = np.log(np.exp(taken).mean(axis=0)).sum(axis=1)
    np.testing.assert_allclose(scores["log_prob"], by_hand, rtol=1e-12)
    np.testing.assert_allclose(scores["scr_pe"], -by_hand / 4, rtol=1e-12)
    running = RunningScores.start(3, 1)
    for step in range(4):
        running = running.add(token_uncertainty(logs[:, :, step], running.loglik), taken[..., step])
    np.testing.assert_allclose(running.score, by_hand / 4, rtol=1e-12)


@given(st.integers(0, 2**31), st.integers(1, 5))
def test_total_is_data_plus_knowledge_for_tokens_and_sequences(seed: int, members: int) -> None:
    lengths = np.array([3, 5])
    scores = in_one_batch(*decoded(seed, members, lengths), lengths)
    for total, data, knowledge in (("eoe", "exe", "mi"), ("ep_eoe", "exe", "ep_mi")):
        np.testing.assert_allclose(scores[total], scores[data] + scores[knowledge], atol=1e-9)
    np.testing.assert_allclose(scores["epkl"], scores["mi"] + scores["mkl"], atol=1e-9)
    np.testing.assert_allclose(scores["ep_epkl"], scores["ep_mi"] + scores["ep_mkl"], atol=1e-9)
    np.testing.assert_allclose(scores["sdu"], scores["scr_pe"] + scores["smkl_pe"], atol=1e-9)
    np.testing.assert_allclose(scores["sdu"], scores["scr_ep"] + scores["smkl_ep"], atol=1e-9)
    for name in ("mi", "epkl", "mkl", "ep_mkl", "smkl_pe", "smkl_ep", "var", "logvar"):
        assert (scores[name] >= 0).all(), name


@given(st.integers(0, 2**31))
def test_members_that_agree_know_and_their_order_does_not_matter(seed: int) -> None:
    lengths = np.array([2, 4])
    logs, tokens = decoded(seed, 3, lengths)
    first, other = in_one_batch(logs, tokens, lengths), in_one_batch(logs[[2, 0, 1]], tokens, lengths)
    same = in_one_batch(np.repeat(logs[:1], 3, axis=0), tokens, lengths)
    for name in SCORES:
        np.testing.assert_allclose(first[name], other[name], rtol=1e-9, atol=1e-12, err_msg=name)
    for name in ("mi", "epkl", "mkl", "ep_mi", "ep_epkl", "ep_mkl", "smkl_pe", "smkl_ep", "var", "logvar"):
        np.testing.assert_allclose(same[name], 0, atol=1e-12, err_msg=name)


def test_likely_members_weigh_more_in_the_expectation_of_products() -> None:
    logs = np.log(np.array([[[0.9, 0.1]], [[0.5, 0.5]]]))
    trusted = token_uncertainty(logs, np.array([[0.0], [-500.0]]))
    assert trusted.ep_eoe[0] == pytest.approx(-(0.9 * math.log(0.9) + 0.1 * math.log(0.1)))
    assert trusted.eoe[0] == pytest.approx(-(0.7 * math.log(0.7) + 0.3 * math.log(0.3)))
    assert trusted.ep_mi[0] < 0, "weighted total below unweighted data"


def test_tokens_without_probability_count_nothing() -> None:
    uncertainties = token_uncertainty(np.array([[[0.0, -np.inf]], [[0.0, -np.inf]]]))
    assert all(values.tolist() == [0] for values in uncertainties.arrays())
    apart = token_uncertainty(np.array([[[0.0, -np.inf]], [[-np.inf, 0.0]]]))
    assert apart.mi[0] == pytest.approx(math.log(2))
    assert apart.epkl[0] == apart.mkl[0] == math.inf


def test_certain_hypotheses_have_the_combinations_of_no_variance() -> None:
    scores = sequence_scores(np.zeros((2, 1, 3)))
    assert (scores["varcombo"].tolist(), scores["logcombo"].tolist()) == ([-1], [-1])


def test_what_lies_behind_the_end_is_not_read() -> None:
    cumulative = np.array([[[-1.0, -2.0, np.nan]], [[-1.5, -2.5, 7.0]]])
    with_rest, without = sequence_scores(cumulative, np.array([2])), sequence_scores(cumulative[..., :2])
    assert all(with_rest[name] == without[name] for name in without)


def test_confidences_are_a_softmax_of_normalised_scores() -> None:
    actual = confidences(np.array([[-1.0, -2.0], [-900.0, -900.0]]))
    np.testing.assert_allclose(actual, [[1 / (1 + math.exp(-1)), 1 / (1 + math.e)], [0.5, 0.5]], rtol=1e-12)
    assert confidences(np.array([[-7.0]])).tolist() == [[1]]


@pytest.mark.parametrize(
    ("logs", "prefix", "message"),
    [
        (np.zeros((2, 3)), None, "vocabulary"),
        (np.full((1, 1, 2), 0.5), None, "log-softmax"),
        (np.full((1, 1, 2), np.nan), None, "log-softmax"),
        (np.full((2, 1, 2), -0.7), np.zeros((2, 2)), "prefix"),
        (np.full((2, 1, 2), -0.7), np.array([[0.0], [-np.inf]]), "1 that are not finite"),
    ],
)
def test_what_is_no_step_is_refused(logs: np.ndarray, prefix: np.ndarray | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        token_uncertainty(logs, prefix)


@pytest.mark.parametrize(
    ("cumulative", "lengths", "message"),
    [
        (np.zeros((2, 3)), None, "cumulative"),
        (np.zeros((1, 2, 3)), np.array([3, 4]), "1 to 3 tokens"),
        (np.zeros((1, 2, 3)), np.array([3, 0]), "1 to 3 tokens"),
        (np.zeros((1, 2, 3)), np.array([3.0, 1.0]), "whole numbers"),
        (np.full((1, 2, 3), -np.inf), None, "6 of 6"),
    ],
)
def test_what_is_no_hypothesis_is_refused(cumulative: np.ndarray, lengths: np.ndarray | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sequence_scores(cumulative, lengths)


def test_sums_refuse_what_does_not_fit() -> None:
    start, step = RunningScores.start(2, 1), token_uncertainty(np.full((2, 1, 2), -math.log(2)))
    with pytest.raises(ValueError, match="at least one token"):
        start.scores()
    with pytest.raises(ValueError, match="chosen must be"):
        start.add(step, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="finite"):
        start.add(step, np.full((2, 1), -np.inf))
    with pytest.raises(ValueError, match="at least 1 member"):
        RunningScores.start(0, 1)
    with pytest.raises(ValueError, match="token values"):
        hypothesis_scores(step, np.zeros((2, 1, 3)))
    with pytest.raises(ValueError, match="score"):
        confidences(np.array([[np.nan]]))


def test_no_hypotheses_have_no_scores() -> None:
    assert len(token_uncertainty(np.zeros((2, 0, 4)), np.zeros((2, 0)))) == 0
    assert all(values.shape == (0,) for values in sequence_scores(np.zeros((2, 0, 3))).values())
    assert all(values.shape == (0,) for values in RunningScores.start(2, 0).scores().values())


def test_there_are_nineteen_scores_and_nine_of_them_are_of_tokens() -> None:
    assert (len(SCORES), len(set(SCORES)), len(TOKEN_VALUES)) == (19, 19, 9)
    assert set(TOKEN_VALUES) < set(SCORES)
