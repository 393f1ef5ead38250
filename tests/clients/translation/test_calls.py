"""Calls over a real socket: wishes, streams with sentences before their results, refusals, broken promises."""

import re

import pytest

import demur
from demur.v1 import common_pb2 as common
from demur.v1 import translation_pb2 as wire
from tests.clients.translation.service import russian_text


@pytest.mark.parametrize(
    ("texts", "field", "says"),
    [
        (None, "texts", "texts is 'None'; allowed: a text (str), or a sequence of texts"),
        (b"bytes", "texts", "a text (str), or a sequence of texts"),
        ({"a": "b"}, "texts", "a text (str), or a sequence of texts"),
        ([], "texts", "texts is 'none'; allowed: 1 to 256 texts"),
        (["a", b"b"], "texts[1]", "texts[1] is b'b', not text (str)"),
        (["a", None], "texts[1]", "texts[1] is None, not text (str)"),
        ("a \ud83d b", "texts[0]", "texts[0] holds U+D83D at character 2, which is half a character"),
    ],
)
def test_what_is_no_text_is_refused_before_anything_is_sent(client, translation, texts, field, says):
    with pytest.raises(demur.InvalidInput, match=re.escape(says)) as caught:
        client.translation.predict(texts)
    assert caught.value.field == field
    (outcome,) = client.translation.predict_many([texts])
    assert says in str(outcome.error)
    assert translation.requests == []


@pytest.mark.parametrize(
    ("texts", "code", "says"),
    [
        (["a"] * 257, "too_many_texts", "texts are 257; one call takes at most 256"),
        ("a" * 100_001, "too_many_characters", "texts have 100001 characters together; one call takes at most 100000"),
        (["a" * 50_000, "b" * 50_001], "too_many_characters", "use document"),
    ],
)
def test_what_no_call_takes_is_refused_before_it_is_sent(client, translation, texts, code, says):
    with pytest.raises(demur.TooLarge, match=says) as caught:
        client.translation.predict(texts)
    assert caught.value.code == code
    (outcome,) = client.translation.predict_many([texts])
    assert isinstance(outcome.error, demur.TooLarge)
    assert translation.requests == []


def test_what_a_call_takes_is_sent(client, translation):
    assert len(client.translation.predict(["a" * 390] * 256, tokens="none")) == 256
    assert len(client.translation.predict("\U0001f600" * 100_000)[0].text) == 100_000, "counted in characters"
    assert len(translation.requests) == 2


def test_what_the_service_refuses_is_raised(client):
    with pytest.raises(demur.InvalidInput, match="texts is refused") as caught:
        client.translation.predict(["fine", "refused"])
    assert (caught.value.field, caught.value.index) == ("texts", 1)
    with pytest.raises(demur.TooLarge, match="1025 sentences"):
        client.translation.predict("A." * 1025)
    (outcome,) = client.translation.predict_many(["A." * 1025])
    assert isinstance(outcome.error, demur.TooLarge)
    with pytest.raises(demur.Busy):
        client.translation.predict("overloaded")


def test_wishes_travel(client, translation):
    (answer,) = client.translation.predict("One.", purpose="explore", defer_above=0.25, tokens="all")
    assert (answer.sentences[0].decision, answer.sentences[0].recorded) == ("caller_deferred", False)
    (request,) = translation.requests
    assert (request.purpose, request.defer_above) == (common.PURPOSE_EXPLORE, 0.25)
    assert request.tokens == wire.TRANSLATION_DETAIL_ALL
    list(client.translation.predict_many(["One."], purpose="replay", defer_above=2.0, tokens="none"))
    list(client.translation.document("One."))
    replay, document = translation.begins
    assert (replay.purpose, replay.defer_above, replay.members) == (common.PURPOSE_REPLAY, 2.0, False)
    assert (document.purpose, document.HasField("defer_above")) == (common.PURPOSE_DECIDE, False)
    wishes = [request.tokens for request in translation.requests[1:]]
    assert wishes == [wire.TRANSLATION_DETAIL_NONE, wire.TRANSLATION_DETAIL_BEST]


