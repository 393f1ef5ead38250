"""The official n-best file: released figures, nltk's and sacrebleu's numbers, and refusals that name the line."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nltk.translate.gleu_score import sentence_gleu
from sacrebleu import corpus_bleu

from models.assessment import retention
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.translation.data.predictions import read
from models.tasks.translation.spec import HYPOTHESES

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "translation_gleu.json").read_text())["cases"]
WORDS = list("abcdefg")


def record(key: Any, texts: list[str], confidences: list[Any], uncertainty: Any = 1.0) -> dict[str, Any]:
    hypos = [{"text": text, "confidence": confidence} for text, confidence in zip(texts, confidences, strict=True)]
    return {"id": key, "uncertainty": uncertainty, "hypos": hypos}


def sentences(count: int = 30, hypotheses: int = 3) -> tuple[list[dict[str, Any]], list[str]]:
    """Predictions and references of random words."""
    rng = np.random.default_rng(5)

    def text() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(4, 12)))

    references = [text() for _ in range(count)]
    records = [
        record(
            key,
            [" ".join([*reference.split()[:-1], text()]) for _ in range(hypotheses)],
            rng.dirichlet(np.ones(hypotheses)).tolist(),
            float(rng.random()),
        )
        for key, reference in enumerate(references)
    ]
    return records, references


def judged(
    tmp_path: Path, records: list[Any], references: Any, domains: str | None = None, **options: Any
) -> UnitErrors:
    """Writes the files as they are published and reads them; text instead of lists is written as it is."""
    predictions, truth = tmp_path / "predictions.jsonl", tmp_path / "references.txt"
    predictions.write_text("".join(f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in records))
    truth.write_text(references if isinstance(references, str) else "".join(f"{line}\n" for line in references))
    companions = {"references": truth}
    if domains is not None:
        (tmp_path / "domains.txt").write_text(domains)
        companions["domains"] = tmp_path / "domains.txt"
    return read(predictions, ErrorOptions(companions=companions, **options))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["seed"]))
def test_figures_are_those_of_the_released_evaluation(case: dict[str, Any], tmp_path: Path) -> None:
    """All but the ratio of one sentence, which does not exist."""
    lists = zip(case["hypos"], case["official_weights"], case["uncertainty_mean_nll"], strict=True)
    records = [record(key, *arguments) for key, arguments in enumerate(lists)]
    unit_errors = judged(tmp_path, records, case["refs"])
    document = evaluate(unit_errors).document()
    np.testing.assert_allclose(unit_errors.error.values, case["egleu_error"], rtol=1e-9, atol=1e-9)
    assert document["egleu"] == pytest.approx(case["official_egleu"], rel=1e-9)
    assert document["maxgleu"] == pytest.approx(case["official_maxgleu"], rel=1e-9)
    assert document["r_auc"] == pytest.approx(case["official_r_auc"], rel=1e-9)
    if case["official_prr"] != "nan":
        assert 100 * document["prr"] == pytest.approx(case["official_prr"], rel=1e-9)
    area, at_95, _ = case["official_f1_threshold60"]["ok"]
    expected = [math.nan if value == "nan" else value for value in (area, at_95)]
    assert [document["f1_auc"], document["f1_at_95"]] == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_errors_are_those_of_nltk_and_the_limit_that_of_the_papers_code(tmp_path: Path) -> None:
    records, references = sentences()
    unit_errors = judged(tmp_path, records, references)
    for entry, reference, error in zip(records, references, unit_errors.error.values, strict=True):
        scores = [100 * sentence_gleu([reference.split()], hypo["text"].split()) for hypo in entry["hypos"]]
        weights = [hypo["confidence"] for hypo in entry["hypos"]]
        assert error == pytest.approx(100 - np.dot(scores, weights), rel=1e-9)
    assert (
        (unit_errors.error_name, unit_errors.error.acceptable)
        == (HYPOTHESES.error, HYPOTHESES.acceptable)
        == ("egleu_error", 60)
    )
    assert judged(tmp_path, records, references, acceptable=30.0).error.acceptable == 30


def test_bleu_is_that_of_the_first_hypothesis_anew_for_each_part(tmp_path: Path) -> None:
    records, references = sentences()
    labels = "".join(f"{int(key % 3 == 0)}\n" for key in range(30))
    unit_errors = judged(tmp_path, records, references, labels)
    document = evaluate(unit_errors, ("domain",)).document()
    firsts = [entry["hypos"][0]["text"] for entry in records]
    shifted = range(0, 30, 3)
    assert document["bleu"] == pytest.approx(corpus_bleu(firsts, [references]).score, rel=1e-9)
    part = corpus_bleu([firsts[key] for key in shifted], [[references[key] for key in shifted]]).score
    assert document["shifted"]["bleu"] == pytest.approx(part, rel=1e-9)
    assert document["by"]["domain"]["1"]["bleu"] == pytest.approx(part, rel=1e-9)
    errors = unit_errors.error.values[list(shifted)]
    assert document["shifted"]["egleu"] == pytest.approx(100 - errors.mean())
    area = retention.r_auc(retention.error_curve(errors, unit_errors.uncertainty[list(shifted)]))
    assert document["shifted"]["r_auc"] == pytest.approx(area)


def test_lines_of_both_files_may_come_in_any_order(tmp_path: Path) -> None:
    """They are sorted by id, as the released evaluation sorts them: ties of uncertainty are broken by id."""
    records, references = sentences()
    straight = judged(tmp_path, records, references)
    answers = [json.dumps({"id": key, "ref": reference}) for key, reference in enumerate(references)]
    order = np.random.default_rng(0).permutation(30)
    mixed = judged(tmp_path, [records[key] for key in order], [answers[key] for key in order[::-1]])
    np.testing.assert_array_equal(mixed.error.values, straight.error.values)
    np.testing.assert_array_equal(mixed.uncertainty, straight.uncertainty)
    assert mixed.labels == straight.labels
    assert mixed.labels != judged(tmp_path, records, [*references[:-1], "else"]).labels


def test_ids_of_json_references_need_not_begin_at_zero(tmp_path: Path) -> None:
    records = [record(7, ["a b"], [1.0]), record(3, ["a b"], [1.0])]
    references = ['{"id": 3, "ref": "a b"}', '{"id": 7, "ref": "c"}']
    unit_errors = judged(tmp_path, records, references, "0\n0\n0\n5\n0\n0\n0\n0\n1\n")
    np.testing.assert_allclose(unit_errors.error.values, [0, 100])
    assert unit_errors.shifted is not None
    assert unit_errors.shifted.tolist() == [True, False]
    assert unit_errors.groups["domain"].tolist() == [5, 0]
    assert "7 labels of" in unit_errors.notes[0]


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    """Russian text may hold separators that Python's splitlines takes for ends of lines."""
    references = "a\u2028b\x85c\x0bd\re\r\ne f\n"
    records = [record(0, ["a\u2028b\x85c\x0bd\re"], [1.0]), record(1, ["e f"], [1.0])]
    np.testing.assert_allclose(judged(tmp_path, records, references).error.values, [0, 0])


