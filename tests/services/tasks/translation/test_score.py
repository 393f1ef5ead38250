"""`demur score translation`: files of lines through a running service, and what may go wrong with them."""

import asyncio
import json
from pathlib import Path

import pytest

from models.artefact import Artefact
from services.cli import main
from tests.models.translation.made import corpus
from tests.ports import free_port
from tests.services.tasks.tables import table
from tests.services.tasks.translation.conftest import serving

PAIRS = corpus(6, seed=9).pairs
LINES = (*[pair.english for pair in PAIRS], "A cat draws the moon. She likes the river!", "123", "Он открыл дверь.", "")


async def scored(artefact: Artefact, source: Path, out: Path, *options: str, **settings: object) -> int:
    port = free_port()
    async with serving(artefact, grpc_port=port, **settings):
        arguments = ["score", "translation", str(source), str(out), "--target", f"127.0.0.1:{port}", *options]
        return await asyncio.to_thread(main, arguments)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "lines.en"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


async def test_a_file_becomes_a_submission_a_text_and_a_table(
    three: Artefact, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert await scored(three, source, out, "--fairseq") == 0
    text = (out / "translation.txt").read_text().splitlines()
    records = [json.loads(line) for line in (out / "submission.jsonl").read_text().splitlines()]
    rows = table(out / "summary.csv")
    assert len(text) == len(records) == len(LINES)
    assert text[-4].startswith("Кошка рисует")
    assert "Она любит реку" in text[-4]
    assert text[-3:] == ["123", "Он открыл дверь.", ""]
    assert [record["id"] for record in records] == list(range(len(LINES)))
    assert {len(record["hypos"]) for record in records} == {5}
    assert all(abs(sum(hypothesis["confidence"] for hypothesis in record["hypos"]) - 1) < 1e-5 for record in records)
    assert (records[-3]["uncertainty"], records[-2]["uncertainty"]) == (0.0, float("inf"))
    assert [row["line"] for row in rows][-3:] == ["6", "6", "8"]
    assert rows[-1]["remarks"].startswith("not_english")
    printed = (out / "output.txt").read_text()
    assert printed.count("\nSU-") == 5 * (len(PAIRS) + 1)
    references = tmp_path / "ref.ru"
    references.write_text("".join(f"{pair.russian}\n" for pair in PAIRS))
    judged = tmp_path / "judged.jsonl"
    judged.write_text("".join(f"{json.dumps(record)}\n" for record in records[: len(PAIRS)]))
    capsys.readouterr()
    arguments = ["evaluate", "--task", "translation", "--predictions", str(judged), "--references", str(references)]
    assert main([*arguments, "--json"]) == 0
    (figures, *_) = json.loads(capsys.readouterr().out)["measures"].values()
    assert figures["error"] < 60


async def test_a_line_of_several_sentences_is_one_list_weighted_by_tokens(
    three: Artefact, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert await scored(three, source, out) == 0
    record = json.loads((out / "submission.jsonl").read_text().splitlines()[len(PAIRS)])
    async with serving(three) as served:
        answer = await served.answer(LINES[len(PAIRS)], tokens="all")
    ranks = range(5)
    texts = [" ".join(sentence["hypotheses"][rank]["text"] for sentence in answer["sentences"]) for rank in ranks]
    assert [hypothesis["text"] for hypothesis in record["hypos"]] == texts
    weighted = []
    for rank in ranks:
        chosen = [sentence["hypotheses"][rank] for sentence in answer["sentences"]]
        lengths = [len(hypothesis["tokens"]) for hypothesis in chosen]
        values = [hypothesis["scores"]["scr_pe"] for hypothesis in chosen]
        weighted.append(sum(length * value for length, value in zip(lengths, values, strict=True)) / sum(lengths))
    assert record["uncertainty"] == pytest.approx(sum(weighted) / 5, rel=1e-4)


async def test_what_is_withheld_is_left_out_and_said(three: Artefact, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--purpose", "explore")
    assert await scored(three, source, out, *options, fixed_threshold=-1.0, withhold=True) == 0
    records = [json.loads(line) for line in (out / "submission.jsonl").read_text().splitlines()]
    assert [record["id"] for record in records] == [7, 9]
    assert (out / "translation.txt").read_text().splitlines() == list(LINES)


async def test_sgm_files_of_the_benchmark_are_read(three: Artefact, tmp_path: Path) -> None:
    path = tmp_path / "set.sgm"
    path.write_text(
        '<srcset setid="made" srclang="any">\n<doc docid="d1">\n'
        f'<seg id="1">{LINES[0]}</seg>\n<seg id="2">{LINES[1]}</seg>\n</doc>\n</srcset>\n'
    )
    assert await scored(three, path, tmp_path / "out") == 0
    assert len((tmp_path / "out" / "translation.txt").read_text().splitlines()) == 2


async def test_files_that_are_none_are_refused(three: Artefact, tmp_path: Path) -> None:
    empty, latin = tmp_path / "empty.en", tmp_path / "latin.en"
    empty.write_bytes(b"")
    latin.write_bytes(b"caf\xe9\n")
    for path in (empty, latin, tmp_path / "missing.en"):
        assert await scored(three, path, tmp_path / "out") == 1


@pytest.mark.parametrize("way", ["defer", "skip", "fail"])
async def test_a_line_that_is_too_long_spoils_no_other(
    three: Artefact, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    path, out = tmp_path / "lines.en", tmp_path / "out"
    path.write_text(f"{LINES[0]}\n{'x' * 100_001}\n{LINES[1]}\n")
    assert await scored(three, path, out, "--on-error", way) == 1
    rows = table(out / "summary.csv")
    lines = {"defer": ["0", "1", "2"], "skip": ["0", "2"], "fail": ["0"]}[way]
    assert list(dict.fromkeys(row["line"] for row in rows)) == lines
    assert [row["reason"] for row in rows if row["error"]] == ["invalid_input"] * (way == "defer")
    assert "at most 100000" in (capsys.readouterr().err if way == "fail" else capsys.readouterr().out)
    records = [json.loads(line)["id"] for line in (out / "submission.jsonl").read_text().splitlines()]
    assert records == ([0] if way == "fail" else [0, 2])
