"""``demur evaluate``: what it prints, what it refuses, and that a refusal leaves nothing behind."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from services.cli import main

KEYS = ("n", "error", "r_auc", "r_auc_random", "r_auc_optimal", "prr", "f1_auc", "f1_auc_random", "f1_auc_optimal")
KEYS += ("f1_at_95", "roc_auc", "aupr", "augrc", "measures", "in", "shifted", "full", "units")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """An ensemble of three, and two of its members as single models."""
    rng = np.random.default_rng(0)
    mean = rng.normal(10, 3, 200) + rng.normal(0, 0.5, (3, 200))
    members = np.stack([mean, rng.gamma(2, 0.6, (3, 200)) + 0.05], axis=2)
    shared = {
        "target": rng.normal(mean[0], 1.5),
        "shifted": rng.integers(0, 2, 200),
        "site": rng.choice(["a", "b"], 200),
    }
    paths = []
    for name, kept in (("ensemble", slice(None)), ("one", slice(0, 1)), ("two", slice(1, 2))):
        paths.append(tmp_path / f"{name}.npz")
        np.savez(paths[-1], members=members[kept], **shared)
    return paths


def judged(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main(["evaluate", "--json", *map(str, arguments)]) == 0
    return json.loads(capsys.readouterr().out)


def test_one_file_gives_one_document(capsys: pytest.CaptureFixture[str], files: list[Path]) -> None:
    document = judged(capsys, "--task", "regression", "--predictions", files[0], "--acceptable", 1, "--by", "site")
    assert set(KEYS) <= document.keys()
    assert document["full"]["r_auc"] == document["r_auc"]
    assert document["in"]["n"] + document["shifted"]["n"] == document["n"] == 200
    assert document["measures"]["varm"]["r_auc"] > 0
    assert set(document["by"]["site"]) == {"a", "b"}
    assert document["in"]["roc_auc"] is None, "what does not exist is null"
    assert document["units"]["r_auc"] == "(unit of the target)²"


def test_several_files_are_compared(capsys: pytest.CaptureFixture[str], files: list[Path]) -> None:
    document = judged(capsys, "--task", "weather", "--predictions", *files)
    assert [section["file"] for section in document["files"]] == [str(path) for path in files]
    low, difference, high = (
        document["comparison"]["differences"][str(files[1])]["r_auc"][place] for place in (1, 0, 2)
    )
    assert low <= difference <= high
    assert difference == pytest.approx(document["files"][1]["r_auc"] - document["files"][0]["r_auc"])
    assert "mean_sd" not in document


def test_members_given_singly_have_mean_and_deviation(capsys: pytest.CaptureFixture[str], files: list[Path]) -> None:
    document = judged(capsys, "--task", "weather", "--predictions", *files[1:])
    values = [section["rmse"] for section in document["files"]]
    assert document["mean_sd"]["rmse"] == {
        "mean": pytest.approx(np.mean(values)),
        "sd": pytest.approx(np.std(values)),
    }


def test_people_get_tables(capsys: pytest.CaptureFixture[str], files: list[Path]) -> None:
    assert main(["evaluate", "--task", "weather", "--predictions", *map(str, files)]) == 0
    text = capsys.readouterr().out
    for words in ("error: squared_error in °C²; acceptable: 1 °C²; measure: tvar", "ll_fu *", "paired-bootstrap"):
        assert words in text
    assert "nan" not in text


def test_generic_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("error,uncertainty\n0.5,0.1\n")
    document = judged(capsys, "--task", "generic", "--predictions", path, "--acceptable", 1)
    assert (document["n"], document["r_auc"], document["f1_auc"]) == (1, 0.25, pytest.approx(0.25))
    assert document["prr"] is None
    assert "in" not in document
    assert document["roc_auc"] is None


def test_operating_points_are_those_of_the_curves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("error,uncertainty\n1,1\n2,2\n3,3\n4,4\n")
    document = judged(
        capsys, "--task", "generic", "--predictions", path, "--acceptable", 2, "--at", 0.5, "--at", 1, "--at", 0
    )
    half, whole, none = document["at"]
    assert half == {"retention": 0.5, "error": 0.75, "answered_error": 1.5, "f1": pytest.approx(1)}
    assert (whole["error"], whole["answered_error"]) == (2.5, 2.5)
    assert (none["error"], none["answered_error"]) == (0, None)


def test_conventions_are_chosen(capsys: pytest.CaptureFixture[str], files: list[Path]) -> None:
    documents = [
        judged(capsys, "--task", "weather", "--predictions", files[0], "--convention", name)
        for name in ("official", "paper")
    ]
    assert [document["convention"] for document in documents] == ["official", "paper"]
    assert not math.isclose(documents[0]["f1_auc"], documents[1]["f1_auc"], rel_tol=1e-6)


@pytest.mark.long
def test_files_called_singles_are_summed_up_on_the_page_too(tmp_path: Path, files: list[Path]) -> None:
    report = tmp_path / "report"
    assert (
        main(["evaluate", "--task", "weather", "--singles", "--report", str(report), "--predictions", *map(str, files)])
        == 0
    )
    assert "Mean of the files" in (report / "report.html").read_text()


def test_groups_are_printed_one_a_row(capsys: pytest.CaptureFixture[str], files: list[Path]) -> None:
    assert main(["evaluate", "--task", "weather", "--by", "site", "--predictions", str(files[0])]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("site"))
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["a", "b"]


def test_companions_that_say_nothing_of_this_form_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arrays = {"trajectories": np.zeros((1, 1, 2, 2)), "weights": np.ones((1, 1)), "target": np.zeros((1, 2, 2))}
    np.savez(tmp_path / "m.npz", **arrays, uncertainty=np.zeros(1))
    words = refused(capsys, tmp_path, "--task", "motion", "--predictions", tmp_path / "m.npz", "--scenes", tmp_path)
    assert "leave --scenes out" in words
    np.savez(tmp_path / "c.npz", members=np.full((1, 2, 9), 1 / 9), target=np.zeros(2))
    words = refused(capsys, tmp_path, "--task", "weather", "--predictions", tmp_path / "c.npz", "--bins", "2")
    assert "leave --bins out" in words


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: object) -> str:
    report = tmp_path / "report"
    assert main(["evaluate", "--report", str(report), *map(str, arguments)]) == 2
    assert not report.exists(), "nothing was written"
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def test_a_bad_file_is_refused_by_name_and_field(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path]
) -> None:
    bad = tmp_path / "bad.npz"
    np.savez(bad, members=np.ones((1, 3, 2)))
    words = refused(capsys, tmp_path, "--task", "regression", "--predictions", files[0], bad)
    assert f"{bad}: target is missing; the file has members" in words


def test_files_of_unequal_length_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path]
) -> None:
    short = tmp_path / "short.npz"
    with np.load(files[0]) as whole:
        np.savez(short, members=whole["members"][:, :50], target=whole["target"][:50])
    words = refused(capsys, tmp_path, "--task", "regression", "--predictions", files[0], short)
    assert "200 units" in words
    assert "50" in words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bins", "0"], "--bins = 0: must be at least 1"),
        (["--at", "1.5"], "--at = 1.5: must be a retention between 0 and 1"),
        (["--bins", "201"], "bins is 201 for 200 rows: allowed is 1 to 200"),
        (["--acceptable", "-1"], "--acceptable = -1: must be a finite error of at least 0"),
        (["--human-error", "nan"], "--human-error = nan: must be"),
        (["--human-error", "inf"], "--human-error = inf: must be a finite error"),
        (["--by", "colour"], "there is no column 'colour'"),
        (["--error", "cubed"], "error 'cubed' is not one of"),
    ],
)
def test_bad_options_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path], arguments: list[str], words: str
) -> None:
    assert words in refused(capsys, tmp_path, "--task", "regression", "--predictions", files[0], *arguments)


def test_a_file_that_is_not_there_or_given_twice_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path]
) -> None:
    assert "no such file" in refused(capsys, tmp_path, "--task", "generic", "--predictions", tmp_path / "no.csv")
    twice = refused(capsys, tmp_path, "--task", "regression", "--predictions", files[0], files[0])
    assert "the same file occurs twice" in twice


def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path]
) -> None:
    (tmp_path / "file").write_text("")
    for report in (tmp_path / "file", tmp_path / "file" / "below"):
        assert main(["evaluate", "--task", "regression", "--predictions", str(files[0]), "--report", str(report)]) == 2
        assert "file" in capsys.readouterr().err
    assert main(["evaluate", "--task", "regression", "--predictions", str(files[0]), "--human-error", "1"]) == 2
    assert "give --report too" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["scenes", "references", "domains", "ground-truth"])
def test_options_that_say_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path], option: str
) -> None:
    words = refused(capsys, tmp_path, "--task", "regression", "--predictions", files[0], f"--{option}", tmp_path)
    assert f"--{option} has no effect on files of this task" in words


def test_members_of_other_ensembles_are_not_averaged(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path]
) -> None:
    with np.load(files[1]) as arrays:
        np.savez(
            tmp_path / "other.npz", members=arrays["members"], target=arrays["target"] + 1, shifted=arrays["shifted"]
        )
    words = refused(
        capsys, tmp_path, "--singles", "--task", "weather", "--predictions", files[1], tmp_path / "other.npz"
    )
    assert "different labels" in words


def test_numbers_beyond_all_figures_are_refused_by_their_row(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "huge.npz"
    np.savez(path, members=np.array([[[1e200, 1.0], [0.0, 1.0]]]), target=np.zeros(2))
    words = refused(capsys, tmp_path, "--task", "regression", "--predictions", path)
    assert f"{path}: members (mean)[0, 0] is 1e+200; at most 1e+150" in words


def test_a_pipe_is_refused_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in refused(capsys, tmp_path, "--task", "generic", "--predictions", tmp_path / "pipe")


@pytest.mark.long
@pytest.mark.parametrize(
    "rows",
    ["1,1\n1,1\n", "1,1\n", "inf,1\n1,2\n", "1,inf\n2,nan\n3,-inf\n", "1e308,1\n1e308,2\n"],
    ids=["constant", "one", "infinite error", "infinite uncertainty", "overflow"],
)
def test_odd_rows_are_judged_without_a_word_on_standard_error(tmp_path: Path, rows: str) -> None:
    paths = []
    for number in (1, 2):
        paths.append(tmp_path / f"{number}.csv")
        paths[-1].write_text("error,uncertainty\n" + rows)
    command = [sys.executable, "-m", "services.cli", "evaluate", "--json", "--task", "generic", "--acceptable", "1"]
    ran = subprocess.run(
        [*command, "--predictions", *map(str, paths), "--report", str(tmp_path / "report")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["clients/python", "."])},
    )
    assert ran.returncode == 0
    assert "Warning" not in ran.stderr
    json.loads(ran.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_directory_of_other_files_is_not_written_to(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[Path]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept.txt").write_text("mine")
    arguments = ["--task", "regression", "--predictions", str(files[0]), "--report", str(other)]
    assert main(["evaluate", *arguments]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == ["kept.txt"]


def test_structured_tasks_take_their_companions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [
        {
            "id": i,
            "uncertainty": rng.random(),
            "hypos": [{"text": "a b", "confidence": 0.25}, {"text": "c", "confidence": 0.75}],
        }
        for i in range(4)
    ]
    texts = tmp_path / "submission.json"
    texts.write_text("\n".join(json.dumps(line) for line in lines))
    (tmp_path / "refs.txt").write_text("a b\nc\nd\na b\n")
    (tmp_path / "domains.txt").write_text("0\n0\n1\n1\n")
    document = judged(
        capsys,
        "--task",
        "translation",
        "--predictions",
        texts,
        "--references",
        tmp_path / "refs.txt",
        "--domains",
        tmp_path / "domains.txt",
    )
    assert document["egleu"] == pytest.approx(100 * (0.25 + 0.75 + 0 + 0.25) / 4)
    assert document["shifted"]["egleu"] == pytest.approx(100 * 0.25 / 2)
    assert document["acceptable"] == 60

    scenes = tmp_path / "motion.npz"
    np.savez(
        scenes,
        trajectories=np.zeros((3, 1, 25, 2)),
        weights=np.ones((3, 1)),
        target=np.ones((3, 25, 2)),
        uncertainty=np.arange(3.0),
    )
    document = judged(capsys, "--task", "motion", "--predictions", scenes, "--error", "minADE")
    assert document["error_name"] == "minade"
    assert document["minade"] == pytest.approx(2**0.5)
    assert document["cnll"] == pytest.approx(25.0)
    assert (document["acceptable"], document["f1_at_95"]) == (1.0, None)
