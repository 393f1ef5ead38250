"""The rules by which the recipe keeps training pairs."""

import pytest

from models.tasks.translation.data.cleaning import cleaned, fault, for_validation, likeness, short


@pytest.mark.parametrize(
    ("english", "russian", "reason"),
    [
        ("a dog", "собака", None),
        (" ".join(["a"] * 1024), "б", None),
        (" ".join(["a"] * 1025), "б", "1025 tokens; at most 1024"),
        ("a", " ".join(["б"] * 1025), "1025 tokens"),
        ("a \ufffd", "б", "letters were lost"),
        ("", "б", "an empty side"),
        ("a", "", "an empty side"),
        ("iPhone x", "iPhone у", r"0.333 of the words are on both sides; less than 0.05"),
        ("5 . 10", "5 . 10", "two equal sides"),
        ("5 . 10 !", "5 . 10", None),
        ("a b c d e f g h i j iPhone", "а б в г д е ж з и iPhone", r"0.05 of the words"),
        ("a b c d e f g h i j iPhone", "а б в г д е ж з и к iPhone", None),
    ],
)
def test_faults_are_said_in_words(english: str, russian: str, reason: str | None) -> None:
    message = fault(english, russian)
    assert message is None if reason is None else (message is not None and message.startswith(reason))


def test_likeness_counts_words_as_often_as_they_come() -> None:
    assert likeness(["a", "a", "b"], ["a", "a", "a"]) == pytest.approx(2 / 4)
    assert likeness(["5", "...", "a1"], ["5", "...", "a1"]) == 1
    assert likeness(["5"], ["5"]) == 0


def test_pairs_come_once() -> None:
    lines = [("a", "б"), ("a", "в"), ("5", "5"), ("A", "б"), ("c", "б")]
    pairs = cleaned(lines, lambda pair: (pair[0].lower(), pair[1]))
    assert list(pairs) == [("a", "б"), ("a", "в"), ("c", "б")]


def test_every_hundredth_pair_is_for_validation() -> None:
    assert [number for number in range(1, 251) if for_validation(number)] == [100, 200]


@pytest.mark.parametrize(
    ("ours", "theirs", "kept"),
    [
        *((1, 1, True), (2, 3, True), (3, 2, True), (3, 5, False), (5, 3, False), (0, 0, False), (0, 1, False)),
        *((250, 250, True), (251, 250, False), (250, 251, False), (166, 250, False), (167, 250, True)),
    ],
)
def test_long_and_uneven_pairs_are_left_out(ours: int, theirs: int, kept: bool) -> None:
    assert short(["a"] * ours, ["б"] * theirs) is kept
