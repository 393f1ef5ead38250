"""The released tokenisation on real sentences: news, their Russian references, and merges learnt on both."""

import io
from collections import Counter
from pathlib import Path

import pytest
from subword_nmt.learn_bpe import learn_bpe

from models.tasks.translation.data import official
from models.tasks.translation.data.cleaning import cleaned, fault, short
from models.tasks.translation.data.corpus import Pair
from models.tasks.translation.text import merges, moses, released_tokens
from models.tasks.translation.text.dictionary import Dictionary, parse
from models.tasks.translation.text.released_tokens import ReleasedTokens
from models.tasks.translation.text.vocabulary import END, UNKNOWN

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pairs(test_data: Path) -> list[Pair]:
    folder = test_data / "translation" / "ntrex128"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    return list(official.parallel(folder / "src.en.txt", folder / "ref.ru.txt", "news", "ntrex128"))[:600]


@pytest.fixture(scope="module")
def lines(pairs: list[Pair]) -> list[tuple[str, str]]:
    """Both sides in Moses' tokens."""
    return [
        (
            moses.tokenised(moses.prepared(pair.english)),
            moses.tokenised(moses.prepared(pair.russian, moses.RUSSIAN), moses.RUSSIAN),
        )
        for pair in pairs
    ]


@pytest.fixture(scope="module")
def tokens(lines: list[tuple[str, str]]) -> ReleasedTokens:
    """As the recipe makes it, with few merges."""
    code = io.StringIO()
    learn_bpe(io.StringIO("\n".join(side for pair in lines for side in pair)), code, 800)
    parsed = merges.parse(code.getvalue().encode(), "code")

    def dictionary(side: int) -> Dictionary:
        counts = Counter(piece for pair in lines for piece in parsed.pieces(pair[side].split()))
        rows = "".join(f"{piece} {count}\n" for piece, count in counts.most_common())
        return parse(rows.encode(), f"dict.{side}.txt")

    ours, theirs = dictionary(0), dictionary(1)
    for table in (ours, theirs):
        released_tokens._check_made(table, parsed, "dict")
    return ReleasedTokens(parsed, ours, theirs)


def test_nothing_of_the_text_is_lost(pairs: list[Pair], lines: list[tuple[str, str]], tokens: ReleasedTokens) -> None:
    for pair, (english, russian) in zip(pairs, lines, strict=True):
        numbers = tokens.sentence(pair.english).tokens
        assert UNKNOWN not in numbers
        joined = " ".join(tokens.source.symbols[number] for number in numbers[:-1])
        assert f"{joined} ".replace("@@ ", "").strip() == english
        target = [*map(tokens.target.number, tokens.merges.pieces(russian.split())), END]
        assert tokens.official(target) == russian
        parts = tokens.surface(target)
        assert "".join("".join(parts).split()) == "".join(moses.prepared(pair.russian, moses.RUSSIAN).split())


def test_readable_text_is_most_often_the_reference_itself(pairs: list[Pair], lines: list[tuple[str, str]]) -> None:
    """Moses' rules do not know what stood without spaces, such as one quote within another."""
    same = [
        moses.readable(line)[0] == " ".join(moses.prepared(pair.russian, moses.RUSSIAN).split())
        for pair, (_, line) in zip(pairs, lines, strict=True)
    ]
    assert sum(same) > 0.95 * len(same)


def test_the_rules_of_the_recipe_keep_most_translations_of_news(
    lines: list[tuple[str, str]], tokens: ReleasedTokens
) -> None:
    """Escaped quotes count as words, so that sentences with quotes are often left out as too much alike."""
    kept = list(cleaned(lines, lambda pair: pair))
    assert 0.8 * len(lines) < len(kept) < len(lines)
    left_out = {fault(*pair) for pair in lines} - {None}
    assert all("on both sides" in str(reason) for reason in left_out)
    quoted = [pair for pair in lines if fault(*pair) is not None and "&quot;" in pair[0] and "&quot;" in pair[1]]
    assert len(quoted) > 0.5 * (len(lines) - len(kept))
    short_ones = sum(short(*(tokens.merges.pieces(side.split()) for side in pair)) for pair in kept)
    assert short_ones > 0.8 * len(kept)
