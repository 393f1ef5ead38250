"""Text figures against numbers of the released code, nltk and sacrebleu."""

import json
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from nltk.translate.gleu_score import sentence_gleu

from models.assessment import retention, text

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "translation_gleu.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['refs'])} sentences")
def test_figures_are_those_of_the_released_code(case: dict) -> None:
    gleus = text.n_best_gleu(case["refs"], case["hypos"])
    weights = text.n_best_weights(np.array(case["nll"]))
    error = text.egleu_error(gleus, weights)
    uncertainty = np.mean(case["nll"], axis=1)
    f1 = retention.f_curve(error, uncertainty, 60.0)
    ours = {
        "official_gleu_x100": gleus,
        "official_weights": weights,
        "official_egleu": text.egleu(gleus, weights).mean(),
        "official_maxgleu": text.max_gleu(gleus).mean(),
        "egleu_error": error,
        "uncertainty_mean_nll": uncertainty,
        "official_r_auc": retention.r_auc(retention.error_curve(error, uncertainty)),
        "official_prr": retention.prr(error, uncertainty),
    }
    for name, value in ours.items():
        np.testing.assert_allclose(value, np.asarray(case[name], float), rtol=1e-9, atol=1e-12, err_msg=name)
    area, at_95, curve = case["official_f1_threshold60"]["ok"]
    np.testing.assert_allclose(f1, curve, rtol=1e-9)
    assert (retention.f_auc(f1), retention.f_at(f1)) == (pytest.approx(area), pytest.approx(at_95))


def sentences(seed: int, number: int, longest: int = 12) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(list("abcde,"), rng.integers(0, longest))) for _ in range(number)]


def test_gleu_is_that_of_nltk() -> None:
    for reference, hypothesis in zip(sentences(1, 300), sentences(2, 300), strict=True):
        theirs = 100 * sentence_gleu([reference.split()], hypothesis.split())
        assert text.gleu(reference, hypothesis) == pytest.approx(theirs, abs=1e-12), (reference, hypothesis)


def test_any_whitespace_parts_tokens_and_empty_texts_score_zero() -> None:
    assert text.gleu("a b\u00a0c", " a  b\tc ") == 100
    assert text.gleu("", "a") == text.gleu("a", "") == text.gleu("", "") == 0


def test_weights_follow_likelihood_and_survive_long_sentences() -> None:
    weights = text.n_best_weights(np.array([[1e4, 1e4 + np.log(3.0)], [0.0, 0.0]]))
    np.testing.assert_allclose(weights, [[0.75, 0.25], [0.5, 0.5]])


def test_expected_gleu_lies_between_the_worst_and_the_best() -> None:
    references = sentences(3, 40)
    gleus = text.n_best_gleu(references, [sentences(row, 5) for row in range(40)])
    weights = text.n_best_weights(np.random.default_rng(4).random((40, 5)))
    expected = text.egleu(gleus, weights)
    assert (expected <= text.max_gleu(gleus) + 1e-9).all()
    assert (expected >= gleus.min(axis=1) - 1e-9).all()
    np.testing.assert_allclose(text.egleu_error(gleus, weights), ((100 - gleus) * weights).sum(axis=1))


def test_bleu_is_that_of_sacrebleu_by_default() -> None:
    references = ["the cat is on the mat &apos;s , ok .", "there is a cat on the mat"]
    hypotheses = ["the cat the cat is on the mat , ok .", "there is a dog on the mat"]
    assert text.bleu(references, references) == pytest.approx(100)
    theirs = sacrebleu.BLEU(tokenize="13a", smooth_method="exp").corpus_score(hypotheses, [references]).score
    assert text.bleu(references, hypotheses) == pytest.approx(theirs)


def test_lists_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"hypotheses\[1\]"):
        text.n_best_gleu(["a", "b"], [["a", "b"], ["a"]])
    with pytest.raises(ValueError, match=r"hypotheses\[0\]"):
        text.n_best_gleu(["a"], ["a"])
    with pytest.raises(ValueError, match="one n-best list a reference, got 0 and 0"):
        text.n_best_gleu([], [])
    with pytest.raises(ValueError, match="one hypothesis a reference"):
        text.bleu(["a"], [])


@pytest.mark.parametrize("weights", [[0.5, 0.4], [1.5, -0.5], [np.nan, 1.0], [0.5, 0.50002]])
def test_confidences_that_are_no_distribution_are_refused_by_row(weights: list) -> None:
    with pytest.raises(ValueError, match=r"weights\[1\] sum to"):
        text.egleu(np.zeros((2, 2)), np.array([[0.5, 0.5], weights]))


@pytest.mark.parametrize("nll", [[[np.nan, 1.0]], [[np.inf, 1.0]], [1.0], [[]]])
def test_likelihoods_that_give_no_weights_are_refused(nll: list) -> None:
    with pytest.raises(ValueError, match="nll"):
        text.n_best_weights(np.array(nll))
