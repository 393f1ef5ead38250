"""The translation service as `demur up` starts it: the page's code and commands, a file of lines, and its figures."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import demur
from tests.e2e.conftest import PROJECT, Installation

PAGE = (PROJECT / "docs" / "translation.md").read_text()
LINES = ("I have two dogs.", "He opened the door. She was not there!", "See https://example.org, 42 times.")
REFERENCES = ("У меня две собаки.", "Он открыл дверь. Её там не было!", "См. https://example.org, 42 раза.")


def target(served: Installation) -> str:
    return f"127.0.0.1:{4002 + served.offset}"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "news.en"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def test_the_reference_artefact_serves(served: Installation) -> None:
    with demur.connect(target(served)) as client:
        described = client.translation.describe()
        (translation,) = client.translation.predict(LINES[1])
    assert described.model.startswith("translation-transformer-3:")
    assert [(head.name, head.acceptable) for head in described.heads] == [("hypotheses", 60)]
    assert [len(unit.hypotheses) for unit in translation.sentences] == [5, 5]
    assert translation.text[slice(*translation.sentences[0].span)] == translation.sentences[0].best.text
    for sentence in translation.sentences:
        assert np.isfinite(sentence.uncertainty)
        assert sentence.best.tokens.knowledge.min() >= 0


def test_a_file_is_scored_and_judged(served: Installation, lines: Path, tmp_path: Path) -> None:
    out, references = tmp_path / "out", tmp_path / "news.ru"
    references.write_text("".join(f"{line}\n" for line in REFERENCES))
    ran = served.run("score", "translation", str(lines), str(out), "--fairseq")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    translated = (out / "translation.txt").read_text().splitlines()
    assert "https://example.org" in translated[2]
    for predictions in (out / "submission.jsonl", out / "output.txt"):
        options = ["--predictions", str(predictions), "--references", str(references), "--json"]
        judged = served.run("evaluate", "--task", "translation", *options)
        assert judged.returncode == 0, judged.stderr
        (figures, *_) = json.loads(judged.stdout)["measures"].values()
        assert 0 <= figures["error"] <= 100


def test_the_code_of_the_page_runs(
    served: Installation, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (asking, labelling) = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "book.txt").write_text(lines.read_text())
    monkeypatch.chdir(tmp_path)
    assert "127.0.0.1:4002" in asking
    code = asking.replace("127.0.0.1:4002", target(served)) + f"    {labelling}"
    printed: list[object] = []
    exec(compile(code, "docs/translation.md", "exec"), {"print": lambda *words: printed.append(words)})
    assert len(printed) == 3 + 4, "text, summary, underlined, and the sentences of the book"


def test_the_commands_of_the_page_answer(served: Installation) -> None:
    (block,) = (example for example in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "curl --json" in example)
    for line in (text for text in block.splitlines() if text.startswith("curl")):
        command = line.replace("127.0.0.1:3002", f"127.0.0.1:{3002 + served.offset}").replace("curl ", "curl -sS ")
        ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["sentences"], ran.stdout


def test_the_example_writes_a_page_with_doubtful_words(served: Installation, lines: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    command = [sys.executable, str(PROJECT / "examples" / "underline.py"), str(lines), str(page)]
    ran = subprocess.run([*command, "--target", target(served), "--above", "0.1"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "<u style=" in page.read_text()
