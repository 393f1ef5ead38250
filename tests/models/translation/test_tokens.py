"""Sides of the vocabulary: what a graph is fed is inside its tables, and what it says is whole."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.translation.data.examples import examples
from models.tasks.translation.text.pieces import SPACE
from models.tasks.translation.text.tokens import FIRST_MARK, SPECIAL, Tokens, trimmed
from models.tasks.translation.text.vocabulary import END, PAD, START, UNKNOWN
from tests.models.translation import made


@cache
def tokens() -> Tokens:
    pieces = made.pieces()
    encoded = examples(made.corpus(200), pieces, 64)
    return trimmed(pieces, encoded.source, encoded.target)


def spelled(sentence: str) -> str:
    """What the tokens of a sentence say."""
    encoded = tokens().sentence(sentence)
    pieces = [tokens().pieces.text(tokens().source[token]) for token in encoded.tokens[:-1]]
    text = "".join(pieces).replace(SPACE, " ").strip()
    for number, literal in enumerate(encoded.literals):
        text = text.replace(tokens().pieces.text(FIRST_MARK + number), f"[{literal}]")
    return text


def test_sides_have_what_they_need() -> None:
    tokenisation = tokens()
    assert tokenisation.source[:SPECIAL] == tokenisation.target[:SPECIAL] == tuple(range(SPECIAL))
    for side in (tokenisation.source, tokenisation.target):
        assert list(side) == sorted(set(side))
        assert len(side) < len(tokenisation.pieces)
    letters = {tokenisation.pieces.text(piece) for piece in tokenisation.source}
    assert {*"azAZ.!", SPACE} <= letters
    assert not {*"аяё"} & letters
    assert {*"azаяё"} <= {tokenisation.pieces.text(piece) for piece in tokenisation.target}


@pytest.mark.parametrize(
    ("sentence", "spelling"),
    [
        ("The dog sees a house.", "The dog sees a house."),
        ("The naïve café, Übung in Łódź", "The naive cafe, Ubung in Lodz"),
        ("cafe\u0301 x\u0323", "cafe x"),
        ("Say «Привет, мир» now", "Say «[Привет], [мир]» now"),
        ("за\u0301мок й", "[за\u0301мок] [й]"),
        ("日本 at 7:30 🙂!", "[日本] at [7:30] [🙂]!"),
        ("Zürich 🇨🇭 \u202eup\u202c", "Zurich [🇨🇭] up"),
        ("a \u2581 b", "a [\u2581] b"),
        ("<unk></s>", "[<unk>][</s>]"),
        ("<p>Q&amp;A < B", "[<p>]Q[&amp;]A < B"),
        ("", ""),
    ],
)
def test_sentences_are_read(sentence: str, spelling: str) -> None:
    assert spelled(sentence) == spelling


@given(st.text(st.one_of(st.characters(), st.sampled_from("abé\u0301й \ue000\u2581."))))
def test_no_sentence_leaves_the_tables(sentence: str) -> None:
    encoded = tokens().sentence(sentence)
    assert encoded.tokens[-1] == END
    assert all(0 <= token < len(tokens().source) for token in encoded.tokens)
    assert not {START, PAD, END} & set(encoded.tokens[:-1])
    assert [mark for mark in encoded.tokens if FIRST_MARK <= mark < SPECIAL] == [
        FIRST_MARK + number for number in range(len(encoded.literals))
    ]
    if not encoded.left:
        assert UNKNOWN not in encoded.tokens


def test_a_sentence_of_too_many_literals_says_so() -> None:
    assert tokens().sentence("1 2 3 4 5 6 7 8 9 10 11 12").left == 0
    assert tokens().sentence("1 2 3 4 5 6 7 8 9 10 11 12 13").left == 1


def said(text: str) -> list[int]:
    """Tokens of the target side."""
    numbers = {piece: number for number, piece in enumerate(tokens().target)}
    return [numbers[piece] for piece in tokens().pieces.encode(text)]


def test_hypotheses_are_said_with_their_literals() -> None:
    hypothesis = said("Собака \ue001 видит \ue000.")
    parts = tokens().surface(np.array(hypothesis), ("7", "🙂 "))
    assert len(parts) == len(hypothesis)
    assert "".join(parts) == "Собака 🙂  видит 7."


def test_literals_that_were_not_said_come_last() -> None:
    assert "".join(tokens().surface(said("Собака \ue001"), ("7", "x_y", "9"))) == "Собака x_y 7 9"
    assert "".join(tokens().surface([END], ("7",))) == "7"
    assert tokens().surface([END], ()) == [""]
    assert tokens().surface([], ("7",)) == []


def test_surplus_marks_vanish() -> None:
    assert "".join(tokens().surface(said("Она \ue003 видит"), ())).split() == ["Она", "видит"]
