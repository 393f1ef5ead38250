"""Sentences to be read: what is chosen, which words are in bold, and nothing that Markdown takes for its own."""

from dataclasses import replace

import numpy as np

from models.tasks.translation.data.corpus import Pair
from studies.translation_tables import examples
from studies.translation_tables.judge import ScoredLines
from tests.studies.translation_tables.made import kept

DOUBTS = ((0, 4, 0.1), (4, 7, 2.0), (7, 9, 0.3), (10, 12, 0.2), (16, 16, 5.0))
TEXT = "кто-нибудь здесь"


def test_a_word_is_as_doubtful_as_its_worst_token() -> None:
    assert examples.words(TEXT, DOUBTS) == [(0, 10, 2.0), (11, 16, 0.2)]


def test_doubtful_words_are_bold() -> None:
    assert examples.marked(TEXT, DOUBTS, 1.0) == "**кто-нибудь** здесь"
    assert examples.marked(TEXT, DOUBTS, 3.0) == TEXT


def test_text_stays_text() -> None:
    assert examples.plain("a | b*c\n<d> `e`") == r"a \| b\*c \<d\> \`e\`"


def test_the_most_and_the_least_doubted_of_short_whole_sentences() -> None:
    lines = kept()
    lines = replace(lines, pairs=(*lines.pairs[:6], Pair("made", "made:", "word " * 20, "слово"), *lines.pairs[7:]))
    judged = ScoredLines(lines)
    ranks = judged.ranks()
    usable = [row for row in range(40) if row % 5 and row != 6]
    most, least = examples.examples(judged, True), examples.examples(judged, False)
    assert [example.uncertainty for example in most] == sorted(ranks[usable], reverse=True)[: examples.SHOWN]
    assert [example.uncertainty for example in least] == sorted(ranks[usable])[: examples.SHOWN]
    assert most[0].translation == lines.texts[int(np.argmax(np.where(np.isin(np.arange(40), usable), ranks, 0)))][0]


def test_the_same_sentence_is_shown_once() -> None:
    lines = kept()
    lines = replace(lines, pairs=(Pair("made", "made:", "one and the same", "то же"),) * 40)
    assert len(examples.examples(ScoredLines(lines), True)) == 1


def test_the_page_tells_what_is_deferred_and_whose_the_sentences_are() -> None:
    judged = {name: ScoredLines(kept(seed=seed)) for seed, name in enumerate(examples.QUOTED)}
    text = examples.page(judged, 1.0, 1.0, ["models"])
    assert text.count("| deferred |") == text.count("| answered |") == 2 * examples.SHOWN
    assert "CC BY 2.0 FR" in text
    assert "CC0" in text
    assert text.count("**") > 2 * examples.SHOWN


def test_only_open_sets_are_quoted() -> None:
    assert set(examples.QUOTED) == {"tatoeba", "held-medical"}
