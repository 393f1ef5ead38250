"""Files of pairs: what is read, and refusals that name file and line."""

import gzip
from pathlib import Path

import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data import corpus
from models.tasks.translation.data.corpus import Corpus, Pair, read

HEADER = "domain\tsource\ten\tru\n"


def written(folder: Path, content: str | bytes, name: str = "pairs.tsv") -> Path:
    path = folder / name
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_pairs_are_read_in_their_order(tmp_path: Path, name: str) -> None:
    first = written(tmp_path, '\ufeffru\tid\ten\tdomain\tsource\r\nДа "так".\t7\tYes.\tnews\twmt:1\r\n', name)
    other = written(tmp_path, HEADER + "docs\tphp\tNo.\tНет.", "other.tsv")
    loaded = read([first, other])
    assert loaded.pairs == (Pair("news", "wmt:1", "Yes.", 'Да "так".'), Pair("docs", "php", "No.", "Нет."))
    assert [pair.key for pair in loaded.pairs] == ["wmt", "php"]
    assert len(loaded) == 2
    assert loaded.of_domains({"docs"}).pairs == loaded.without({"wmt"}).pairs == loaded.pairs[1:]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", r"pairs\.tsv is empty"),
        ("domain\tsource\ten\n", r"pairs\.tsv, line 1: the column ru is missing; there are domain, source, en"),
        (HEADER + "a\tb\tc\td\na\tb\tc\n", r"pairs\.tsv, line 3 has 3 columns; the first line names 4"),
        (HEADER + "a\tb\tc\td\te\n", r"pairs\.tsv, line 2 has 5 columns"),
        (HEADER + "\n", r"line 2 has 1 columns"),
        (HEADER + "a\tb\tc\t \n", r"line 2: ru is empty"),
        (HEADER + "a\tb\t\td\n", r"line 2: en is empty"),
        (HEADER.encode() + b"a\tb\tc\td\na\tb\t\xff\td\n", r"pairs\.tsv is not UTF-8 text, in line 3"),
    ],
)
def test_refusals_name_file_and_line(tmp_path: Path, content: str | bytes, says: str) -> None:
    with pytest.raises(BadFile, match=says):
        read([written(tmp_path, content)])


def test_broken_archives_are_refused(tmp_path: Path) -> None:
    whole = gzip.compress((HEADER + "a\tb\tc\td\n" * 999).encode())
    damaged = bytearray(whole)
    damaged[20:30] = b"\xff" * 10
    for content in (whole[:40], bytes(damaged), b"no archive", b""):
        path = tmp_path / "pairs.tsv.gz"
        path.write_bytes(content)
        with pytest.raises(BadFile, match=r"pairs\.tsv\.gz"):
            read([path])
    with pytest.raises(BadFile, match=r"none\.tsv cannot be read"):
        read([tmp_path / "none.tsv"])


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LARGEST_BYTES", 10_000)
    for line in ("a\tb\tc\td\n" * 9999, "a" * 99_999):  # many lines, or one without an end
        with pytest.raises(BadFile, match="more than 10000 bytes"):
            read([written(tmp_path, HEADER + line, "pairs.tsv.gz")])


def test_fingerprints_tell_pairs_and_their_order() -> None:
    first, other = Pair("a", "b", "c", "d"), Pair("a", "b", "c", "e")
    prints = {Corpus(pairs).fingerprint for pairs in ((), (first,), (other,), (first, other), (other, first))}
    assert len(prints) == 5
    assert Corpus((first,)).fingerprint == Corpus((Pair("a", "b", "c", "d"),)).fingerprint
