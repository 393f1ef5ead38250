"""Texts in sentences: nothing is lost, nothing is cut that should not be, and work grows with the length alone."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.translation.text.segments import Segment, segments

SIGNS = ["\r\n", *"Ab.!? \r\n\t\x00\x1f\u200f\u202e\u2028\ufe0f\u200d\u20e3\x85\ufeffж\u0301-«"]
PARTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.sampled_from([*SIGNS, "  "]),
        st.sampled_from(
            ["Mr. ", "A b. ", "C?! ", "\r\n", "- ", "1) ", " 🙂", "❤️ ", "1️⃣", ". ", "\u200f", "«Да». ", "\x00"]
        ),
    )
).map("".join)


def short(most: int) -> Callable[[str], bool]:
    return lambda sentence: len(sentence) <= most


def sentences(text: str, most: int = 1000) -> list[str]:
    return [part.text for part in segments(text, short(most)) if part.translated]


@given(PARTS, st.integers(1, 30))
def test_nothing_is_lost(text: str, most: int) -> None:
    parts = segments(text, short(most))
    assert "".join(part.text for part in parts) == text
    for part in parts:
        assert part.text
        if part.translated:
            assert len(part.text) <= max(most, 1) or len(part.text) == 1
            assert any(character.isalpha() for character in part.text)
            assert part.text == part.text.strip()
    for first, other in pairwise(parts):
        assert first.translated or other.translated  # what lies between is one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there. How are you? Fine!", ["Hello there.", "How are you?", "Fine!"]),
        ("Mr. Smith met Dr. J. R. Brown at 5 p.m. in St. Louis.", None),
        ("He left. (Nobody saw.) «Then» came.", ["He left.", "(Nobody saw.)", "«Then» came."]),
        ('He said "No." And left.', ['He said "No."', "And left."]),
        ("It costs 3.5 dollars. see below. e.g. This.", None),
        ("Wait... What?! 2 came… No.", ["Wait...", "What?!", "2 came…", "No."]),
        ("First line\nsecond line\r\nthird\rfourth", ["First line", "second line", "third", "fourth"]),
        ("One\ttwo  three\u2028four", ["One", "two", "three", "four"]),
        ("- A bullet.\n* Another one\n12) A number\n> A quote", ["A bullet.", "Another one", "A number", "A quote"]),
        ("🙂 Good day! 🙂🙂", ["Good day!"]),
        ("I ❤️ you ❤️", ["I ❤️ you"]),
        ("Press 1️⃣", ["Press 1️⃣"]),
        ("Symbol ©️ 👍🏽", ["Symbol ©️"]),
        ("123 456.\n*** --- ***\n🙂", []),
        ("", []),
        (" \n\t ", []),
        ("\u200fمرحبا. Hi.", ["\u200fمرحبا.", "Hi."]),
    ],
)
def test_where_sentences_end(text: str, expected: list[str] | None) -> None:
    assert sentences(text) == ([text] if expected is None else expected)


def test_what_lies_between_is_kept_as_it_is() -> None:
    assert segments("- One.  Two\r\n\r\n🙂", short(99)) == [
        Segment("- ", False),
        Segment("One.", True),
        Segment("  ", False),
        Segment("Two", True),
        Segment("\r\n\r\n🙂", False),
    ]


def test_long_sentences_are_cut_where_it_hurts_least() -> None:
    text = "one two three; four five, six seven eight nine ten"
    assert sentences(text, 40) == ["one two three;", "four five, six seven eight nine ten"]
    assert sentences(text.replace(";", ""), 40)[0].endswith("five,")
    assert sentences("aaaa bbbb cccc dddd", 10) == ["aaaa bbbb", "cccc dddd"]
    assert sentences("a" * 25, 10) == ["a" * 6, "a" * 6, "a" * 6, "a" * 7]


def test_a_letter_that_never_fits_is_told_all_the_same() -> None:
    assert sentences("abc", 0) == ["a", "b", "c"]


@pytest.mark.timeout(100)
@pytest.mark.parametrize(
    ("unit", "length"),
    [
        *((unit, 1_000_000) for unit in ("a", ".", "\n")),
        *(
            (unit, 100_000)
            for unit in (
                " ",
                "a b. C ",
                "A. ",
                ",a",
                "🙂",
                "\t ",
                "a\ufe0f",
                "''",
                ". ''",
                "Mr. ",
                "( ",
                "1) ",
                "—",
                "\r",
            )
        ),
    ],
)
def test_long_texts_ask_for_little(unit: str, length: int) -> None:
    """What ``fits`` is shown is no more than every character once for every time that a sentence is halved."""
    text = unit * (length // len(unit))
    calls = shown = 0

    def fits(sentence: str) -> bool:
        nonlocal calls, shown
        calls, shown = calls + 1, shown + len(sentence)
        return len(sentence) <= 120

    parts = segments(text, fits)
    assert "".join(part.text for part in parts) == text
    assert shown <= 16 * len(text)
    assert calls <= len(text)
    assert all(len(part.text) <= 120 for part in parts if part.translated)
