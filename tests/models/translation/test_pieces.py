"""Plain text, and pieces that say again what they were made of."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.translation.text.literals import MARKS
from models.tasks.translation.text.pieces import Pieces, learn, plain, simple
from models.tasks.translation.text.vocabulary import END, PAD, START, UNKNOWN
from tests.models.translation import made

ANY = st.text(
    st.one_of(st.characters(), st.sampled_from("--\u200b\u00ad\u0301\u0308\u2033\u00b4\u00a8\u2011\ufe63\r\n\t\x07"))
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u201cSo\u201d \u2018it\u2019s\u2019 \u201ewahr\u201f", '"So" \'it\'s\' "wahr"'),
        ("«Так» \u2013 сказал --- он", "«Так» — сказал —- он"),
        ("a\u00a0b\u3000c \t\r\n d  ", "a b c d"),
        ("non\u00adbreaking\u200b and \u202eright\u202c to \u200fleft\x07", "nonbreaking and right to left"),
        ("ﬁne ½ … ＡＢ", "fine 1⁄2 ... AB"),
        ("cafe\u0301 й ё Й", "café й ё Й"),
        (f"{MARKS[3]}\ue0ff", MARKS[3]),
        ("well\u2011known \u22125", "well-known -5"),
        ("-\u200b-", "—"),
        ("\ud800a", "a"),
    ],
)
def test_plain_text(text: str, expected: str) -> None:
    assert plain(text) == expected


@given(ANY)
def test_plain_text_is_plain(text: str) -> None:
    once = plain(text)
    assert plain(once) == once
    assert unicodedata.is_normalized("NFKC", once)
    assert all(
        character in MARKS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
        for character in once
    )
    assert "  " not in once
    assert once == once.strip()


def test_accents_fall_off_what_is_not_known() -> None:
    def knows(character: str) -> bool:
        return character in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ 'äйёие"

    assert simple("naïve café Übung Łódź Ærø ß", knows) == "naive cafe Ubung Lodz AEro ss"
    assert simple("ä é", knows) == "ä e"  # a letter that is known stays
    assert simple("йёи\u0301", knows) == "йёи"
    assert simple("日ї", knows) == "日ї"
    assert simple("x\u0300", knows) == "x"


def test_numbers_of_special_tokens_are_fairseqs() -> None:
    pieces = made.pieces()
    assert len(pieces) == 320
    assert [pieces.text(token) for token in (START, PAD, END, UNKNOWN)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert [pieces.text(token) for token in range(4, 16)] == list(MARKS)


def test_learning_depends_on_the_sentences_alone() -> None:
    sentences = [side for pair in made.corpus(60).pairs for side in (pair.english, pair.russian)]
    assert learn(sentences, 200).content == learn(list(sentences), 200).content
    with pytest.raises(ValueError, match="5000 pieces cannot be learnt"):
        learn(sentences, 5000)


LETTERS = "abcXYZабвЯё,.!?-'\"()«»— " + MARKS[0] + MARKS[11]


@given(st.text(st.sampled_from(LETTERS)).map(plain))
def test_pieces_say_what_they_were_made_of(text: str) -> None:
    pieces = made.pieces()
    tokens = pieces.encode(text)
    assert tokens[-1] == END
    assert UNKNOWN not in tokens
    assert "".join(pieces.surface(tokens)).strip() == text
    assert len(pieces.surface(tokens)) == len(tokens)


def test_marks_are_tokens_of_their_own_inside_words() -> None:
    tokens = made.pieces().encode(f"a{MARKS[0]}b{MARKS[11]}{MARKS[1]}")
    assert [token for token in tokens if 4 <= token < 16] == [4, 15, 5]


def test_names_of_special_tokens_in_a_text_are_text() -> None:
    pieces = made.pieces()
    tokens = pieces.encode("</s> <s> <pad> <unk>")
    assert not {START, PAD, END, UNKNOWN} & set(tokens[:-1])
    assert "".join(pieces.surface(tokens)).strip() == "</s> <s> <pad> <unk>"


def test_what_is_not_known_is_marked() -> None:
    pieces = made.pieces()
    marked = pieces.marked("The naïve dog 日本 sees  7 🙂\u200b houses\u2026")
    assert marked.text == f"The naive dog {MARKS[0]} sees {MARKS[1]} {MARKS[2]} houses..."
    assert marked.literals == ("日本", "7", "🙂")
    assert not pieces.knows("日")
    assert pieces.knows("é")
    assert pieces.knows("\u200b")  # it vanishes
    assert not pieces.knows("\u2581")  # it would be taken for a space


def test_pieces_come_back_from_their_bytes() -> None:
    again = Pieces(made.pieces().content)
    assert again.encode("The dog sees a house.") == made.pieces().encode("The dog sees a house.")
