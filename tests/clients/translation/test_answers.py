"""Translation over a real socket: texts in, sentences with hypotheses, tokens and decisions out."""

import json

import numpy as np
import pytest

import demur
from tests.clients import readme
from tests.clients.stand_in import PROFILE
from tests.clients.translation.service import doubt, russian, russian_text

TEXT = "  - Hello, world.  What a day!\n\n\U0001f600 It rains\n"


def test_an_answer_is_what_the_service_said(client):
    translations = client.translation.predict(TEXT)
    assert (translations.model, len(translations), translations.failures) == ("translation:1", 1, ())
    (translation,) = translations
    assert (translation.text, translation.source, translation.model) == (russian_text(TEXT), TEXT, "translation:1")
    assert {translations.profile, translation.profile, *(part.profile for part in translation.sentences)} == {PROFILE}
    assert translation.text != TEXT
    sources = ["- Hello, world.", "What a day!", "It rains"]
    assert [sentence.source for sentence in translation.sentences] == sources
    for place, (sentence, source) in enumerate(zip(translation.sentences, sources, strict=True)):
        assert sentence.item == place
        assert TEXT[slice(*sentence.source_span)] == source
        assert translation.text[slice(*sentence.span)] == sentence.best.text == russian(source)
        assert [hypothesis.text for hypothesis in sentence.hypotheses] == [russian(source), russian(source) + "!"]
        assert [hypothesis.confidence for hypothesis in sentence.hypotheses] == [0.75, 0.25]
        assert [hypothesis.score for hypothesis in sentence.hypotheses] == [-0.5, -1.5]
        assert dict(sentence.hypotheses[1].scores) == {"eoe": 0.25, "scr_pe": 1.5}
    first, second, _ = translation.sentences
    assert (first.decision, first.deferred, first.answered, first.verdict) == ("answer", False, True, "answered")
    assert (first.uncertainty, first.threshold, first.measure, first.policy) == (0.5, 1, "scr_pe", "p1")
    assert (first.model, first.recorded, first.prediction_id) == ("translation:1", True, "000000000000007e-0")
    assert (first.shifted, first.shift_reasons, first.remarks) == (False, (), ())
    assert (second.decision, second.deferred, second.shift_reasons) == ("defer", True, ("outside_training_range",))
    assert second.remarks == (demur.Remark("slang", "many unknown pieces", 0.5, "1", 0, pytest.approx(0.2)),)
    assert (translation.deferred, translation.answered, translations.deferred, translations.answered) == (
        True,
        False,
        True,
        False,
    )
    assert list(translations.prediction_ids) == [f"000000000000007e-{number}" for number in range(3)]
    assert translations.sentences == translation.sentences
    assert translations.check() is translations


def test_several_texts_are_a_sequence(client):
    texts = ["One. Two.", "", "12.", "Three."]
    translations = client.translation.predict(texts)
    assert [translation.text for translation in translations] == [russian_text(text) for text in texts]
    assert [len(translation.sentences) for translation in translations] == [2, 0, 1, 1]
    assert [sentence.item for sentence in translations.sentences] == [0, 1, 0, 0], "counted in their texts"
    assert translations[3].sentences[0].source == "Three."
    assert translations[1:3] == tuple(translations)[1:3]
    assert translations[1].answered
    for form in (tuple(texts), np.array(texts), (text for text in texts)):
        assert [translation.text for translation in client.translation.predict(form)] == [
            translation.text for translation in translations
        ]


def test_tokens_are_arrays_and_a_sequence(client):
    (sentence,) = client.translation.predict("Hello, world.")[0].sentences
    best, other = sentence.hypotheses
    assert other.tokens is None
    tokens, text = best.tokens, best.text
    assert (len(tokens), tokens.starts.dtype, tokens.total.dtype) == (5, np.uint32, np.float32)
    assert [text[token.start : token.stop] for token in tokens] == ["Hел", "ло,", "вор", "лд.", ""]
    np.testing.assert_allclose(tokens.data + tokens.knowledge, tokens.total, rtol=1e-6)
    first = tokens[0]
    assert first == (0, 3, pytest.approx(-1.2), pytest.approx(0.6), pytest.approx(0.45), pytest.approx(0.15))
    assert tokens[-1].start == tokens[-1].stop == len(text)
    assert tokens[1:3] == tuple(tokens)[1:3]
    with pytest.raises(ValueError, match="read-only"):
        tokens.total[0] = 1
    with pytest.raises(IndexError):
        tokens[5]


@pytest.mark.parametrize(("wish", "told"), [("best", [True, False]), ("all", [True, True]), ("none", [False, False])])
def test_tokens_are_told_as_wished(client, wish, told):
    (sentence,) = client.translation.predict("Hello.", tokens=wish)[0].sentences
    assert [hypothesis.tokens is not None for hypothesis in sentence.hypotheses] == told
    if wish == "none":
        for ask in (sentence.best.doubtful, client.translation.predict("A.", tokens=wish)[0].underlined):
            with pytest.raises(demur.InvalidInput, match="ask with tokens='best'") as caught:
                ask(0.5)
            assert caught.value.field == "tokens"
    else:
        assert "most doubtful words, nats: Hелло 0.60" in sentence.summary()