@pytest.mark.parametrize("early", [0, 1, 2, 99])
@pytest.mark.parametrize("together", [1, 3])
def test_sentences_before_their_result_are_part_of_it(client, translation, early, together):
    translation.early, translation.together, translation.window = early, together, 4
    questions = [["One. Two. Three.", "Four."], "", "Five. spoilt. Six.", "refused", [], "Seven."]
    outcomes = list(client.translation.predict_many(questions))
    assert [isinstance(outcome, demur.ChunkError) for outcome in outcomes] == [False, False, False, True, True, False]
    assert [outcome.position for outcome in outcomes[3:5]] == [3, 4]
    for place in (0, 1, 2, 5):
        texts = [questions[place]] if isinstance(questions[place], str) else questions[place]
        for answer, text in zip(outcomes[place], texts, strict=True):
            assert answer.text == russian_text(text).replace(russian_text("spoilt."), "spoilt.")
            assert [answer.text[slice(*sentence.span)] for sentence in answer.sentences] == [
                sentence.best.text for sentence in answer.sentences
            ]
            assert [sentence.source_span for sentence in answer.sentences] == sorted(
                sentence.source_span for sentence in answer.sentences
            )
            assert all(sentence.best.scores["eoe"] == 0.25 for sentence in answer.sentences)
    assert len(translation.begins) == 1


def test_a_stream_that_finds_no_room_says_so(client):
    (outcome,) = client.translation.predict_many(["overloaded"])
    assert isinstance(outcome.error, demur.Busy)


def _first(response: wire.TranslationPredictResponse) -> wire.TranslatedSentence:
    return response.sentences[0]


BROKEN = {
    "a text too many": lambda answer: answer.texts.add(),
    "a sentence too few": lambda answer: answer.sentences.pop(),
    "a sentence twice": lambda answer: answer.sentences.append(_first(answer)),
    "of another text": lambda answer: setattr(_first(answer), "text", 1),
    "of no text": lambda answer: answer.sentences.add(item=7),
    "failed and translated": lambda answer: answer.failures.add(item=0),
    "empty": lambda answer: setattr(_first(answer), "source_stop", _first(answer).source_start),
    "beyond the text": lambda answer: setattr(answer.sentences[1], "source_stop", 99),
    "one inside another": lambda answer: setattr(answer.sentences[1], "source_start", 2),
    "elsewhere": lambda answer: setattr(_first(answer), "start", 1),
    "not joined": lambda answer: setattr(answer.texts[0], "translation", answer.texts[0].translation + " "),
    "scores": lambda answer: setattr(_first(answer).hypotheses[0], "scores", bytes(4)),
    "half a score": lambda answer: setattr(_first(answer).hypotheses[0], "scores", bytes(7)),
    "half a place": lambda answer: setattr(_first(answer).hypotheses[0].tokens, "starts", bytes(7)),
    "fewer places": lambda answer: setattr(_first(answer).hypotheses[0].tokens, "starts", bytes(8)),
    "places beyond": lambda answer: setattr(_first(answer).hypotheses[0].tokens, "stops", b"\xff" * 12),
    "no total": lambda answer: setattr(_first(answer).hypotheses[0].tokens, "total", b""),
    "other data": lambda answer: setattr(_first(answer).hypotheses[0].tokens, "data", bytes(4)),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_answer_is_the_services_failure(client, translation, how):
    right = translation.answer

    def wrong(*arguments):
        response = right(*arguments)
        BROKEN[how](response)
        return response

    translation.answer = wrong
    for ask in (client.translation.predict, lambda text: list(client.translation.document(text))):
        with pytest.raises(demur.ServiceFailure) as caught:
            ask("One. Two.")
        assert caught.value.code == "malformed"
        assert ("begins before" in str(caught.value)) == (how == "one inside another")


@pytest.mark.parametrize("sequence", [1, 2, 99])
def test_a_sentence_of_a_question_that_is_not_on_its_way_is_the_services_failure(client, translation, sequence):
    right = translation._answers

    def wrong(chunks, begin, ahead):
        for frame in right(chunks, begin, ahead):
            if frame.WhichOneof("frame") == "sentence":
                frame.sentence.sequence = sequence
            yield frame

    translation.early, translation._answers = 1, wrong
    with pytest.raises(demur.ServiceFailure, match=f"a frame about chunk {sequence}, which is not on its way"):
        list(client.translation.predict_many(["One."]))
