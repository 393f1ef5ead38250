"""Documents over a real socket: cut without loss, told sentence by sentence, whole at the end."""

import asyncio
import random
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import demur
from demur._translation.document import PIECE_CHARACTERS, PIECE_ENDS, pieces
from models.tasks.translation.text.segments import segments
from tests.clients.stand_in import PROFILE
from tests.clients.translation.service import LARGEST_SENTENCES, russian_text

LONGEST_SENTENCE = 60
"""Characters; far shorter than sentences that models refuse."""
PARAGRAPH = "Whales are just large. They swim, all of them! \U0001f433 Do they?  Yes.\n\n"


def book(paragraphs: int) -> str:
    return "".join(f"{number}. {PARAGRAPH}" for number in range(paragraphs))


def cut(text: str) -> list[str]:
    return [text[start:stop] for start, stop in pieces(text)]


rough = st.lists(
    st.sampled_from(
        ["a", "Word ", "longer words, ", ". ", "!", "\n", "\n\n", "  ", "\t", "Mr. X ", "end. ", "\U0001f600"]
    ).flatmap(lambda part: st.integers(1, 4000).map(lambda times: part * times)),
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(parts=rough)
@example(parts=["." * 200_000])
@example(parts=[" " * 200_000])
@example(parts=[".'" * 100_000])
@example(parts=["\r\n" * 100_000])
@example(parts=["a. B\n" * 20_000])
@example(parts=["A " * 50_000])
def test_a_document_is_cut_without_loss_and_within_limits(parts):
    text = "".join(parts)
    begun = time.process_time()
    chunks = cut(text)
    assert time.process_time() - begun < 10, "of the processor; 0.1 s are usual, and grow with the length"
    assert "".join(chunks) == text
    assert all(0 < len(part) <= PIECE_CHARACTERS for part in chunks)
    for piece in chunks[:4]:
        units = segments(piece, lambda sentence: len(sentence) <= LONGEST_SENTENCE)
        assert sum(unit.translated for unit in units) <= LARGEST_SENTENCES


def test_cuts_are_made_where_they_hurt_least():
    assert cut("") == []
    assert cut("One.") == ["One."]
    lines = book(2000)
    for piece in cut(lines):
        assert piece.endswith("\n\n")
        assert PIECE_CHARACTERS / 4 < len(piece) <= PIECE_CHARACTERS or lines.endswith(piece)
    assert all(piece.endswith("\n") for piece in cut("One long line of words. And\n" * 3000))
    prose = "Mr. Ishmael, it is said, called himself Ishmael. " * 2000
    assert all(piece.endswith("called himself Ishmael. ") for piece in cut(prose))
    assert all(piece.endswith("word ") for piece in cut("word " * 9000))
    assert [len(piece) for piece in cut("x" * 40_000)] == [PIECE_CHARACTERS, PIECE_CHARACTERS, 8000]
    short = cut("a\n" * 5000)
    assert max(piece.count("\n") for piece in short) <= PIECE_ENDS < LARGEST_SENTENCES


@pytest.mark.long
@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("early", [0, 3, 10_000])
def test_sentences_come_one_by_one_and_then_the_whole(client, translation, early, together):
    translation.early, translation.together, translation.window = early, together, 3
    text = book(500)
    assert len(cut(text)) > 3
    document = client.translation.document(text)
    sentences = list(document)
    whole = document.result()
    assert (whole.text, whole.source, whole.model) == (russian_text(text), text, "translation:1")
    assert {whole.profile, *(sentence.profile for sentence in sentences)} == {PROFILE}
    assert (whole.failures, len(translation.begins)) == ((), 1)
    assert (
        sorted(sentence.item for sentence in sentences)
        == [sentence.item for sentence in whole.sentences]
        == list(range(len(sentences)))
    )
    for streamed in sorted(sentences, key=lambda unit: unit.item):
        same = whole.sentences[streamed.item]
        assert streamed.source == text[slice(*streamed.source_span)] == same.source
        assert streamed.source_span == same.source_span
        assert streamed.prediction_id == same.prediction_id
        assert whole.text[slice(*same.span)] == same.best.text == streamed.best.text
        assert streamed.span in (None, same.span)
        assert streamed.best.scores["eoe"] == same.best.scores["eoe"] == 0.25
    assert any(sentence.span is None for sentence in sentences) == (early > 0)
    assert all(sentence.span is None for sentence in sentences) == (early == 10_000), (
        "none of them waited for its piece"
    )
    assert {whole.text[word.start : word.stop] for word in whole.doubtful(0.55)} == {"Wхалес", "ларге"}
    assert document.result().text == whole.text, "asked again"
    order = [sentence.item for sentence in sentences]
    assert (order == sorted(order)) == (early == 0), "told as they were done"


def test_the_first_sentence_does_not_wait_for_the_last(client, translation):
    translation.seconds, translation.window = 0.1, 1
    text = book(500)
    document = client.translation.document(text)
    next(document)
    assert len(translation.requests) <= 2 < len(cut(text))
    document.close()
    assert translation.ended.wait(60)


def test_the_result_alone_is_a_plain_call(client, translation):
    translation.early = 1
    text = book(100)
    assert client.translation.document(text).result().text == russian_text(text)
    with client.translation.document("One. Two.") as document:
        next(document)
        assert document.result().text == russian_text("One. Two."), "it waits for the others"
    assert list(document) == []


@pytest.mark.parametrize("text", ["", " \n\n", "\U0001f600" * 5])
def test_documents_without_sentences_stay_as_they_are(client, text):
    document = client.translation.document(text)
    assert list(document) == []
    whole = document.result()
    assert (whole.text, whole.answered, whole.model) == (text, True, "translation:1")
    assert whole.profile == PROFILE


def test_a_piece_that_is_refused_stands_as_it_came(client, translation):
    translation.early = 2
    first, last = book(150), book(150)
    middle = "This is refused. " + "x" * 9000 + "\n\n"
    text = first + middle + last
    bad = [place for place, piece in enumerate(cut(text)) if "refused" in piece]
    assert len(bad) == 1
    assert 0 < bad[0] < len(cut(text)) - 1
    start, stop = list(pieces(text))[bad[0]]
    document = client.translation.document(text)
    sentences = list(document)
    whole = document.result()
    assert whole.text == russian_text(text[:start]) + text[start:stop] + russian_text(text[stop:])
    (failure,) = whole.failures
    assert (failure.within, failure.error.code) == ((start, stop), "bad_text")
    assert len({sentence.item for sentence in sentences} | {failure.item}) == len(sentences) + 1
    for part in whole.sentences:
        assert whole.text[slice(*part.span)] == part.best.text
    assert "1 failed" in repr(whole)
    with pytest.raises(demur.InvalidInput, match="texts is refused"):
        whole.check()


def test_failures_are_counted_in_the_document(client):
    text = book(300) + "One. spoilt. Two.\n"
    whole = client.translation.document(text).result()
    (failure,) = whole.failures
    assert text[slice(*failure.within)] == "spoilt."
    assert failure.item == len(whole.sentences) - 1
    assert whole.text.endswith("spoilt. Tво.\n")


def test_a_document_of_which_nothing_can_be_translated_fails(client):
    for text in ("refused", "spoilt. spoilt."):
        document = client.translation.document(text)
        with pytest.raises(demur.InvalidInput):
            list(document)
        with pytest.raises(demur.InvalidInput):
            document.result()


def test_what_has_nothing_to_do_with_the_text_is_raised(client):
    text = book(300) + "overloaded"
    document = client.translation.document(text)
    with pytest.raises(demur.Busy) as caught:
        list(document)
    assert f"to {len(text)} of the document" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="not translated to its end"):
        document.result()


