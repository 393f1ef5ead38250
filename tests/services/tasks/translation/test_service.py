"""Texts over both protocols: equal answers, places that fit, sentences decided as the policy says."""

from typing import Any

import numpy as np
import pytest

from demur.v1 import common_pb2, translation_pb2
from models.artefact import Artefact
from models.uncertainty.sequences import SCORES
from tests.models.translation import made
from tests.rounding import tolerance
from tests.services.tasks.translation.conftest import TEXT, Json, Served, serving

RUSSIAN = "Собака видит дом сегодня. Она любит луну"


def numbers(packed: bytes, kind: str = "<f4") -> list[float]:
    return np.frombuffer(packed, kind).tolist()


async def test_a_text_comes_back_whole_and_its_sentences_stand_where_they_say(three: Artefact) -> None:
    async with serving(three) as served:
        answer = await served.answer(TEXT)
    (text,) = answer["texts"]
    assert text["translation"].startswith(RUSSIAN)
    assert "(77).\n\n- Мой брат находит книгу" in text["translation"]
    assert text["translation"].endswith(" 😀")
    assert (text["first"], text["sentences"]) == (0, 3)
    for item, sentence in enumerate(answer["sentences"]):
        assert (sentence["item"], sentence["text"]) == (item, 0)
        assert TEXT[sentence["source_start"] : sentence["source_stop"]] == sentence["source"]
        best = sentence["hypotheses"][0]
        assert text["translation"][sentence["start"] : sentence["stop"]] == best["text"]
        for token in best["tokens"][:-1]:
            assert token["start"] <= token["stop"]
            assert (
                best["text"][token["start"] : token["stop"]].strip(" ") == best["text"][token["start"] : token["stop"]]
            )
        end = best["tokens"][-1]
        assert end["start"] == end["stop"] == len(best["text"])


async def test_hypotheses_are_ranked_and_what_is_said_of_them_fits_together(three: Artefact) -> None:
    async with serving(three) as served:
        answer = await served.answer(TEXT, tokens="all")
    for sentence in answer["sentences"]:
        hypotheses = sentence["hypotheses"]
        scores = np.array([hypo["score_nats"] for hypo in hypotheses])
        assert len(hypotheses) == 5
        assert (np.diff(scores) <= 0).all()
        weights = np.exp(scores - scores.max())
        np.testing.assert_allclose([hypo["confidence"] for hypo in hypotheses], weights / weights.sum(), rtol=1e-5)
        assert sentence["uncertainty"] == pytest.approx(
            np.mean([hypo["scores"]["scr_pe"] for hypo in hypotheses]), rel=1e-5
        )
        for hypothesis in hypotheses:
            assert tuple(hypothesis["scores"]) == SCORES
            columns = {
                name: np.array([token[name] for token in hypothesis["tokens"]]) for name in hypothesis["tokens"][0]
            }
            np.testing.assert_allclose(columns["log_probability_nats"].mean(), hypothesis["score_nats"], atol=1e-5)
            np.testing.assert_allclose(columns["total_nats"].mean(), hypothesis["scores"]["eoe"], atol=1e-5)
            np.testing.assert_allclose(
                columns["total_nats"], columns["data_nats"] + columns["knowledge_nats"], atol=1e-5
            )


async def test_both_protocols_say_the_same(three: Artefact) -> None:
    async with serving(three) as served:
        answer, message = (
            await served.answer(TEXT, "A cat draws the moon."),
            await served.message(TEXT, "A cat draws the moon."),
        )
    assert message.model == answer["model"] == three.tag
    assert message.profile == answer["profile"] != ""
    assert [text.translation for text in message.texts] == [text["translation"] for text in answer["texts"]]
    assert tuple(message.scores) == SCORES
    assert len(message.sentences) == len(answer["sentences"]) == 4
    for sentence, other in zip(message.sentences, answer["sentences"], strict=True):
        for name in ("item", "text", "source_start", "source_stop", "start", "stop", "recorded"):
            assert getattr(sentence, name) == other[name]
        assert numbers(sentence.deferral.uncertainty) == pytest.approx([other["uncertainty"]], rel=1e-5)
        for hypothesis, expected in zip(sentence.hypotheses, other["hypotheses"], strict=True):
            assert hypothesis.text == expected["text"]
            assert hypothesis.confidence == pytest.approx(expected["confidence"], rel=1e-5)
            assert numbers(hypothesis.scores) == pytest.approx(list(expected["scores"].values()), rel=1e-4, abs=1e-6)
        best, expected = sentence.hypotheses[0].tokens, other["hypotheses"][0]["tokens"]
        assert numbers(best.starts, "<u4") == [token["start"] for token in expected]
        assert numbers(best.knowledge) == pytest.approx([token["knowledge_nats"] for token in expected], abs=1e-6)
        assert not sentence.hypotheses[1].tokens.starts


