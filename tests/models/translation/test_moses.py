"""Moses' scripts: vectors that tokenizer.perl and normalize-punctuation.perl give, and the way back."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.artefact import ArtefactError
from models.tasks.translation.text import moses

ENGLISH = {
    "I don't know what's \"that\" [1] <b>.": (
        "I don &apos;t know what &apos;s &quot; that &quot; &#91; 1 &#93; &lt; b &gt; ."
    ),
    "Well-known state-of-the-art models, e.g. ours, cost $5,300.50.": (
        "Well @-@ known state @-@ of @-@ the @-@ art models , e.g. ours , cost $ 5,300.50 ."
    ),
    "Mr. Smith lives in the U.S.": "Mr. Smith lives in the U.S .",
    "No. 5 is here. No. It is 5 a.m. etc.": "No. 5 is here . No . It is 5 a.m. etc .",
    "See https://example.com/a_b?c=d&e=f or mail me@x.org": (
        "See https : / / example.com / a _ b ? c = d &amp; e = f or mail me @ x.org"
    ),
    "The 1990's Jones' house: it's 50 % off (really) !": (
        "The 1990 &apos;s Jones &apos; house : it &apos;s 50 % off ( really ) !"
    ),
    "“Quoted,” she said… ‘single’ — and the dog’s | pipe": (
        "&quot; Quoted , &quot; she said ... &apos; single &quot; - and the dog &apos;s &#124; pipe"
    ),
    "r/place u/user 😀 #tag @name": "r / place u / user 😀 # tag @ name",
    "a... b.. c ...": "a ... b .. c ...",
    "3,5 and 3 ,5 and a,b 10,": "3,5 and 3 , 5 and a , b 10 ,",
    "'tis rock 'n' roll''": "&apos;tis rock &apos; n &apos; roll &quot;",
    "中文 mixed中-b": "中文 mixed中 @-@ b",
    "a\u200bb\tc\u2028d": "a b c d",
    "": "",
    ".": ".",
}
RUSSIAN = {
    "Он сказал: «Привет, мир».": "Он сказал : &quot; Привет , мир &quot; .",
    "Он сказал: «Привет, мир.»": "Он сказал : &quot; Привет , мир &quot; .",
    "В 1970-х гг. кто-то — т. е. А. С. Пушкин — жил.": ("В 1970 @-@ х гг. кто @-@ то - т. е. А. С. Пушкин - жил ."),
}


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_tokenised_as_by_the_scripts(text: str) -> None:
    assert moses.tokenised(moses.prepared(text)) == ENGLISH[text]


@pytest.mark.parametrize("text", RUSSIAN)
def test_russian_is_tokenised_as_by_the_scripts(text: str) -> None:
    assert moses.tokenised(moses.prepared(text, "ru"), "ru") == RUSSIAN[text]


def test_newstest_keeps_its_punctuation_but_for_one_quote() -> None:
    assert moses.tokenised(moses.newstest("“It’s” — so")) == "“ It &apos;s ” — so"


def test_readable_text_has_no_traces_of_tokens() -> None:
    text = "Он сказал : &quot; Привет , мир @-@ дом &quot; ( 5 % ) , &#91; x &#93; &amp; &lt; y &gt; ..."
    readable_text, places = moses.readable(text)
    assert readable_text == 'Он сказал: "Привет, мир-дом" (5%), [x] & < y >...'
    assert places == sorted(places)
    assert {text[place] for character, place in zip(readable_text, places, strict=True) if character == '"'} == {"&"}
    assert [text[place] for character, place in zip(readable_text, places, strict=True) if character == "-"] == ["@"]


@pytest.mark.parametrize(
    "text",
    [
        'Это будет концепция похода".',
        'Это будет концепция похода"',
        'из "... Огайо"',
        "в среду в 15:00, счёт 4:1",
        "марки L'Oreal и Burt's Bees, Мартин О'Нил",
    ],
)
def test_spaces_that_the_detokeniser_leaves_are_taken_out(text: str) -> None:
    readable_text, places = moses.readable(moses.tokenised(text, moses.RUSSIAN))
    assert readable_text == text
    assert len(places) == len(readable_text)


def test_an_escaped_ampersand_does_not_make_another_escape() -> None:
    assert moses.readable("&amp;lt; &amp;amp;")[0] == "&lt; &amp;"


WORDS = st.lists(
    st.sampled_from(["@-@", "&quot;", "&apos;", "&amp;", "lt;", "&amp;lt;", "слово", ".", "(", "$", "中", "a"])
)


@given(WORDS)
def test_every_character_of_the_readable_text_has_its_place(words: list[str]) -> None:
    text = " ".join(words)
    readable_text, places = moses.readable(text)
    assert len(readable_text) == len(places)
    assert places == sorted(places)
    letters = [
        (character, place)
        for character, place in zip(readable_text, places, strict=True)
        if character.isalnum() and text[place] != "&"
    ]
    assert all(text[place] == letter for letter, place in letters)
    assert "".join(readable_text.split()) == "".join(
        moses.readable(word)[0] for word in f" {text} ".replace(" @-@ ", "-").split()
    )


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(ArtefactError, match=r"need sacremoses: pip install 'demur\[released\]'"):
        moses.library("sacremoses")