def test_a_document_that_was_closed_has_no_result(client, translation):
    document = client.translation.document("One. Two.")
    document.close()
    assert list(document) == []
    with pytest.raises(RuntimeError, match="it was closed"):
        document.result()
    assert translation.begins == []


@pytest.mark.parametrize("text", [None, b"bytes", ["One."], "half \udc00"])
def test_what_is_no_document_is_refused_at_once(client, translation, text):
    with pytest.raises(demur.InvalidInput) as caught:
        client.translation.document(text)
    assert caught.value.field == "text"
    assert translation.begins == []


def test_a_sentence_that_is_told_twice_is_the_services_failure(client, translation):
    right = translation._answers

    def wrong(chunks, begin, ahead):
        for frame in right(chunks, begin, ahead):
            yield frame
            if frame.WhichOneof("frame") == "sentence":
                yield frame

    translation.early, translation._answers = 1, wrong
    document = client.translation.document("One.")
    assert next(document).source == "One."
    with pytest.raises(demur.ServiceFailure, match="sentence 0 twice"):
        next(document)


def test_the_window_holds(client, translation):
    translation.window, translation.seconds = 8, 0.002
    client.translation.document(book(1000), window=1).result()
    assert translation.most_unanswered == 1


async def test_asynchronously_it_is_the_same(client, translation, target):
    translation.early = random.Random(0).randrange(1, 9)
    text = book(200)
    async with demur.aconnect(target, timeout=10) as other:
        document = other.translation.document(text)
        sentences = [sentence async for sentence in document]
        whole = await document.result()
        translation.answered = 0
        twin = client.translation.document(text)
        assert [sentence.source for sentence in twin] == [sentence.source for sentence in sentences]
        assert twin.result().text == whole.text == russian_text(text)
        assert (await other.translation.document("One.").result()).text == russian_text("One.")
        async with other.translation.document(book(2000)) as endless:
            await anext(endless)
        await asyncio.to_thread(translation.ended.wait, 5)
        assert translation.ended.is_set()
        with pytest.raises(RuntimeError):
            await endless.result()
        with pytest.raises(demur.InvalidInput):
            other.translation.document(7)
        with pytest.raises(demur.InvalidInput):
            await other.translation.document("refused").result()
