"""The submission that is written: read again by the reader of submissions, and judged alike whatever its form."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.translation.data import generated, nbest, submission
from models.tasks.translation.data.generated import Generated, Hypothesis
from models.tasks.translation.data.predictions import read
from models.uncertainty.sequences import SCORES

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "translation_gleu.json").read_text())["cases"]


def sentences(case: dict[str, Any], ensemble: bool = False) -> list[Generated]:
    """The translations of a fixture; the scores of an ensemble are made up of its log-likelihoods."""
    translations = []
    for key, (reference, texts, nlls) in enumerate(zip(case["refs"], case["hypos"], case["nll"], strict=True)):
        hypotheses = []
        for text, nll in zip(texts, nlls, strict=True):
            scores = {name: nll * place for place, name in enumerate(SCORES)} | {"scr_pe": nll} if ensemble else {}
            hypotheses.append(Hypothesis(text, -nll, (-nll,), scores))
        translations.append(Generated(key, f"source {key}", reference, tuple(hypotheses)))
    return translations


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["seed"]))
def test_what_fairseq_prints_is_judged_as_by_the_released_evaluation(
    case: dict[str, Any], ensemble: bool, tmp_path: Path
) -> None:
    path = tmp_path / "results-test.txt"
    generated.write(path, reversed(sentences(case, ensemble)))
    unit_errors = read(path, ErrorOptions())
    document = evaluate(unit_errors).document()
    np.testing.assert_allclose(unit_errors.error.values, case["egleu_error"], rtol=1e-9, atol=1e-9)
    assert document["measure"] == ("scr_pe" if ensemble else "nll")
    assert set(document["measures"]) == (set(SCORES) if ensemble else {"nll"})
    assert document["egleu"] == pytest.approx(case["official_egleu"], rel=1e-9)
    assert document["maxgleu"] == pytest.approx(case["official_maxgleu"], rel=1e-9)
    assert document["r_auc"] == pytest.approx(case["official_r_auc"], rel=1e-9)
    if ensemble:
        means = np.mean(case["nll"], axis=1)
        np.testing.assert_allclose(unit_errors.measures["eoe"], 0 * means)
        np.testing.assert_allclose(unit_errors.measures["log_prob"], -means * SCORES.index("log_prob"))


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_submission_is_judged_as_what_it_was_made_of(ensemble: bool, tmp_path: Path) -> None:
    translations = sentences(CASES[1], ensemble)
    generated.write(tmp_path / "results.txt", translations)
    measure = submission.ENSEMBLE if ensemble else submission.SINGLE
    submission.write(tmp_path / "submission.json", translations, measure)
    submission.write_references(tmp_path / "refs.json", translations)
    straight = read(tmp_path / "results.txt", ErrorOptions())
    unit_errors = read(tmp_path / "submission.json", ErrorOptions(companions={"references": tmp_path / "refs.json"}))
    np.testing.assert_array_equal(unit_errors.error.values, straight.error.values)
    np.testing.assert_array_equal(unit_errors.uncertainty, straight.uncertainty)
    assert (unit_errors.labels, unit_errors.shifted) == (straight.labels, None)


@given(st.lists(st.lists(st.floats(-700, 0), min_size=10, max_size=10), min_size=1, max_size=5))
def test_confidences_sum_to_one_when_they_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, scores: list[list[float]]
) -> None:
    path = tmp_path_factory.mktemp("submission") / "submission.json"
    translations = [
        Generated(key, None, None, tuple(Hypothesis("б «в»", score) for score in row)) for key, row in enumerate(scores)
    ]
    submission.write(path, translations, "nll")
    nbest_lists = nbest.read(path)
    np.testing.assert_array_equal(
        nbest_lists.confidences, [submission.weights(translation) for translation in translations]
    )
    np.testing.assert_allclose(nbest_lists.uncertainty, -np.mean(scores, axis=1), rtol=1e-12, atol=1e-12)
    assert nbest_lists.texts[0][0] == "б «в»"


def test_the_shifted_part_follows_the_other_and_is_told_by_the_references(tmp_path: Path) -> None:
    first, second = sentences(CASES[1]), sentences(CASES[0])
    both = submission.joined(first, second)
    assert [translation.id for translation in both] == list(range(len(first) + len(second)))
    submission.write(tmp_path / "submission.json", both, "nll")
    submission.write_references(tmp_path / "refs.json", both, len(first))
    unit_errors = read(tmp_path / "submission.json", ErrorOptions(companions={"references": tmp_path / "refs.json"}))
    assert unit_errors.shifted is not None
    assert unit_errors.shifted.tolist() == [False] * len(first) + [True] * len(second)
    assert unit_errors.groups["domain"].tolist() == [0] * len(first) + [1] * len(second)
    assert json.loads((tmp_path / "refs.json").read_text().splitlines()[-1])["domain"] == 1


def test_a_folder_of_both_parts_is_one_file(tmp_path: Path) -> None:
    first, second = sentences(CASES[1], True), sentences(CASES[0], True)
    generated.write(tmp_path / "results-test.txt", reversed(first))
    generated.write(tmp_path / "results_test1.txt", second)
    unit_errors = read(tmp_path, ErrorOptions())
    document = evaluate(unit_errors, ("domain",)).document()
    assert document["in"]["n"] == document["by"]["domain"]["0"]["n"] == len(first)
    assert document["shifted"]["n"] == len(second)
    assert document["shifted"]["egleu"] == pytest.approx(CASES[0]["official_egleu"], rel=1e-9)
    np.testing.assert_allclose(
        unit_errors.error.values, [*CASES[1]["egleu_error"], *CASES[0]["egleu_error"]], atol=1e-9
    )


def test_folders_with_something_wrong_are_refused(tmp_path: Path) -> None:
    generated.write(tmp_path / "results-test.txt", sentences(CASES[1])[1:])
    with pytest.raises(BadFile, match="results-test1.txt is missing; a folder has what fairseq printed"):
        read(tmp_path, ErrorOptions())
    generated.write(tmp_path / "results-test1.txt", sentences(CASES[0]))
    with pytest.raises(BadFile, match=r"id \d+ in a part of \d+ sentences; are some left out"):
        read(tmp_path, ErrorOptions())
    generated.write(tmp_path / "results_test.txt", sentences(CASES[1]))
    with pytest.raises(BadFile, match="results-test.txt and results_test.txt are both there"):
        read(tmp_path, ErrorOptions())


def test_lists_of_one_file_are_alike(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    first, two = sentences(CASES[1], True)[:2]
    generated.write(path, [first, Generated(two.id, None, two.reference, two.hypotheses[:-1])])
    with pytest.raises(BadFile, match="sentence 1 has 4 hypotheses, and sentence 0 has 5"):
        read(path, ErrorOptions())
    generated.write(path, [first, sentences(CASES[1])[1]])
    with pytest.raises(BadFile, match=r"sentence 1 has no scores \(SU lines\), and sentence 0 has them"):
        read(path, ErrorOptions())
    generated.write(path, [first, Generated(two.id, None, None, two.hypotheses)])
    with pytest.raises(BadFile, match="holds no references: give --references"):
        read(path, ErrorOptions())
    (tmp_path / "ref.txt").write_text("a\nb\n")
    assert len(read(path, ErrorOptions(companions={"references": tmp_path / "ref.txt"}))) == 2


def test_references_that_tell_domains_tell_all(tmp_path: Path) -> None:
    translations = sentences(CASES[1])[:2]
    submission.write(tmp_path / "submission.json", translations, "nll")
    lines = list(submission.reference_lines(translations, 1))
    for line, message in (
        ('{"id": 1, "ref": "a"}', "refs.json, line 2: domain is missing, and other lines have it"),
        ('{"id": 1, "ref": "a", "domain": "x"}', "refs.json, line 2: domain is 'x'; a whole number"),
    ):
        (tmp_path / "refs.json").write_text(f"{lines[0]}\n{line}\n")
        with pytest.raises(BadFile, match=message):
            read(tmp_path / "submission.json", ErrorOptions(companions={"references": tmp_path / "refs.json"}))


@pytest.mark.parametrize(
    ("rows", "measure", "message"),
    [
        ([("a",) * 11], "nll", "sentence 0 has 11 hypotheses; 1 to 10 are needed"),
        ([()], "nll", "sentence 0 has 0 hypotheses"),
        ([("a",), ("a", "b")], "nll", "sentence 1 has 2 hypotheses; 1 are needed"),
        ([("a",)], "scr_pe", "sentence 0 has no scr_pe: a single model says only nll"),
        ([("a",)], "best", "measure 'best' is not one of nll, eoe"),
    ],
)
def test_what_cannot_be_submitted_is_refused(
    rows: list[tuple[str, ...]], measure: str, message: str, tmp_path: Path
) -> None:
    translations = [
        Generated(key, None, None, tuple(Hypothesis(text, -1.0) for text in texts)) for key, texts in enumerate(rows)
    ]
    with pytest.raises(ValueError, match=message):
        submission.write(tmp_path / "a.json", translations, measure)
    assert not list(tmp_path.iterdir())


def test_ids_are_given_once() -> None:
    translation = sentences(CASES[1])[0]
    with pytest.raises(ValueError, match="id 0 is given twice"):
        list(submission.lines([translation, translation], "nll"))
    with pytest.raises(ValueError, match="sentence 0 has no reference"):
        list(submission.reference_lines([Generated(0, None, None, translation.hypotheses)]))
