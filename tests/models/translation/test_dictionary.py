"""Dictionaries of fairseq and merges of subword-nmt: numbers, sizes, and refusals that name the line."""

import io

import pytest
from subword_nmt.apply_bpe import BPE

from models.artefact import ArtefactError
from models.tasks.translation.text import dictionary, merges
from models.tasks.translation.text.vocabulary import UNKNOWN
from tests.models.translation.fairseq_files import ENGLISH, RUSSIAN, counted, learnt, tokenised
from tests.work import lines


def test_lines_are_numbered_after_the_four_of_fairseqs_own() -> None:
    parsed = dictionary.parse("the 10\nwell@@ 3\nдом 0\r\n".encode(), "dict.en.txt")
    assert [parsed.number(symbol) for symbol in ("<s>", "<pad>", "</s>", "<unk>", "the", "well@@", "дом")] == list(
        range(7)
    )
    assert parsed.number("well") == UNKNOWN
    assert len(parsed) == 7


def test_fillers_are_added_up_to_a_multiple_of_eight() -> None:
    parsed = dictionary.parse(b"a 1\nb 1\n", "dict.en.txt")
    assert parsed.of_size(6, "dict.en.txt") is parsed
    assert parsed.of_size(8, "dict.en.txt").symbols[6:] == ("madeupword0000", "madeupword0001")


@pytest.mark.parametrize("rows", [5, 7, 16, 24])
def test_tables_of_other_sizes_are_refused(rows: int) -> None:
    parsed = dictionary.parse(b"a 1\nb 1\n", "dict.en.txt")
    with pytest.raises(ArtefactError, match=rf"dict.en.txt: 6 tokens .* embeddings of {rows}; take the dictionary"):
        parsed.of_size(rows, "dict.en.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "d: empty"),
        (b"a 1\nb\n", "d, line 2: 'b'; a token without spaces"),
        (b"a 1\n\nb 1\n", "d, line 2: ''"),
        (b" 1\n", "d, line 1: ' 1'"),
        (b"a b 1\n", "d, line 1: 'a b 1'"),
        (b"a\t1\n", "d, line 1"),
        (b"a \n", "d, line 1: the count of 'a' is ''"),
        (b"a -1\n", "the count of 'a' is '-1'; a whole number"),
        (b"a 1.5\n", "the count of 'a' is '1.5'"),
        ("a ٣\n".encode(), "the count of 'a' is '٣'"),
        (b"a 1\nb 1\na 2\n", "d, line 3: 'a' is also in line 1"),
        (b"a 1\n<unk> 1\n", "d, line 2: '<unk>' is one of fairseq's own"),
        (b"a 1\n\xff 1\n", "d, line 2: not UTF-8"),
        (b"a #fairseq:overwrite\n", "the count of 'a'"),
    ],
)
def test_wrong_dictionaries_are_refused_by_line(content: bytes, message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        dictionary.parse(content, "d")


def test_huge_files_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dictionary, merges):
        monkeypatch.setattr(module, "LARGEST_BYTES", 10)
        with pytest.raises(ArtefactError, match=r"d: 11 bytes; .* at most 10"):
            module.parse(b"x" * 11, "d")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "c, line 1: ''; two pieces"),
        (b"#version: 0.2\n", "c: no merges"),
        (b"#version: 0.3\na b\n", "c, line 1: version '0.3'; 0.1 and 0.2 are known"),
        (b"#version: 0.2\na b\na b c\n", "c, line 3: 'a b c'; two pieces"),
        (b"#version: 0.2\na b\n\nc d\n", "c, line 3: ''"),
        (b"a  b\n", "c, line 1"),
        (b"a b\n\xff b\n", "c, line 2: not UTF-8"),
    ],
)
def test_wrong_merges_are_refused_by_line(content: bytes, message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        merges.parse(content, "c")


@pytest.mark.parametrize("version", [b"#version: 0.2\n", b""])
def test_pieces_are_those_of_subword_nmt(version: bytes) -> None:
    content = version + learnt().partition(b"\n")[2]
    parsed = merges.parse(content, "code")
    theirs = BPE(io.StringIO(content.decode()))
    for line in [*tokenised(ENGLISH, "en"), *tokenised(RUSSIAN, "ru"), "a unseen museumdoors &amp;"]:
        assert parsed.pieces(line.split()) == theirs.segment(line).split()
    assert any(piece.endswith(merges.CONTINUED) for piece in parsed.pieces(["museumdoors"]))


def test_merges_make_all_tokens_of_their_dictionary_and_not_those_of_another() -> None:
    code = learnt()
    parsed = merges.parse(code, "code")
    symbols = dictionary.parse(counted(code, ENGLISH, "en"), "d").symbols[4:]
    assert all(parsed.makes(symbol) for symbol in symbols if not symbol.startswith("madeupword"))
    assert not parsed.makes("zzz@@")
    assert not parsed.makes("museu")
    assert merges.parse(b"a b\n", "old").makes("ab")
    assert not merges.parse(b"#version: 0.2\na b\n", "new").makes("ab")


def test_a_word_without_end_takes_work_in_proportion_to_its_length() -> None:
    """Of letters that become one two by two, so that each merge looks at the whole word for the sake of one place."""
    letters = [chr(0x4E00 + number) for number in range(2000)]
    code = "".join(f"{left} {other}\n" for left, other in zip(letters[::2], letters[1::2], strict=True)).encode()

    def work(length: int) -> int:
        parsed = merges.parse(code, "code")  # of its own: it remembers parts of words
        return lines(lambda: parsed.pieces(["".join(letters[:length])]))

    assert work(2000) < 5 * work(500)


def test_a_word_without_end_is_whole_in_its_pieces() -> None:
    pieces = merges.parse(learnt(), "code").pieces(["museum" * 10_000])
    assert "".join(piece.removesuffix(merges.CONTINUED) for piece in pieces) == "museum" * 10_000
    assert all(piece.endswith(merges.CONTINUED) for piece in pieces[:-1])
    assert not pieces[-1].endswith(merges.CONTINUED)


def test_what_is_remembered_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merges, "_REMEMBERED", 10)
    parsed = merges.parse(learnt(), "code")
    parsed.pieces([f"word{number}" for number in range(100)])
    assert len(parsed._encoder.cache) <= 11
