"""What ``demur score`` writes is what ``demur evaluate`` reads: the same figures as of the members themselves."""

import csv
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from services.cli import main
from tests.clients.weather_service import NAMES, some_rows

N = 400


def labelled(path: Path, *, bad: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A file with temperatures, climates and what is shifted; its rows, labels and domains."""
    rows, random = some_rows(N), np.random.default_rng(8)
    target = (np.nan_to_num(rows)[:, 1] + random.normal(0, 2, N)).astype(np.float32)
    shifted = random.uniform(size=N) < 0.3
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "fact_temperature", "climate", "shifted"])
        for number, row in enumerate(rows.tolist()):
            cells = ["x" if number in bad else "" if np.isnan(value) else value for value in row]
            writer.writerow([*cells, float(target[number]), ("dry", "snow")[number % 2], int(shifted[number])])
    return rows, target, shifted


def evaluated(capsys: pytest.CaptureFixture[str], task: str, path: Path, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    command = ["evaluate", "--task", task, "--predictions", str(path), "--json", *map(str, words)]
    assert main(command) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def directly(target: str, path: Path, rows: np.ndarray, truth: np.ndarray, shifted: np.ndarray) -> None:
    """The members' answers as the file that evaluation has always read."""
    with demur.connect(target) as client:
        answer = client.weather.predict(rows, members=True, purpose="replay").temperature
    assert answer is not None
    assert answer.member_means is not None
    assert answer.member_variances is not None
    members = np.stack([answer.member_means, answer.member_variances], axis=-1)
    np.savez(path, members=members, target=truth, shifted=shifted)


def test_members_give_the_figures_of_members(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    directly(target, tmp_path / "members.npz", *labelled(source))
    assert main(["score", "weather", str(source), str(out), "--members", "--target", target]) == 0
    document = evaluated(capsys, "weather", out, "--by", "climate")
    expected = evaluated(capsys, "weather", tmp_path / "members.npz")
    for part in ("full", "in", "shifted"):
        for measure in ("tvar", "mvar", "varm", "epkl", "entropy"):
            assert document[part]["measures"][measure] == expected[part]["measures"][measure], (part, measure)
        for figure in ("rmse", "mae", "nll", "ence", "ence_tvar", "r3"):
            assert document[part][figure] == expected[part][figure], (part, figure)
    assert document["singles"] == expected["singles"]
    assert document["measure"] == "uncertainty", "what the service decided by comes first"
    assert set(document["by"]["climate"]) == {"dry", "snow"}


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_without_members_what_needs_none_is_the_same(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / name
    directly(target, tmp_path / "members.npz", *labelled(source))
    assert main(["score", "weather", str(source), str(out), "--target", target]) == 0
    document = evaluated(capsys, "weather", out)
    expected = evaluated(capsys, "weather", tmp_path / "members.npz")
    assert list(document["measures"]) == ["uncertainty", "tvar", "mvar", "varm", "entropy", "ll_fu"]
    for figure in ("error", "r_auc_optimal", "rmse", "mae", "mape"):  # this model's uncertainties tie
        assert document[figure] == pytest.approx(expected[figure], rel=1e-5), figure
    assert "nll" not in document


def test_refused_rows_and_rows_without_a_label_are_left_out(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    labelled(source, bad=(5, 399))
    lines = source.read_text().splitlines()
    cells = lines[8].split(",")
    cells[len(NAMES)] = ""
    source.write_text("\n".join([*lines[:8], ",".join(cells), *lines[9:]]) + "\n")
    assert main(["score", "weather", str(source), str(out), "--target", target]) == 1
    document = evaluated(capsys, "weather", out)
    assert document["n"] == N - 3
    assert document["notes"] == [
        "2 rows have no prediction (refused, or withheld): they are left out",
        "1 rows have no label in column fact_temperature: they are left out",
    ]


@pytest.mark.parametrize("name", ["df_submission.tar.gz", "df_submission.csv"])
def test_the_submission_is_judged_as_the_table(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    source, out, submission = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / name
    labelled(source)
    command = ["score", "weather", str(source), str(out), "--submission", str(submission), "--target", target]
    assert main(command) == 0
    if name.endswith("gz"):
        with tarfile.open(submission) as tar:
            assert tar.getnames() == ["df_submission.csv"]
    document = evaluated(capsys, "weather", submission, "--ground-truth", source, "--by", "climate")
    expected = evaluated(capsys, "weather", out, "--by", "climate")
    for figure in ("n", "r_auc", "f1_auc", "f1_at_95", "roc_auc", "rmse", "mae", "mape"):
        assert document[figure] == expected[figure], figure
    assert document["shifted"]["r_auc"] == expected["shifted"]["r_auc"]
    assert document["by"]["climate"]["dry"]["r_auc"] == expected["by"]["climate"]["dry"]["r_auc"]


def test_a_submission_that_lacks_a_row_is_refused(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, submission = tmp_path / "in.csv", tmp_path / "df_submission.csv"
    labelled(source, bad=(7,))
    out = str(tmp_path / "out.csv")
    command = ["score", "weather", str(source), out, "--submission", str(submission), "--target", target]
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["left_out"] == 1
    assert len(submission.read_text().splitlines()) == N
    judging = ["evaluate", "--task", "weather", "--predictions", str(submission)]
    assert main([*judging, "--ground-truth", str(source)]) == 2
    assert "has no prediction for row 7 (from 0)" in capsys.readouterr().err
    assert main(judging) == 2
    assert "give --ground-truth, the official file with the column fact_temperature" in capsys.readouterr().err


def test_precipitation_is_a_head_of_the_same_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(4)
    members = random.dirichlet(np.ones(9), (3, N)).astype(np.float32)
    members /= members.sum(axis=2, keepdims=True)
    truth = random.integers(0, 9, N)
    np.savez(tmp_path / "members.npz", members=members, target=truth)
    mean = members.mean(axis=0)
    entropy = -(mean * np.log(mean)).sum(axis=1)
    data = -(members * np.log(members)).sum(axis=2).mean(axis=0)
    columns: dict[str, Any] = {f"p{place}": mean[:, place] for place in range(9)}
    columns |= {"total": entropy, "data": data, "knowledge": entropy - data, "uncertainty": -mean.max(axis=1)}
    for number, rows in enumerate(members, 1):
        columns |= {f"member{number}.p{place}": rows[:, place] for place in range(9)}
    for name, with_members in (("whole.csv", True), ("plain.csv", False)):
        kept = [column for column in columns if with_members or not column.startswith("member")]
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["row", *(f"precipitation.{column}" for column in kept), "fact_cwsm_class"])
            writer.writerows(
                [row, *(float(columns[column][row]) for column in kept), 10.0 * truth[row]] for row in range(N)
            )
    expected = evaluated(capsys, "weather", tmp_path / "members.npz")
    whole = evaluated(capsys, "weather", tmp_path / "whole.csv", "--head", "precipitation")
    plain = evaluated(capsys, "weather", tmp_path / "plain.csv")
    assert {name: whole["measures"][name] for name in expected["measures"]} == expected["measures"]
    for figure in ("accuracy", "macro_f1", "nll", "brier", "majority_accuracy"):
        assert whole[figure] == expected[figure], figure
        assert plain[figure] == pytest.approx(expected[figure], rel=1e-6), figure
    assert list(plain["measures"]) == ["uncertainty", "confidence", "entropy", "data_entropy", "mi"]
    assert plain["measures"]["mi"]["r_auc"] == pytest.approx(expected["measures"]["mi"]["r_auc"], rel=1e-5)


@pytest.mark.parametrize(
    ("task", "header", "words", "says"),
    [
        (
            "vessel",
            "time_id,mean,total,data,knowledge,uncertainty",
            [],
            "column power with the labels is missing",
        ),
        ("vessel", "time_id,power", [], "column mean is missing; `demur score` writes it"),
        ("vessel", "power,mean,total,data,knowledge,uncertainty", [], "no row has both a prediction and a label"),
        ("vessel", "power,mean", ["--head", "power"], "--head has no effect on files of this task"),
        ("weather", "row,power", [], "no head is there: columns such as temperature.uncertainty"),
        ("weather", "temperature.uncertainty", ["--head", "precipitation"], "the file has temperature"),
        ("weather", "temperature.uncertainty", ["--ground-truth", "x.csv"], "leave --ground-truth out"),
    ],
)
def test_tables_that_cannot_be_judged_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, header: str, words: list[str], says: str
) -> None:
    (tmp_path / "in.csv").write_text(header + "\n" + ",".join([""] * (header.count(",") + 1)) + "\n")
    assert main(["evaluate", "--task", task, "--predictions", str(tmp_path / "in.csv"), *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}", "a list of {time_id, power, uncertainty} is needed"),
        ("[]", "a list of {time_id, power, uncertainty} is needed"),
        ('[{"time_id": 1, "power": 2}]', "time_id, power, uncertainty are needed"),
        ('[{"time_id": 1, "power": NaN, "uncertainty": 1}]', "power is nan; a finite number is needed"),
        ('[{"time_id": 1, "power": "2", "uncertainty": 1}]', "power is '2'; a finite number is needed"),
        ('[{"time_id": 1, "power": 2, "uncertainty": 1}, {"time_id": 1, "power": 2, "uncertainty": 1}]', "id occurs"),
        ('[{"time_id": 1, "power": 2, "uncertainty": 1}]', "has no prediction for row 1 (from 0)"),
        ("".join(["[", *(f'{{"time_id": {i}, "power": 2, "uncertainty": 1}},' for i in (1, 2)),
                  '{"time_id": 3, "power": 2, "uncertainty": 1}]']), "'3' is not a row of"),
        ("nonsense", "cannot be read as JSON"),
    ],
)  # fmt: skip
def test_submissions_of_power_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, says: str
) -> None:
    (tmp_path / "s.json").write_text(content)
    (tmp_path / "truth.csv").write_text("time_id,power\n1,100\n2,200\n")
    command = ["evaluate", "--task", "vessel", "--predictions", str(tmp_path / "s.json")]
    assert main([*command, "--ground-truth", str(tmp_path / "truth.csv")]) == 2
    assert says in capsys.readouterr().err
