"""What is copied: it is found, marked, and comes back letter by letter, in time that grows with the text only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.translation.text.literals import MARKS, MOST, Marked, mark, mark_pair, restore, spans

TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("ab1_-./:@#$()\\+é\u0301🙂\ufe0f\u20e3\u200d\U0001f1fa\U0001f3fd" + MARKS[0] + MARKS[11]),
    ),
    max_size=60,
)


def found(sentence: str) -> list[str]:
    return [sentence[start:stop] for start, stop in spans(sentence)]


@pytest.mark.parametrize(
    ("sentence", "literals"),
    [
        ("In 2019, 1,234.5 of 12:30 on 3/4.", ["2019", "1,234.5", "12:30", "3/4"]),
        ("See https://a.b/c?d=1&e=(2), or www.x.org/y.", ["https://a.b/c?d=1&e=(2", "www.x.org/y"]),
        ("It is at http://x.y/z.", ["http://x.y/z"]),
        ("Write to john.doe+spam@mail.example.co.uk!", ["john.doe+spam@mail.example.co.uk"]),
        ("@some_one, see #that-tag in r/place and /u/me", ["@some_one", "#that-tag", "r/place", "/u/me"]),
        ("Call mysqli_real_escape_string() or $row->name", ["mysqli_real_escape_string()", "$row->name"]),
        (
            "Class::method() of name\\space, camelCase, iPhone",
            ["Class::method()", "name\\space", "camelCase", "iPhone"],
        ),
        ("Add --with-apxs2 or -v to php.ini in /usr/local/lib", ["--with-apxs2", "-v", "php.ini", "/usr/local/lib"]),
        ("main() of a.b.py; __init__ too", ["main()", "a.b.py", "__init__"]),
        ("Family 👨‍👩‍👧‍👦, flags 🇷🇺🇺🇸, thumbs 👍🏽 and ❤️", ["👨‍👩‍👧‍👦", "🇷🇺🇺🇸", "👍🏽", "❤️"]),
        ("Keys 1️⃣ #️⃣ and ©️, ✅!", ["1️⃣", "#️⃣", "©️", "✅"]),
        (f"Marks {MARKS[0]}{MARKS[3]} and \uf123", [f"{MARKS[0]}{MARKS[3]}", "\uf123"]),
        ("Nothing here, well-known e.g. that and/or this. It's (so) simple - or not?", []),
    ],
)
def test_what_is_copied_is_found(sentence: str, literals: list[str]) -> None:
    assert found(sentence) == literals


def test_a_flag_made_of_tags_is_one_literal() -> None:
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert found(f"England {flag}!") == [flag]


def test_literals_become_marks_and_come_back() -> None:
    marked = mark("From 1 to 2 at a_b.")
    assert marked == Marked(f"From {MARKS[0]} to {MARKS[1]} at {MARKS[2]}.", ("1", "2", "a_b"))
    assert restore(["От ", f"{MARKS[1]} до", f" {MARKS[0]}", MARKS[7]], marked.literals) == ["От ", "2 до", " 1", ""]


def test_literals_that_hold_marks_are_not_replaced_again() -> None:
    sentence = f"1 {MARKS[0]}"
    marked = mark(sentence)
    assert restore([marked.text], marked.literals) == [sentence]


@given(TEXTS)
def test_what_is_marked_and_restored_is_the_sentence(sentence: str) -> None:
    for knows in (None, lambda character: character.isascii(), lambda _: False):
        marked = mark(sentence, knows)
        assert len(marked.literals) <= MOST
        assert [character for character in marked.text if character in MARKS] == list(MARKS[: len(marked.literals)])
        if not marked.left:
            assert restore([marked.text], marked.literals) == [sentence]


@given(TEXTS)
def test_literals_lie_in_order_and_apart(sentence: str) -> None:
    for knows in (None, lambda character: character.isascii()):
        end = 0
        for start, stop in spans(sentence, knows):
            assert end <= start < stop <= len(sentence)
            assert not any(character.isspace() for character in sentence[start:stop])
            end = stop


def test_more_than_twelve_are_told_and_leave_no_mark_behind() -> None:
    sentence = " ".join(map(str, range(15))) + f" {MARKS[2]}."
    marked = mark(sentence)
    assert marked.literals == tuple(map(str, range(12)))
    assert marked.left == 4
    assert marked.text == " ".join(MARKS) + " 12 13 14 ."


def test_runs_of_unknown_characters_are_literals() -> None:
    marked = mark("Say 日本 (にほん) or ĳ2", lambda character: character.isascii())
    assert marked.literals == ("日本", "にほん", "ĳ", "2")


def test_what_joins_itself_to_a_character_stays_with_it() -> None:
    def knows(character: str) -> bool:
        return character.isascii() or character in "\u200d\u200c"

    assert mark("नमस्ते नमी\u200cखवा", knows).literals == ("नमस्ते", "नमी\u200cखवा")
    assert mark("cafe\u0301 e\u0301t", knows).literals == ()  # accents on known letters
    assert mark("7\u0301", knows).literals == ("7", "\u0301")


def test_pairs_are_marked_alike_whatever_their_order() -> None:
    assert mark_pair("In 2019, 3.5 of 7", "7 из 3,5 в 2019") == (
        f"In {MARKS[0]}, {MARKS[1]} of {MARKS[2]}",
        f"{MARKS[2]} из {MARKS[1]} в {MARKS[0]}",
    )
    assert mark_pair("1 and 1", "1 и 1") == (f"{MARKS[0]} and {MARKS[1]}", f"{MARKS[0]} и {MARKS[1]}")
    assert mark_pair("None", "Нет") == ("None", "Нет")


@pytest.mark.parametrize(
    ("source", "target"),
    [("1", ""), ("", "1"), ("1 2", "1 3"), ("1 1", "1 2"), ("1 2", "1"), (*2 * (" ".join(map(str, range(13))),),)],
)
def test_pairs_that_part_in_their_literals_are_none(source: str, target: str) -> None:
    assert mark_pair(source, target) is None


@given(TEXTS)
def test_a_sentence_is_a_pair_with_itself(sentence: str) -> None:
    pair = mark_pair(sentence, sentence)
    if pair is None:
        assert len(spans(sentence)) > MOST
    else:
        assert pair[0] == mark(sentence).text
        assert sorted(pair[1]) == sorted(pair[0])


UNITS = (
    "a a. a_ _ - -a -- .- a@ @ a@a. a:: a-> $ $a / // /a /a/ () a() ( A aA Aa a.php a1 é éa 1 1. 1, 1: www. # #a . \\ "
    "a\\ -.-. ._ + a+ r/ /r/ -a= http:// http://. ftp://' " + "🙂 🇺 \ufe0f 1\ufe0f \u20e3 \ue000 e\u0301"
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS.split())
def test_hostile_texts_take_no_longer_than_others(unit: str) -> None:
    """50 000 characters of anything: what grows with the square of them takes minutes."""
    for end in ("", "@"):
        sentence = unit * (50_000 // len(unit)) + end
        assert all(start < stop for start, stop in spans(sentence))
