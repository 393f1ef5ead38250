"""Official files become the columns that training reads."""

import gzip
from pathlib import Path

import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data import corpus
from models.tasks.translation.data.conversion import Converted, convert
from models.tasks.translation.data.corpus import Pair
from services.cli import main


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    sgml = '<srcset><doc docid="d">\n<seg id="1">Tea &amp; milk</seg>\n<seg id="2"></seg>\n</doc></srcset>\n'
    return [
        written(tmp_path / "news-commentary-v15.en-ru.tsv.gz", "A dog\tСобака\n\t\nA cat\tКошка\n"),
        written(tmp_path / "paracrawl.en", "A\thouse\nBBC News\n"),
        written(tmp_path / "paracrawl.ru", "Дом\nBBC News\n"),
        written(tmp_path / "WikiMatrix.v1.en-ru.langid.tsv", "1.2\tA dog\tСобака\ten\tru\n"),
        written(tmp_path / "newstest-src.en.sgm", sgml),
        written(tmp_path / "newstest-ref.ru.sgm", sgml.replace("Tea &amp; milk", "Чай с молоком")),
    ]


EVERY = (
    Pair("news", "news-commentary:news-commentary-v15.en-ru.tsv.gz", "A dog", "Собака"),
    Pair("news", "news-commentary:news-commentary-v15.en-ru.tsv.gz", "A cat", "Кошка"),
    Pair("news", "paracrawl:paracrawl.en", "A house", "Дом"),
    Pair("news", "paracrawl:paracrawl.en", "BBC News", "BBC News"),
    Pair("news", "wikimatrix:WikiMatrix.v1.en-ru.langid.tsv", "A dog", "Собака"),
    Pair("news", "newstest-src:d", "Tea & milk", "Чай с молоком"),
)


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_all_forms_become_columns(files: list[Path], tmp_path: Path, name: str) -> None:
    assert convert(files, tmp_path / name, domain="news") == Converted(6, 6, 0)
    assert corpus.read([tmp_path / name]).pairs == EVERY


def test_the_recipes_rules_leave_out_copies_and_what_came_before(files: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("sacremoses", reason="the released extra is not installed")
    assert convert(files, tmp_path / "pairs.tsv", domain="news", clean=True) == Converted(6, 4, 0)
    assert corpus.read([tmp_path / "pairs.tsv"]).pairs == (*EVERY[:3], EVERY[5])


def test_every_hundredth_pair_goes_to_validation(tmp_path: Path) -> None:
    english = written(tmp_path / "a.en", "".join(f"a {number}\n" for number in range(1, 251)))
    russian = written(tmp_path / "a.ru", "".join(f"б {number}\n" for number in range(1, 251)))
    train, held = tmp_path / "train.tsv.gz", tmp_path / "valid.tsv.gz"
    counts: list[int] = []
    assert convert([english, russian], train, domain="x", key="k", held=held, tell=counts.append) == Converted(
        250, 250, 2
    )
    assert [pair.english for pair in corpus.read([held]).pairs] == ["a 100", "a 200"]
    assert len(corpus.read([train])) == 248
    assert {pair.key for pair in corpus.read([train]).pairs} == {"k"}


def test_equal_files_come_of_equal_pairs(files: list[Path], tmp_path: Path) -> None:
    for name in ("a.tsv.gz", "b.tsv.gz"):
        convert(files, tmp_path / name, domain="news")
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ([1], "no file of its Russian follows"),
        ([1, 0, 2], "no file of its Russian follows"),
        ([1, 5], "are of two forms"),
        ([4, 2], "are of two forms"),
    ],
)
def test_files_without_their_other_half_are_refused(
    files: list[Path], tmp_path: Path, chosen: list[int], words: str
) -> None:
    with pytest.raises(BadFile, match=words):
        convert([files[number] for number in chosen], tmp_path / "out.tsv", domain="news")
    assert not (tmp_path / "out.tsv").exists()


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    english, russian = written(tmp_path / "a.en", "a\nb\n"), written(tmp_path / "a.ru", "а\n")
    with pytest.raises(BadFile, match="ends before line 2"):
        convert([english, russian], tmp_path / "out.tsv", domain="x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.en", "a.ru"]


def test_the_command_makes_what_select_takes(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "pairs.tsv.gz"
    arguments = ["data", "translation", "convert", *map(str, files), "--domain", "news", "--out", str(out)]
    assert main(arguments) == 0
    assert str(out) in capsys.readouterr().out
    arguments = ["data", "translation", "select", "--train", str(out), "--valid", str(out), "--domains", "news"]
    assert main([*arguments, "--out", str(tmp_path / "folder")]) == 0
    assert corpus.read([tmp_path / "folder" / "train.tsv.gz"]).pairs == EVERY
