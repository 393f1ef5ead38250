"""Official files of pairs: SGML, columns and parallel text, as they are and with something wrong."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data import official
from models.tasks.translation.data.corpus import Pair

SOURCE = """<srcset setid="newstest2019" srclang="any">
<doc sysid="ref" docid="bbc.381790" genre="news" origlang="en">
<p>
<seg id="1">Welsh AMs &amp; others worried about &#39;looking like muppets&#39;</seg>
<seg id="2">  Second &lt;b&gt;  </seg>
</p>
</doc>
<DOC docid='cnn &amp; co'><seg id="1">One</seg><SEG ID="2"></SEG></DOC>
</srcset>
"""
REFERENCE = """<refset trglang="ru">
<doc docid="bbc.381790">
<seg id="1">Первый</seg>
<seg id="2">Второй</seg>
</doc>
<doc docid="cnn &amp; co">
<seg id="1">Один</seg>
<seg id="2">Два</seg>
</doc>
</refset>
"""


def written(path: Path, text: str | bytes) -> Path:
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def pairs(tmp_path: Path, source: str, reference: str, decode: bool = True) -> list[Pair]:
    files = written(tmp_path / "src.sgm", source), written(tmp_path / "ref.sgm", reference)
    return official.sgml(*files, "news", "newstest2019", decode=decode)


def test_segments_have_their_documents_and_no_entities(tmp_path: Path) -> None:
    actual = pairs(tmp_path, SOURCE, REFERENCE)
    assert actual == [
        Pair("news", "newstest2019:bbc.381790", "Welsh AMs & others worried about 'looking like muppets'", "Первый"),
        Pair("news", "newstest2019:bbc.381790", "Second <b>", "Второй"),
        Pair("news", "newstest2019:cnn & co", "One", "Один"),
        Pair("news", "newstest2019:cnn & co", "", "Два"),
    ]


def test_entities_can_stay_as_the_recipe_leaves_them(tmp_path: Path) -> None:
    assert pairs(tmp_path, SOURCE, REFERENCE, decode=False)[1].english == "Second &lt;b&gt;"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<seg id="2">Второй</seg>\n', "", r"ref.sgm, line 6: segment 1 of 'cnn & co', where .*src.sgm, line 5 has"),
        ('<seg id="2">Два</seg>\n', "", r"src.sgm, line 8: segment 2 of 'cnn & co' is not in .*ref.sgm"),
        ("Второй</seg>", "Второй", "ref.sgm, line 4: segment 2 of 'bbc.381790' is not closed"),
        ('<seg id="2">Второй', "<seg>Второй", "ref.sgm, line 4: a segment without a number"),
        ('<seg id="2">Второй', '<seg id="1">Второй', "ref.sgm, line 4: segment 1 of 'bbc.381790' is given twice"),
        ('<doc docid="bbc.381790">\n', "", "ref.sgm, line 2: a segment outside a document"),
        ('<doc docid="bbc.381790">', '<doc id="bbc">', r"ref.sgm, line 2: a document without a name \(docid\)"),
        (REFERENCE, "<refset>\n</refset>\n", "ref.sgm has no segments"),
        (REFERENCE, "", "ref.sgm is empty"),
    ],
)
def test_wrong_sgml_is_refused_by_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in REFERENCE
    with pytest.raises(BadFile, match=message):
        pairs(tmp_path, SOURCE, REFERENCE.replace(old, new))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("news-commentary-v15.en-ru.tsv", "A dog.\tСобака.\n"),
        ("wikititles-v2.ru-en.tsv.gz", "Собака.\tA dog.\n"),
        ("WikiMatrix.v1.en-ru.langid.tsv.gz", "1.05\tA dog.\tСобака.\ten\tru\n"),
    ],
)
def test_columns_are_known_by_the_name_of_the_file(name: str, line: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, f"{line}\n\t\t\t\n{line}")
    parsed = list(official.columns(path, "wiki"))
    assert [(pair.english, pair.russian, pair.domain) for pair in parsed] == [("A dog.", "Собака.", "wiki")] * 2
    assert parsed[0].key == name.split(".")[0].split("-v")[0].lower()
    short = written(path, line.replace("\t", " ").encode())
    with pytest.raises(BadFile, match=rf"{name}, line 1 has 1 columns; .*en.* are needed"):
        list(official.columns(short, "wiki"))


def test_text_is_paired_line_by_line(tmp_path: Path) -> None:
    """Separators other than line feeds belong to a line."""
    english = written(tmp_path / "reddit_dev.en", "A\u2028B\x85C\r\n\nD")
    russian = written(tmp_path / "reddit_dev.ru.gz", "А\nБ\nВ\n")
    parsed = list(official.parallel(english, russian, "social", "reddit"))
    assert [(pair.english, pair.russian) for pair in parsed] == [("A\u2028B\x85C", "А"), ("D", "В")]
    assert {pair.source for pair in parsed} == {"reddit:reddit_dev.en"}


def test_text_of_two_lengths_is_refused(tmp_path: Path) -> None:
    short, long = written(tmp_path / "a.en", "A\n"), written(tmp_path / "a.ru", "А\nБ\n")
    for files in ((short, long), (long, short)):
        with pytest.raises(BadFile, match=r"a\.en ends before line 2, which .*a\.ru has"):
            list(official.parallel(*files, "social", "reddit"))


READERS: list[Callable[[Path], object]] = [
    official.segments,
    lambda path: list(official.columns(path, "wiki")),
    lambda path: list(official.parallel(path, path, "wiki", "x")),
]


@pytest.mark.parametrize("read", READERS)
def test_bytes_that_are_no_text_are_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "wikititles.tsv"
    with pytest.raises(BadFile, match="wikititles.tsv cannot be read"):
        read(path)
    doc = b'<doc docid="a"><seg id="1">a</seg>\tb\n'
    with pytest.raises(BadFile, match="wikititles.tsv is not UTF-8 text, in line 2"):
        read(written(path, doc + b"\xff\n"))
    packed = tmp_path / "wikititles.tsv.gz"
    packed.write_bytes(gzip.compress(doc)[:-9])
    with pytest.raises(BadFile, match="wikititles.tsv.gz cannot be read"):
        read(packed)


def test_lines_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official, "LONGEST_LINE", 8)
    path = written(tmp_path / "wikititles.tsv", b"a\tb\n" + b"x" * 100)
    with pytest.raises(BadFile, match="wikititles.tsv, line 2 has more than 8 bytes"):
        list(official.columns(path, "wiki"))


def test_other_names_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.tsv", "a\tb\n")
    with pytest.raises(BadFile, match="mine.tsv: columns are known by the name .* news-commentary, wikititles"):
        list(official.columns(path, "wiki"))
