"""``demur calibrate``: what it prints, that its threshold does what it says, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from services.cli import main


def write(path: Path, **columns: np.ndarray) -> Path:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def columns() -> dict[str, np.ndarray]:
    """Two thousand units; an error above 1 becomes more frequent with the uncertainty, up to 30 %."""
    rng = np.random.default_rng(0)
    uncertainty = rng.random(2000)
    error = np.where(rng.random(2000) < 0.3 * uncertainty, 1.5, 0.2)
    return {"error": error, "uncertainty": uncertainty, "site": rng.choice(["a", "b"], 2000, p=[0.98, 0.02])}


@pytest.fixture
def file(tmp_path: Path, columns: dict[str, np.ndarray]) -> Path:
    return write(tmp_path / "units.csv", **columns)


def calibrated(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main(["calibrate", "--json", "--predictions", *map(str, arguments)]) == 0
    return json.loads(capsys.readouterr().out)


RISK = ("--acceptable", 1, "--risk", 0.1)


@pytest.mark.parametrize(
    "goal",
    [
        (*RISK, "--delta", 0.1),
        ("--retention", 0.9),
        ("--joint-risk", 0.05, "--acceptable", 1),
        ("--risk", 0.4, "--bound", 2),
        ("--capacity", 10, "--arrivals", 40),
    ],
    ids=lambda goal: goal[0] + goal[2] if len(goal) > 2 else goal[0],
)
def test_the_threshold_answers_the_share_that_is_printed(
    capsys: pytest.CaptureFixture[str], file: Path, columns: dict[str, np.ndarray], goal: tuple[object, ...]
) -> None:
    document = calibrated(capsys, file, *goal)
    u = columns["uncertainty"]
    assert document["retention"] == np.mean(u.astype(np.float32) <= np.float32(document["threshold"]))
    assert document["retention"] == np.mean(u <= document["threshold"]), "doubles decide the same"
    assert 0.3 < document["retention"] <= 1
    assert document["certificate"]["statement"]
    assert document["reason"] == ""
    assert document == calibrated(capsys, file, *goal), "the same file, the same answer"


def test_the_certificate_says_what_it_rests_on(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    certificate = calibrated(capsys, file, *RISK, "--model", "vessel:1", "--valid-days", 7)["certificate"]
    assert (certificate["alpha"], certificate["delta"], certificate["acceptable"]) == (0.1, 0.05, 1)
    assert (certificate["error"], certificate["measure"], certificate["model"]) == ("error", "uncertainty", "vessel:1")
    assert certificate["fold"] == "calibrate"
    assert 1800 < certificate["n"] < 2000
    assert certificate["pvalue"] <= 0.05


def test_a_fold_is_kept_for_judging(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    judged = calibrated(capsys, file, *RISK, "--judge-share", 0.3)["judged"]
    assert 500 < judged["n"] < 700
    assert judged["risk"]["low"] < judged["risk"]["estimate"] < judged["risk"]["high"]
    assert calibrated(capsys, file, *RISK, "--judge-share", 0)["judged"] is None
    assert calibrated(capsys, file, "--retention", 0.8)["judged"] is None


def test_parquet_and_other_names_of_columns_are_read(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path, columns: dict[str, np.ndarray]
) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    named = {"se": columns["error"], "tvar": columns["uncertainty"]}
    parquet.write_table(arrow.table(named), tmp_path / "units.parquet")
    other = calibrated(capsys, tmp_path / "units.parquet", *RISK, "--error", "se", "--uncertainty", "tvar")
    same = calibrated(capsys, file, *RISK)
    assert other["threshold"] == same["threshold"]
    assert other["certificate"]["measure"] == "tvar"


def test_groups_have_thresholds_of_their_own(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    document = calibrated(capsys, file, *RISK, "--by", "site")
    assert set(document["groups"]) == {"a", "b"}
    assert document["groups"]["a"]["certificate"]["delta"] == 0.025
    rare = document["groups"]["b"]
    assert (rare["threshold"], rare["retention"], rare["certificate"]) == (None, 0, None)
    assert "defer all" in rare["reason"]
    assert document["certificate"]["delta"] == 0.05
    assert set(rare) <= set(document)


def test_nothing_certifiable_is_an_answer(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    document = calibrated(capsys, file, "--acceptable", 1, "--risk", 0.001)
    assert (document["threshold"], document["retention"], document["certificate"]) == (None, 0, None)
    assert "no certifiable threshold: defer all" in document["reason"]
    assert "2995" in document["reason"]
    assert main(["calibrate", "--predictions", str(file), "--acceptable", "1", "--risk", "0.001"]) == 0
    assert "no certifiable threshold: defer all" in capsys.readouterr().out


def test_errors_of_0_and_1_need_no_limit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    u = rng.random(1500)
    path = write(tmp_path / "units.csv", error=(rng.random(1500) < 0.2 * u).astype(int), uncertainty=u)
    document = calibrated(capsys, path, "--risk", 0.08)
    assert document["threshold"] is not None
    assert "errors are 0 and 1" in document["notes"][0]


def test_retention_needs_no_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "units.csv", uncertainty=np.arange(99.0))
    document = calibrated(capsys, path, "--retention", 0.9)
    assert document["threshold"] == pytest.approx(89)
    assert document["certificate"]["error"] is None


def test_units_without_uncertainty_are_deferred_and_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, columns: dict[str, np.ndarray]
) -> None:
    u = np.where(np.arange(2000) % 4 == 0, np.nan, columns["uncertainty"])
    document = calibrated(capsys, write(tmp_path / "units.csv", error=columns["error"], uncertainty=u), *RISK)
    assert 0.3 < document["retention"] < 0.75
    assert "500 units have no uncertainty" in document["notes"][0]


def test_a_desk_turns_reviewers_into_a_capacity(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    desk = ("--reviewers", 5, "--handling", 60)
    document = calibrated(capsys, file, "--arrivals", 1000, *desk)
    assert document["goal"]["per_hour"] == pytest.approx(255)
    assert 0.8 < document["desk"]["busy"] <= 0.85
    assert document["desk"]["wait_seconds"] > 0
    busy = calibrated(capsys, file, "--arrivals", 1000, "--capacity", 290, *desk)
    assert "busier than 85 %" in busy["notes"][0]


def test_rows_of_one_id_are_in_one_fold(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    u = np.repeat(rng.random(1000), 2)
    ids = np.array([f"unit-{row // 2}" for row in range(2000)])
    path = write(tmp_path / "units.csv", id=ids, error=(rng.random(2000) < 0.2 * u).astype(int), uncertainty=u)
    document = calibrated(capsys, path, "--risk", 0.1, "--id", "id", "--judge-share", 0.5)
    assert document["judged"]["n"] % 2 == 0
    assert calibrated(capsys, path, "--risk", 0.1, "--judge-share", 0.5)["judged"]["n"] != document["judged"]["n"]


def test_files_of_a_task_are_calibrated_by_its_own_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(10_000, 3000, (3, 1500))
    mean[1:] = mean[0] + rng.normal(0, 100, (2, 1500))
    spread = rng.gamma(2, 150, 1500)
    members = np.stack([mean, np.broadcast_to(spread**2, (3, 1500))], axis=2)
    path = tmp_path / "served.npz"
    np.savez(path, members=members, target=rng.normal(mean.mean(axis=0), spread), shifted=np.arange(1500) % 2)
    document = calibrated(capsys, path, "--task", "vessel", "--risk", 0.1)
    assert document["certificate"]["acceptable"] == 500**2
    assert (document["measure"], document["error"]) == ("tvar", "squared_error")
    assert document["notes"][0].startswith("the predictions of 2 units are impossible: their uncertainty counts as inf")
    assert "750 of 1500 units are shifted" in document["notes"][1]
    assert calibrated(capsys, path, "--task", "vessel", "--risk", 0.1, "--uncertainty", "mvar")["measure"] == "mvar"
    assert (
        main(["calibrate", "--task", "vessel", "--predictions", str(path), "--risk", "0.1", "--uncertainty", "ll_fu"])
        == 2
    )
    assert "cannot be used to defer" in capsys.readouterr().err


def test_people_get_sentences(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    assert main(["calibrate", "--predictions", str(file), *map(str, RISK), "--by", "site"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    for words in ("answer where uncertainty is at most this", "with confidence 0.95", "exact binomial", "site units"):
        assert words in output
    assert "nan" not in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "expected one goal, --risk, --joint-risk, --retention or --capacity; got none"),
        (("--risk", 0.1, "--retention", 0.9), "got --risk and --retention"),
        (("--risk", 0.1), "error has values other than 0 and 1: give --acceptable"),
        (("--risk", 1.5, "--acceptable", 1), "--risk = 1.5: must be a share"),
        (("--risk", 0.1, "--acceptable", 1, "--delta", 0), "--delta = 0: must be"),
        (("--risk", 0.1, "--acceptable", "inf"), "--acceptable = inf: must be a finite number"),
        (("--risk", 0.1, "--acceptable", 1, "--bound", 2), "exclude each other"),
        (("--risk", "nan", "--acceptable", 1), "--risk = nan: must be"),
        (("--retention", 0), "--retention = 0: must be"),
        (("--retention", 0.9, "--bound", 2), "--bound: only for"),
        (("--joint-risk", 0.1, "--delta", 0.1), "leave --delta out"),
        (("--capacity", 5), "--capacity and --arrivals belong together"),
        (("--capacity", 5, "--arrivals", 0), "arrivals are 0"),
        (("--retention", 0.9, "--reviewers", 3), "--reviewers and --handling belong together"),
        (("--retention", 0.9, "--reviewers", 3, "--handling", 9), "--reviewers needs --arrivals"),
        (("--arrivals", 9, "--reviewers", 0, "--handling", 9), "reviewers is 0"),
        (("--retention", 0.9, "--judge-share", 1), "--judge-share = 1: must be a share in [0, 1)"),
        (("--retention", 0.9, "--valid-days", 0), "--valid-days = 0: must be between 1 and 36500"),
        (("--retention", 0.9, "--by", "ship"), "column ship is missing"),
        (("--retention", 0.9, "--uncertainty", "site"), "site"),
        (("--retention", 0.9, "--references", "x"), "--references has no effect"),
        (("--risk", 0.1, "--error", "se"), "column se is missing"),
    ],
)
def test_what_cannot_be_used_is_refused(
    capsys: pytest.CaptureFixture[str], file: Path, arguments: tuple[object, ...], words: str
) -> None:
    assert main(["calibrate", "--predictions", str(file), *map(str, arguments)]) == 2
    caught = capsys.readouterr()
    assert words in caught.err
    assert caught.out == ""


def test_an_error_outside_its_bound_is_named_by_its_row(
    capsys: pytest.CaptureFixture[str], file: Path, columns: dict[str, np.ndarray]
) -> None:
    row = int(np.argmax(columns["error"] > 1))
    arguments = ("--risk", "0.1", "--bound", "1", "--judge-share", "0.9", "--by", "site")
    assert main(["calibrate", "--predictions", str(file), *arguments]) == 2
    assert f"error[{row}] is 1.5" in capsys.readouterr().err


def test_bad_rows_are_refused_by_their_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "units.csv"
    for rows, words in (
        ("error,uncertainty\n1,2\n,3\n", "row 1 (from 0) has no error"),
        ("error,uncertainty\n1,2\nx,3\n", "x"),
        ("error\n1\n", "column uncertainty is missing"),
        ("error,uncertainty\n", "has no rows"),
    ):
        path.write_text(rows)
        assert main(["calibrate", "--predictions", str(path), "--risk", "0.1", "--acceptable", "1"]) == 2
        assert words in capsys.readouterr().err
    assert main(["calibrate", "--predictions", str(tmp_path / "none.csv"), "--retention", "0.9"]) == 2
    assert "no such file" in capsys.readouterr().err
