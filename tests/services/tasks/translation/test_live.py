"""From texts to live figures: references as labels, errors by expected GLEU, sentences for those who label, erasure,
and the evaluation agrees."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.artefact import Artefact
from models.assessment.text import egleu_error, n_best_gleu
from tests.models.translation.made import corpus
from tests.services.tasks.live import evaluated, judged
from tests.services.tasks.translation.conftest import Json, serving

HEAD = "hypotheses"
PAIRS = corpus(24, seed=5).pairs


def error(sentence: Json, reference: str) -> float:
    gleus = n_best_gleu([reference], [[hypothesis["text"] for hypothesis in sentence["hypotheses"]]])
    weights = np.array([[hypothesis["confidence"] for hypothesis in sentence["hypotheses"]]])
    return float(egleu_error(gleus, weights / weights.sum())[0])


async def test_live_errors_of_a_census_are_those_of_the_evaluation(
    three: Artefact, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    errors, records = [], []
    async with serving(three, tmp_path / "home", census=HEAD) as served:
        answer = await served.answer(*[pair.english for pair in PAIRS])
        for number, (sentence, pair) in enumerate(zip(answer["sentences"], PAIRS, strict=True)):
            assert sentence["recorded"]
            reference = pair.russian if number % 3 else "Это совсем другое предложение."
            batch = await served.labelled(sentence["prediction_id"], reference)
            assert not batch["rejected"], batch
            errors.append(error(sentence, reference))
            hypos = [
                {"text": hypothesis["text"], "confidence": hypothesis["confidence"]}
                for hypothesis in sentence["hypotheses"]
            ]
            records.append(({"id": number, "uncertainty": sentence["uncertainty"], "hypos": hypos}, reference))
    live = judged("translation", tmp_path / "home")["census"]
    assert (live.valid, live.units, live.labels) == (True, len(PAIRS), len(PAIRS)), live.reasons
    assert live.figures["mean_error"].estimate == pytest.approx(np.mean(errors), rel=1e-6)
    path, references = tmp_path / "submission.jsonl", tmp_path / "ref.ru"
    path.write_text("".join(f"{json.dumps(record)}\n" for record, _ in records))
    references.write_text("".join(f"{reference}\n" for _, reference in records))
    measures = evaluated("translation", capsys, "--predictions", path, "--references", references)
    (figures, *_) = measures.values()
    assert figures["error"] == pytest.approx(np.mean(errors), rel=1e-6)
    assert live.figures["r_auc"].estimate == pytest.approx(figures["r_auc"], rel=1e-5)


async def test_a_deferred_sentence_is_asked_for_with_its_text_and_can_be_forgotten(
    three: Artefact, tmp_path: Path
) -> None:
    pair = PAIRS[0]
    async with serving(three, tmp_path, fixed_threshold=-1.0, keep_payload="on") as served:
        (sentence,) = (await served.answer(pair.english))["sentences"]
        assert (sentence["deferred"], sentence["recorded"]) == (True, True)
        (request,) = await served.claimed(count=5)
        assert request["input"]["media_type"].startswith("text/plain")
        assert base64.b64decode(request["input"]["base64"]).decode() == pair.english
        assert (await served.submitted(request, pair.russian)).status_code == 200
        unit = sentence["prediction_id"]
        resolution = await served.resolution(unit)
        assert resolution["value"] == pair.russian
        erased = await served.http.post("/v1/erase", json={"units": [unit], "reason": "asked for"})
        assert erased.status_code == 200, erased.text
        after = await served.resolution(unit)
    assert "value" not in after or after["value"] is None
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert pair.english.encode() not in content
    assert pair.russian.encode() not in content, "hypotheses and label are forgotten, too"


async def test_texts_are_not_kept_unless_settings_say_so(three: Artefact, tmp_path: Path) -> None:
    pair = PAIRS[1]
    async with serving(three, tmp_path, fixed_threshold=-1.0) as served:
        await served.answer(pair.english)
        (request,) = await served.claimed(count=5)
    assert not request.get("input")
    assert pair.english.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


async def test_what_is_not_english_has_an_error_when_its_reference_comes(three: Artefact, tmp_path: Path) -> None:
    async with serving(three, tmp_path) as served:
        (sentence,) = (await served.answer("Он открыл дверь."))["sentences"]
        (request,) = await served.claimed(count=5)
        assert "reference translation" in request["label"]
        assert (await served.submitted(request, "Он открыл дверь.")).status_code == 200
    assert sentence["deferred"]
    assert judged("translation", tmp_path)["requested"].figures["mean_error"].estimate == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("value", "words"), [(7, "text"), ("", "token"), (["Он"], "text"), ("x" * 2_000_000, "bytes")])
async def test_labels_that_are_no_translations_are_refused(
    three: Artefact, tmp_path: Path, value: Any, words: str
) -> None:
    async with serving(three, tmp_path, census=HEAD) as served:
        (sentence,) = (await served.answer(PAIRS[2].english))["sentences"]
        (rejected,) = (await served.labelled(sentence["prediction_id"], value))["rejected"]
    assert rejected["error"]["code"] == "bad_label"
    assert words in rejected["error"]["message"]
