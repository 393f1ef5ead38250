"""Flags of anomalies: all forms of their file, groups of figures, and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.translation.data import anomalies, submission
from models.tasks.translation.data.generated import Generated, Hypothesis
from models.tasks.translation.data.predictions import read
from services.cli import main

ROWS = [(0, 1, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1, 1)]
NAMES = list(anomalies.FLAGS)
SLANG = ["yes", "no", "yes"]
FORMS = {
    "columns": "".join(" ".join(map(str, row)) + "\n" for row in ROWS),
    "tabs": "".join("\t".join(map(str, row)) + "\n" for row in ROWS),
    "header": ",".join(NAMES[::-1]) + "\n" + "".join(",".join(map(str, row[::-1])) + "\n" for row in ROWS),
    "paper": "\t".join(f"{name.title()} anomalies" for name in NAMES)
    + "\n"
    + "".join("\t".join(map(str, row)) + "\n" for row in ROWS),
    "ids": "\t".join(["id", *NAMES])
    + "\n"
    + "".join("\t".join(map(str, [key, *row])) + "\n" for key, row in [*enumerate(ROWS)][::-1]),
    "records": "".join(
        json.dumps({"id": key, "text": "x", **dict(zip(NAMES, row, strict=True))}) + "\n"
        for key, row in enumerate(ROWS)
    ),
    "lists": "".join(
        json.dumps({"id": key, "flags": [name for name, flag in zip(NAMES, row, strict=True) if flag]}) + "\n"
        for key, row in enumerate(ROWS)
    ),
}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def groups(path: Path, ids: list[int], shifted: list[bool] | None = None) -> dict[str, list[str]]:
    mask = None if shifted is None else np.array(shifted)
    grouped = anomalies.read(path).groups(np.array(ids), mask, Path("predictions.json"))
    return {name: values.tolist() for name, values in grouped.items()}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_say_the_same(form: str, tmp_path: Path) -> None:
    grouped = groups(written(tmp_path / "flags.txt", FORMS[form]), [0, 1, 2])
    assert list(grouped) == [*NAMES, "anomalies"]
    assert grouped["slang"] == SLANG
    assert grouped["punctuation"] == ["no", "no", "yes"]
    assert grouped["anomalies"] == ["2", "0", "7"]


def test_lines_may_be_about_the_shifted_sentences_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "flags.txt", FORMS["columns"])
    grouped = groups(path, [0, 1, 2, 3, 4], [False, True, True, False, True])
    assert grouped["slang"] == ["unknown", "yes", "no", "unknown", "yes"]
    assert grouped["anomalies"] == ["unknown", "2", "0", "unknown", "7"]
    with pytest.raises(BadFile, match=r"flags.txt has 3 lines and predictions.json 5 sentences; .*--domains"):
        groups(path, [0, 1, 2, 3, 4])
    with pytest.raises(BadFile, match=r"flags.txt has 3 lines; predictions.json has 4 sentences, 2 of them shifted"):
        groups(path, [0, 1, 2, 3], [False, True, True, False])


def test_ids_without_flags_are_unknown_and_flags_without_predictions_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "flags.jsonl", FORMS["lists"])
    assert groups(path, [0, 1, 2, 9])["slang"] == [*SLANG, "unknown"]
    with pytest.raises(BadFile, match=r"predictions.json: id 2 of .*flags.jsonl has no prediction"):
        groups(path, [0, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "flags.txt is empty"),
        ("0 1 0 0 1 0\n", "flags.txt, line 1 has 6 columns; punctuation, spelling"),
        ("0 1 0 0 1 0 0\n0 1 0 0 1 0 2\n", "flags.txt, line 2: tags is '2'; 0 or 1"),
        ("\t".join(NAMES[1:]) + "\n", "flags.txt, line 1: the column punctuation is missing"),
        ("\t".join(["id", *NAMES]) + "\n" + "x\t" + "\t".join("0" * 7) + "\n", "line 2: id is 'x'"),
        (("\t".join(["id", *NAMES]) + "\n") + ("5\t" + "\t".join("0" * 7) + "\n") * 2, "line 3: id 5 is given twice"),
        ('{"id": 0, "flags": ["rude"]}\n', "line 1: flag 'rude' is not one of punctuation"),
        ('{"id": 0, "flags": "slang"}\n', "line 1: flags is no list"),
        ('{"id": 0, "slang": 1}\n', "line 1: punctuation is missing; all of"),
        ('{"id": 0, ' + ", ".join(f'"{name}": 3' for name in NAMES) + "}\n", "line 1: punctuation is 3; 0 or 1"),
        ('{"id": 0, ' + ", ".join(f'"{name}": null' for name in NAMES) + "}\n", "punctuation is None"),
        ('{"flags": []}\n', "line 1: id is missing"),
        ('{"id": 0, "flags": []}\n' * 2, "line 2: id 0 is given twice"),
    ],
)
def test_wrong_flags_are_refused_by_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=message):
        anomalies.read(written(tmp_path / "flags.txt", text))


def given(tmp_path: Path) -> dict[str, Path]:
    """Two sentences of news and three of Reddit, as they are submitted."""
    sentences = [
        Generated(key, None, f"а б в {key}", (Hypothesis(f"а б {key}", -0.1 * key), Hypothesis("а", -1.0)))
        for key in range(5)
    ]
    submission.write(tmp_path / "submission.json", sentences, "nll")
    submission.write_references(tmp_path / "refs.json", sentences, 2)
    written(tmp_path / "flags.txt", FORMS["columns"])
    return {"references": tmp_path / "refs.json", "flags": tmp_path / "flags.txt"}


def test_figures_are_broken_down_by_flags(tmp_path: Path) -> None:
    judged = read(tmp_path / "submission.json", ErrorOptions(companions=given(tmp_path)))
    document = evaluate(judged, ("slang", "anomalies", "domain")).document()
    assert {value: group["n"] for value, group in document["by"]["slang"].items()} == {"no": 1, "unknown": 2, "yes": 2}
    assert document["by"]["slang"]["yes"]["error"] == pytest.approx(np.mean(judged.error.values[[2, 4]]))
    assert set(document["by"]["anomalies"]) == {"0", "2", "7", "unknown"}


def test_flags_are_an_option_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = given(tmp_path)
    command = ["evaluate", "--task", "translation", "--predictions", str(tmp_path / "submission.json")]
    command += ["--references", str(files["references"]), "--flags", str(files["flags"]), "--by", "emoji", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["by"]["emoji"]["unknown"]["n"] == 2
    assert document["shifted"]["n"] == 3
