"""The released tokenisation: text to numbers, numbers to the official text and to readable parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.artefact import ArtefactError
from models.tasks.translation.text import moses, released_tokens
from models.tasks.translation.text.released_tokens import ReleasedTokens
from models.tasks.translation.text.vocabulary import END, PAD, START, UNKNOWN
from tests.models.translation.fairseq_files import ENGLISH, RUSSIAN, learnt, sizes, texts

FILES = texts()
TOKENS = released_tokens.of_texts(FILES, sizes(FILES))


def numbers(text: str) -> list[int]:
    """Tokens of a Russian sentence, as a decoder says it."""
    pieces = TOKENS.merges.pieces(moses.tokenised(moses.prepared(text, "ru"), "ru").split())
    return [*map(TOKENS.target.number, pieces), END]


def test_a_sentence_is_what_the_recipe_makes_of_it() -> None:
    sentence = TOKENS.sentence("The museum doesn't re-open.")
    pieces = [TOKENS.source.symbols[token] for token in sentence.tokens]
    assert "".join(f"{piece} " for piece in pieces).replace("@@ ", "") == "The museum doesn &apos;t re @-@ open . </s> "
    assert sentence.literals == ()
    assert sentence.tokens[-1] == END
    assert TOKENS.sentence("").tokens == (END,)


def test_what_the_dictionary_does_not_have_is_unknown() -> None:
    assert TOKENS.sentence("中").tokens == (UNKNOWN, END)


@given(st.text(st.characters()))
def test_any_text_is_a_sentence(text: str) -> None:
    tokens = TOKENS.sentence(text).tokens
    assert tokens[-1] == END
    assert END not in tokens[:-1]
    assert all(0 <= token < len(TOKENS.source) for token in tokens)


def test_tokens_that_are_given_are_taken_as_they_are() -> None:
    assert TOKENS.encoded("The museum &quot; .") == TOKENS.encoded(moses.tokenised('The museum".'))
    assert TOKENS.encoded(moses.tokenised(moses.newstest("“The"))).tokens[0] == UNKNOWN


@pytest.mark.parametrize("text", RUSSIAN)
def test_parts_are_the_readable_translation_and_the_official_one_stays_tokenised(text: str) -> None:
    tokens = numbers(text)
    parts = TOKENS.surface(np.array(tokens), ())
    assert len(parts) == len(tokens)
    assert "".join(parts) == text.replace("«", '"').replace("»", '"')
    assert parts[-1] == ""
    assert TOKENS.official(tokens) == moses.tokenised(moses.prepared(text, "ru"), "ru")
    for token, part in zip(tokens, parts, strict=True):
        symbol = TOKENS.target.symbols[token].removesuffix("@@")
        if symbol.isalpha():
            assert part.removeprefix(" ") == symbol


def test_an_entity_in_several_pieces_is_said_once() -> None:
    letters = TOKENS.target
    target = released_tokens.Dictionary((*letters.symbols[:4], "&qu@@", "ot@@", ";", "да", "сло@@", "@-@", "во@@"))
    tokenisation = ReleasedTokens(TOKENS.merges, TOKENS.source, target)
    tokens = [4, 5, 6, 7, 4, 5, 6, 8, 10, 9, 7, START, PAD, END]
    assert tokenisation.official(tokens) == "&quot; да &quot; слово@-@ да"
    tokens = [4, 5, 6, 7, 4, 5, 6, 8, 7, 9, 8, 10, UNKNOWN, 8]
    assert tokenisation.official(tokens) == "&quot; да &quot; слода @-@ слово<unk> сло"
    parts = tokenisation.surface(tokens)
    assert "".join(parts) == '"да" слода-слово<unk> сло'
    assert parts == ['"', "", "", "да", '"', "", "", " сло", "да", "-", "сло", "во", "<unk>", " сло"]


@given(st.lists(st.integers(0, len(TOKENS.target) - 1), max_size=30))
def test_parts_of_whatever_is_said_are_the_text_that_people_get(tokens: list[int]) -> None:
    official = TOKENS.official(tokens)
    parts = TOKENS.surface(tokens, ())
    assert len(parts) == len(tokens)
    assert "".join(parts) == moses.readable(official)[0]
    assert official == official.strip()
    pieces = [TOKENS.target.symbols[token] for token in tokens if token not in (START, PAD, END)]
    assert official == (" ".join(pieces) + " ").replace("@@ ", "").rstrip()


@pytest.mark.parametrize("name", FILES)
def test_a_text_that_is_missing_is_named(name: str) -> None:
    files = {key: content for key, content in FILES.items() if key != name}
    with pytest.raises(ArtefactError, match=f"{name} is missing"):
        released_tokens.of_texts(files, sizes(FILES))


def test_merges_of_other_data_are_refused() -> None:
    files = {**FILES, "code": b"#version: 0.2\nq u\nqu x</w>\n"}
    with pytest.raises(ArtefactError, match=r"code does not belong to dict.en.txt: \d+ of its \d+ tokens cannot come"):
        released_tokens.of_texts(files, sizes(FILES))


def test_a_few_tokens_that_merges_cannot_make_are_borne() -> None:
    rows = FILES["dict.en.txt"].replace(b"madeupword0000 0", b"oddtoken@@ 0")
    assert rows != FILES["dict.en.txt"]
    released_tokens.of_texts({**FILES, "dict.en.txt": rows}, sizes(FILES))


def test_a_dictionary_of_other_embeddings_is_refused() -> None:
    with pytest.raises(ArtefactError, match=r"dict.ru.txt: \d+ tokens .* embeddings of 800"):
        released_tokens.of_texts(FILES, sizes(FILES, target=800))


def test_fixtures_are_what_they_claim() -> None:
    assert learnt().startswith(b"#version: 0.2\n")
    assert all(UNKNOWN not in TOKENS.sentence(text).tokens for text in ENGLISH)
    assert all(UNKNOWN not in numbers(text) for text in RUSSIAN)