async def test_plain_answers_have_the_numbers_of_packed_ones(three: Artefact) -> None:
    async with serving(three) as served:
        packed, answer = await served.message(TEXT), await served.message(TEXT, plain=True)
        frames = await served.streamed([TEXT], begin=common_pb2.StreamBegin(plain=True))
    streamed = [frame.sentence.sentence for frame in frames if frame.WhichOneof("frame") == "sentence"]
    for sentences in (answer.sentences, sorted(streamed, key=lambda entry: entry.item)):
        assert len(sentences) == len(packed.sentences) == 3
        for sentence, other in zip(sentences, packed.sentences, strict=True):
            assert list(sentence.deferral.plain_uncertainty) == numbers(other.deferral.uncertainty)
            assert list(sentence.deferral.plain_decisions) == list(other.deferral.decisions)
            best, expected = sentence.hypotheses[0], other.hypotheses[0]
            assert list(best.plain_scores) == numbers(expected.scores)
            assert list(best.tokens.plain_starts) == numbers(expected.tokens.starts, "<u4")
            assert list(best.tokens.plain_knowledge) == numbers(expected.tokens.knowledge)
            assert not best.scores + best.tokens.starts + best.tokens.knowledge


@pytest.mark.parametrize("wish", [{"purpose": common_pb2.PURPOSE_DECIDE}, {"defer_above": 0.5}, {"plain": True}])
async def test_a_chunk_says_nothing_that_holds_for_its_stream(three: Artefact, wish: dict[str, Any]) -> None:
    request = translation_pb2.TranslationPredictRequest(texts=[TEXT], **wish)
    chunk = translation_pb2.TranslationStreamRequest(chunk=translation_pb2.TranslationChunk(request=request))
    async with serving(three) as served:
        frames = [frame async for frame in served.stub.PredictStream(iter([chunk]))]
    (failed,) = [frame.error.error for frame in frames if frame.WhichOneof("frame") == "error"]
    assert (failed.code, failed.field) == ("unknown_field", next(iter(wish)))


@pytest.mark.parametrize(("tokens", "told"), [("none", 0), ("best", 1), ("all", 5)])
async def test_tokens_are_told_as_wished(three: Artefact, tokens: str, told: int) -> None:
    async with serving(three) as served:
        answer = await served.answer("The dog sees a house today.", tokens=tokens)
    (sentence,) = answer["sentences"]
    assert sum("tokens" in hypothesis for hypothesis in sentence["hypotheses"]) == told


async def test_single_models_say_only_what_they_know(one: Artefact) -> None:
    async with serving(one) as served:
        answer = await served.answer("The dog sees a house today.")
        message = await served.message("The dog sees a house today.")
    (sentence,) = answer["sentences"]
    best = sentence["hypotheses"][0]
    assert sentence["measure"] == "nll"
    assert sentence["uncertainty"] == pytest.approx(
        -np.mean([hypothesis["score_nats"] for hypothesis in sentence["hypotheses"]]), rel=1e-5
    )
    assert "scores" not in best
    assert set(best["tokens"][0]) == {"start", "stop", "log_probability_nats", "total_nats"}
    assert not message.sentences[0].hypotheses[0].scores
    assert not message.sentences[0].hypotheses[0].tokens.knowledge