def test_doubtful_words_are_found_in_the_translation(client):
    text = "See it. \U0001f600 Enormously, he said: hello-hello."
    (translation,) = client.translation.predict(text)
    words = translation.doubtful(0.5)
    assert [translation.text[word.start : word.stop] for word in words] == ["Eнормоуслй", "хелло-хелло"]
    assert [word.value for word in words] == pytest.approx([doubt("Eнормоуслй,"), doubt("хелло-хелло.")])
    assert translation.doubtful(2.0, by="surprise") == [
        (start, stop, pytest.approx(2 * value)) for start, stop, value in translation.doubtful(1.0)
    ]
    assert translation.doubtful(1.0)[0].value == pytest.approx(1.1)
    assert len(translation.doubtful(0.25, by="knowledge")) == 2
    sentence = translation.sentences[1]
    (word, *_) = sentence.best.doubtful(0.5)
    assert words[0][:2] == (word.start + sentence.span[0], word.stop + sentence.span[0])
    assert translation.underlined(1.0, marks=("<u>", "</u>")) == russian_text(text).replace(
        "Eнормоуслй", "<u>Eнормоуслй</u>"
    ).replace("хелло-хелло", "<u>хелло-хелло</u>")
    assert translation.underlined(1.0).count("\x1b[4m") == translation.underlined(1.0).count("\x1b[24m") == 2
    assert translation.underlined(100.0) == translation.text


def test_a_word_is_as_doubtful_as_the_tokens_that_are_part_of_it():
    places = np.array([(0, 1), (1, 1), (1, 2), (2, 3), (3, 8), (8, 9), (9, 9)], np.uint32)
    total = np.array([1, 9, 3, 5, 2, np.nan, 9], np.float32)
    tokens = demur.Tokens(places[:, 0], places[:, 1], -total, total, None, None)
    hypothesis = demur.Hypothesis("ab,cd efg", -1.0, 1.0, None, tokens)
    assert hypothesis.doubtful(0.0)[:2] == [(0, 2, 3.0), (3, 5, 2.0)], "neither of what is beside them nor of no letter"
    (*_, last) = hypothesis.doubtful(10.0)
    assert last[:2] == (6, 9), "what is no number is doubtful"
    assert np.isnan(last.value)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"above": 1.0, "by": "rmi"}, "by"),
        ({"above": float("nan")}, "above"),
        ({"above": "much"}, "above"),
        ({"above": None}, "above"),
    ],
)
def test_doubts_that_mean_nothing_are_named(client, wish, field):
    (translation,) = client.translation.predict("Hello.")
    for ask in (translation.doubtful, translation.sentences[0].best.doubtful, translation.underlined):
        with pytest.raises(demur.InvalidInput) as caught:
            ask(**wish)
        assert caught.value.field == field


def test_single_models_say_less(client, translation):
    translation.singular = True
    (answer,) = client.translation.predict("Hello.")
    best = answer.sentences[0].best
    assert (best.scores, best.tokens.data, best.tokens.knowledge, best.tokens[0].knowledge) == (None,) * 4
    assert best.doubtful(0.5) == [(0, 5, pytest.approx(0.6))]
    assert best.doubtful(1.0, by="surprise") == [(0, 5, pytest.approx(1.2))]
    with pytest.raises(demur.InvalidInput, match="single models do not have"):
        best.doubtful(0.5, by="knowledge")


@pytest.mark.parametrize("singular", [False, True])
def test_what_is_not_english_stands_as_it_came(client, translation, singular):
    translation.singular = singular
    (answer,) = client.translation.predict("Hello. Das ist es nicht. Bye.")
    _, other, _ = answer.sentences
    assert answer.text == f"{russian('Hello.')} Das ist es nicht. {russian('Bye.')}"
    assert (other.best.text, other.best.tokens, len(other.hypotheses)) == (other.source, None, 1)
    assert np.isnan(other.best.score)
    assert (other.best.scores is None) == singular
    assert other.best.doubtful(0.0) == []
    assert {answer.text[word.start : word.stop] for word in answer.doubtful(0.0)} == {"Hелло", "Bйе"}
    assert "nan" in other.summary()


def test_a_withheld_sentence_is_only_a_decision(client, translation):
    translation.withhold = True
    (answer,) = client.translation.predict("Hello there. Secretly. Bye.")
    shown, hidden, last = answer.sentences
    assert answer.text == f"{russian('Hello there.')} Secretly. {russian('Bye.')}"
    assert (hidden.decision, hidden.best, hidden.hypotheses) == ("defer", None, ())
    assert answer.text[slice(*hidden.span)] == hidden.source == "Secretly."
    assert answer.text[slice(*last.span)] == last.best.text
    assert shown.best is not None
    assert {answer.text[word.start : word.stop] for word in answer.doubtful(0.0)} == {"Hелло", "тхере", "Bйе"}
    assert "translation withheld" in repr(hidden)
    assert "translation withheld" in hidden.summary()