def test_an_empty_hypothesis_or_reference_has_the_whole_error(tmp_path: Path) -> None:
    records = [record(0, [""], [1.0]), record(1, ["a"], [1.0])]
    np.testing.assert_allclose(judged(tmp_path, records, ["a b", ""]).error.values, [100, 100])


ONE = record(0, ["a"], [1.0])


@pytest.mark.parametrize(
    ("records", "references", "message"),
    [
        (["{"], "a\n", "predictions.jsonl, line 1 is no JSON"),
        ([ONE, ""], "a\n", "predictions.jsonl, line 2 is no JSON"),
        (["[1]"], "a\n", "line 1 is a JSON list; an object"),
        (["[" * 100_000], "a\n", "line 1 is no JSON"),
        ([{"id": 0, "hypos": ONE["hypos"]}], "a\n", "line 1: uncertainty is missing; the line has id, hypos"),
        ([{"uncertainty": 0}], "a\n", "line 1: id is missing"),
        ([{"id": 0, "uncertainty": 0}], "a\n", "line 1: hypos is missing"),
        ([record("0", ["a"], [1.0])], "a\n", "line 1: id is '0'; a whole number"),
        ([record(-1, ["a"], [1.0])], "a\n", "line 1: id is -1"),
        ([record(True, ["a"], [1.0])], "a\n", "line 1: id is True"),
        ([record(0, ["a"], [1.0], "high")], "a\n", "line 1: uncertainty is 'high'"),
        ([record(0, ["a"], [1.0], math.nan)], "a\n", "line 1: uncertainty is nan"),
        ([record(0, ["a"], [1.0], 10**400)], "a\n", "line 1: uncertainty is too large"),
        ([record(0, [], [])], "a\n", "line 1: hypos has 0 hypotheses; 1 to 10"),
        ([record(0, ["a"] * 11, [1 / 11] * 11)], "a\n", "line 1: hypos has 11 hypotheses; 1 to 10"),
        ([ONE, record(1, ["a", "b"], [0.5, 0.5])], "a\nb\n", "line 2: hypos has 2 hypotheses, and line 1 has 1"),
        ([{"id": 0, "uncertainty": 0, "hypos": "a"}], "a\n", "line 1: hypos is no list"),
        ([{"id": 0, "uncertainty": 0, "hypos": [{"text": "a"}]}], "a\n", r"hypos\[0\]: confidence is missing"),
        ([record(0, [3], [1.0])], "a\n", r"line 1, hypos\[0\]: text is 3; a text"),
        ([record(0, ["a"], ["1"])], "a\n", r"hypos\[0\]: confidence is '1'"),
        ([record(0, ["a"], [math.nan])], "a\n", "confidence is nan"),
        ([record(0, ["a", "b"], [0.5, 0.49998])], "a\n", "line 1: confidence sums to 0.99998 over hypos"),
        ([record(0, ["a", "b"], [1.5, -0.5])], "a\n", "line 1: confidence is -0.5"),
        ([record(0, ["a", "b"], [math.inf, 0])], "a\n", "confidence sums to inf"),
        ([ONE, ONE], "a\nb\n", "line 2: id 0 is also in line 1"),
        ([ONE], "a\nb\n", "predictions.jsonl: id 1 of .*references.txt has no prediction; 1 are missing"),
        ([ONE, record(5, ["a"], [1.0])], "a\n", "predictions.jsonl: id 5 has no reference in .*references.txt"),
        ([ONE], '{"id": 0, "ref": "a"}\n{"id": 0, "ref": "b"}\n', "references.txt, line 2: id 0 is given twice"),
        ([ONE], '{"id": 0, "ref": "a"}\n{"id": 1}\n', "references.txt, line 2: ref is missing"),
        ([ONE], '{"id": 0, "ref": "a"}\nb\n', "references.txt, line 2 is no JSON"),
        ([ONE], "", "references.txt is empty"),
        ([], "a\n", "predictions.jsonl is empty"),
    ],
)
def test_wrong_lines_are_refused_by_number_and_field(
    records: list[Any], references: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadFile, match=message) as refusal:
        judged(tmp_path, records, references)
    assert str(tmp_path) in str(refusal.value)


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ("", "domains.txt is empty"),
        ("0\n", "domains.txt has 1 labels, one a line by id from 0; .* has the id 1"),
        ("0\n1.5\n", "domains.txt, line 2 is '1.5'; a whole number"),
        ("0\nin\n", "line 2 is 'in'"),
        (f"0\n{10**30}\n", "line 2 is '1000"),
    ],
)
def test_wrong_domain_labels_are_refused_by_line(domains: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=message):
        judged(tmp_path, [ONE, record(1, ["a"], [1.0])], "a\nb\n", domains)


def test_bytes_that_are_no_text_and_absent_files_are_refused(tmp_path: Path) -> None:
    path, truth = tmp_path / "predictions.jsonl", tmp_path / "references.txt"
    truth.write_text("a\n")
    path.write_bytes(b'{"id": 0, "uncert\xff\xfe')
    with pytest.raises(BadFile, match="predictions.jsonl is not UTF-8"):
        read(path, ErrorOptions(companions={"references": truth}))
    path.write_text(json.dumps(ONE) + "\n")
    truth.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile, match="references.txt is not UTF-8"):
        read(path, ErrorOptions(companions={"references": truth}))
    with pytest.raises(BadFile, match="holds no references: give --references"):
        read(path, ErrorOptions())
    with pytest.raises(BadFile, match="nowhere.txt cannot be read"):
        read(path, ErrorOptions(companions={"references": tmp_path / "nowhere.txt"}))
    with pytest.raises(BadFile, match="error 'bleu' is not one of egleu_error"):
        judged(tmp_path, [ONE], "a\n", error="bleu")