async def test_the_same_sentence_has_the_same_translation_in_any_company(three: Artefact) -> None:
    sentence = "My brother finds a book at night."
    async with serving(three) as served:
        (alone,) = (await served.answer(sentence))["sentences"]
        crowd = await served.answer(*["The doctor knows the river every day."] * 20, sentence, "A cat draws the moon.")
    (other,) = (candidate for candidate in crowd["sentences"] if candidate["source"] == sentence)
    assert [hypothesis["text"] for hypothesis in other["hypotheses"]] == [
        hypothesis["text"] for hypothesis in alone["hypotheses"]
    ]
    near = tolerance(10, made.ROUNDINGS)  # logits of some 10; what leads to them is as long as in networks made there
    assert other["uncertainty"] == pytest.approx(alone["uncertainty"], abs=near)


async def test_policies_defer_withhold_and_callers_may_be_stricter(three: Artefact) -> None:
    async def decided(served: Served, **wishes: object) -> list[Json]:
        return (await served.answer(TEXT, **wishes))["sentences"]

    async with serving(three, fixed_threshold=1e9) as served:
        assert {sentence["decision"] for sentence in await decided(served)} == {"ANSWER"}
        assert {sentence["decision"] for sentence in await decided(served, defer_above=-1)} == {"CALLER_DEFERRED"}
    async with serving(three, fixed_threshold=-1.0, withhold=True) as served:
        answer = await served.answer(TEXT)
    assert {sentence["decision"] for sentence in answer["sentences"]} == {"DEFER"}
    assert not any(sentence["hypotheses"] for sentence in answer["sentences"])
    assert answer["texts"][0]["translation"] == TEXT, "what is withheld stands as it came"


async def test_another_measure_may_be_chosen_at_start(three: Artefact) -> None:
    async with serving(three, measures="hypotheses=mkl") as served:
        (sentence,) = (await served.answer("The dog sees a house today."))["sentences"]
    assert sentence["measure"] == "mkl"
    assert sentence["uncertainty"] == pytest.approx(
        np.mean([hypothesis["scores"]["mkl"] for hypothesis in sentence["hypotheses"]]), abs=1e-6
    )


async def test_streams_tell_sentences_and_end_chunks_with_their_texts(three: Artefact) -> None:
    async with serving(three) as served:
        whole = await served.message(TEXT)
        frames = await served.streamed([TEXT], ["123"], ["The dog sees a house today."])
        kinds = [frame.WhichOneof("frame") for frame in frames]
        streamed = [frame.sentence for frame in frames if frame.WhichOneof("frame") == "sentence"]
        results = [frame.result for frame in frames if frame.WhichOneof("frame") == "result"]
    assert kinds[0] == "accepted"
    assert [result.sequence for result in results] == [0, 1, 2]
    assert sorted(event.sentence.item for event in streamed if event.sequence == 0) == [0, 1, 2]
    assert [event.sequence for event in streamed if event.sequence] == [2]
    assert results[0].answer.texts == whole.texts
    assert not results[0].answer.sentences
    assert results[1].answer.texts[0].translation == "123"
    assert frames[-1].progress.units_done == 4
    assert frames[-1].progress.chunks_done == 3


async def test_a_chunk_that_is_refused_does_not_end_the_stream(three: Artefact) -> None:
    async with serving(three) as served:
        frames = await served.streamed([], ["The dog sees a house today."])
        begin = common_pb2.StreamBegin(purpose=common_pb2.PURPOSE_EXPLORE, defer_above=-1)
        explored = await served.streamed(["The dog sees a house today."], begin=begin)
    kinds = [frame.WhichOneof("frame") for frame in frames]
    assert kinds.count("error") == 1
    assert kinds.count("result") == 1
    (sentence,) = (frame.sentence.sentence for frame in explored if frame.WhichOneof("frame") == "sentence")
    assert list(sentence.deferral.decisions) == [common_pb2.DECISION_CALLER_DEFERRED]


async def test_the_service_describes_itself(three: Artefact) -> None:
    async with serving(three) as served:
        schema = (await served.http.get("/v1/schema")).json()
        openapi = (await served.http.get("/v1/openapi.json")).json()
    assert schema["task"] == "translation"
    assert "/v1/predict" in openapi["paths"]
    assert translation_pb2.DESCRIPTOR.services_by_name["TranslationService"].methods_by_name["Predict"]