def test_a_sentence_that_fails_spoils_no_other(client, translation):
    text = "\U0001f600 One. \n - spoilt milk.  Two."
    (answer,) = client.translation.predict(text)
    (streamed,) = next(client.translation.predict_many([text]))
    for result in (answer, streamed):
        assert result.text == f"\U0001f600 {russian('One.')} \n - spoilt milk.  {russian('Two.')}"
        assert [sentence.item for sentence in result.sentences] == [0, 2]
        (failure,) = result.failures
        assert (failure.item, failure.error.code) == (1, "no_translation")
        assert text[slice(*failure.within)] == "- spoilt milk."
        assert not result.answered
        assert "3 sentences, 1 deferred, 1 shifted, 1 failed" in repr(result)
        assert "sentence 1: failed: no hypothesis ended" in result.summary()
        with pytest.raises(demur.InvalidInput, match="no hypothesis ended"):
            result.check()
    (all_,) = client.translation.predict("spoilt. spoilt too.")
    assert (all_.text, [failed.within for failed in all_.failures]) == ("spoilt. spoilt too.", [(0, 19)] * 2)
    several = client.translation.predict(["One.", "Two. spoilt."])
    assert [(failed.item, failed.within) for failed in several.failures] == [(1, (5, 12))]
    with pytest.raises(demur.InvalidInput):
        several.check()


def test_explored_sentences_can_be_committed_and_labelled(client, translation):
    translations = client.translation.predict(["One. Two.", "Three."], purpose="explore")
    assert client.translation.commit(translations).units == 3
    assert client.translation.commit(translations[0]).units == 2
    sentence = translations[1].sentences[0]
    assert client.translation.commit(sentence).units == 1
    (unit,) = translation.commits[2].units
    assert (unit.epoch, unit.first, unit.count) == (0x7E, 2, 1)
    client.labels.submit(demur.Label(sentence.prediction_id, "Три."))
    assert translation.given[0].value.text == "Три."


def test_plain_values_are_json(client):
    translations = client.translation.predict(["One. spoilt.", "Two."], tokens="all")
    document = json.loads(json.dumps(translations.to_dict()))
    first, second = document["translations"]
    assert (first["text"], second["source"]) == (russian_text("One.") + " spoilt.", "Two.")
    assert {document["profile"], first["profile"], second["sentences"][0]["profile"]} == {PROFILE}
    assert first["failures"] == [{"item": 1, "within": [5, 12], "error": "no hypothesis ended"}]
    (sentence,) = second["sentences"]
    assert (sentence["deferred"], sentence["span"], sentence["remarks"][0]["code"]) == (True, [0, 4], "slang")
    assert sentence["hypotheses"][0]["scores"] == {"eoe": 0.25, "scr_pe": 0.5}
    assert sentence["hypotheses"][1]["tokens"]["starts"] == [0, 2, 5]


def test_what_it_shows_of_itself_is_readable(client):
    translations = client.translation.predict(["Hello, world. " + "Long " * 60, "Two."])
    assert repr(translations) == "<Translations: 2 texts, 3 sentences, 1 deferred, 1 shifted, model 'translation:1'>"
    assert repr(translations[1]) == "<Translation: 'Tво.', 1 sentence, 0 deferred, 0 shifted, model 'translation:1'>"
    first, long = translations[0].sentences
    shown = "<TranslatedSentence: 'Hello, world.', 'Hелло, ворлд.' with 0.75, answered, model 'translation:1'>"
    assert repr(first) == shown
    assert first.summary().endswith(f"model translation:1, profile {PROFILE}")
    assert repr(first.best) == "<Hypothesis: 'Hелло, ворлд.' with 0.75>"
    assert repr(first.best.tokens) == "<Tokens: 5>"
    assert len(repr(long)) < 200
    summary = translations.summary()
    for words in (
        "text 0: 2 sentences, 1 deferred, 1 shifted",
        "text 1: 1 sentence",
        "sentence 0: answered",
        "scr_pe 0.5 <= 1, policy p1",
        "unlike the training sentences: outside_training_range",
        "slang: many unknown pieces",
    ):
        assert words in summary
    assert max(map(len, summary.splitlines())) <= 120


def test_the_translation_of_the_readme_runs(target, translation, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text("Call me Ishmael. " * 2000)
    translation.early = 5
    readme.run("translation", "127.0.0.1:4002", target)
    output = capsys.readouterr().out
    assert "sentence 0: answered" in output
    assert "texts[0] is None, not text (str)" in output
    assert (tmp_path / "book.ru.txt").read_text() == russian_text("Call me Ishmael. ") * 2000
    assert len(translation.given) == 1
