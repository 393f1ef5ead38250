"""``demur monitor replay``: from two files to figures, and what it says of files that are wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.assessment.figures import Errors, Rules, figures
from models.estimation.window import Window
from services.cli import main
from tests.statistical.streams import audited

KEYS = ["r_auc", "f1_auc", "f1_at_95", "error", "valid", "reasons", "ess", "n", "labels"]


def write(path: Path, columns: dict[str, Any]) -> Path:
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table(columns), path)
    else:
        rows = zip(*(list(column) for column in columns.values()), strict=True)
        lines = [",".join("" if cell is None or cell != cell else str(cell) for cell in row) for row in rows]
        path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def files(folder: Path, window: Window, suffix: str = ".csv", **more: Any) -> list[str]:
    """A stream of one unit a second; its labels came half a second later, in reverse."""
    n = len(window)
    ids = np.arange(n) + 1000
    events = {
        "event_id": ids,
        "time": np.arange(n) * 1.0,
        "uncertainty": window.uncertainty,
        "decision": np.where(window.answered, "answer", "defer"),
        "propensity": window.propensity,
    }
    there = np.flatnonzero(window.labelled)[::-1]
    labels = {"event_id": ids[there], "time": there + 0.5, "error": window.error[there]}
    return [
        "--events",
        str(write(folder / f"events{suffix}", events | more)),
        "--labels",
        str(write(folder / f"labels{suffix}", labels)),
    ]


def replayed(capsys: pytest.CaptureFixture[str], arguments: list[str], *more: str) -> dict[str, Any]:
    assert main(["monitor", "replay", *arguments, *more, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_document_begins_with_the_figures_in_their_order(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = replayed(capsys, files(tmp_path, audited(0, 20_000, 0.1).window, suffix), "--acceptable", "1")
    assert list(document)[:9] == KEYS
    assert list(document["r_auc"]) == ["estimate", "low", "high"]
    assert document["r_auc"]["low"] < document["r_auc"]["estimate"] < document["r_auc"]["high"]
    assert document["valid"] is True
    assert document["reasons"] == []
    assert document["n"] == 20_000
    assert document["labels"] == audited(0, 20_000, 0.1).window.labelled.sum()
    assert document["estimator"] == "aipw"


@pytest.mark.parametrize("estimator", ["ht", "hajek", "aipw"])
def test_with_all_labels_it_is_the_evaluation(
    estimator: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = audited(1, 5000, 0.1)
    document = replayed(capsys, files(tmp_path, stream.whole), "--acceptable", "1", "--estimator", estimator)
    known = figures(Errors(stream.errors, 1.0, Rules()), stream.whole.uncertainty)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert document[name]["estimate"] == pytest.approx(getattr(known, name), rel=1e-9)
    path = write(tmp_path / "rows.csv", {"error": stream.errors, "uncertainty": stream.whole.uncertainty})
    assert main(["evaluate", "--task", "generic", "--predictions", str(path), "--acceptable", "1", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert document[name]["estimate"] == pytest.approx(judged[name], rel=1e-9)
    assert document["valid"] is True
    sketched = replayed(capsys, files(tmp_path, stream.whole), "--acceptable", "1", "--mode", "sketch")
    assert sketched["r_auc"]["estimate"] == pytest.approx(known.r_auc, rel=1e-3)


def test_without_a_limit_there_is_no_f1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(capsys, files(tmp_path, audited(2, 5000, 0.2).window))
    assert document["f1_auc"] is None
    assert document["f1_at_95"] is None


def test_an_event_that_is_logged_twice_in_the_same_words_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = files(tmp_path, audited(3, 20_000, 0.2).window, site=np.where(np.arange(20_000) % 2 == 0, "east", "west"))
    once = replayed(capsys, options, "--by", "site")
    events = Path(options[1])
    head, *rows = events.read_text().splitlines()
    events.write_text("\n".join([head, *rows, *rows[100:110]]) + "\n")
    twice = replayed(capsys, options, "--by", "site")
    assert (once.pop("repeated"), twice.pop("repeated")) == (0, 10)
    assert once == twice


def test_groups_are_streams_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    window = audited(3, 20_000, 0.2).window
    site = np.where(np.arange(20_000) % 2 == 0, "east", "west")
    document = replayed(capsys, files(tmp_path, window, site=site), "--by", "site", "--estimator", "ht")
    assert set(document["groups"]) == {"east", "west"}
    assert list(document["groups"]["east"])[:9] == KEYS
    assert document["groups"]["east"]["n"] == 10_000
    alone = replayed(capsys, files(tmp_path, window.take(site == "east")), "--estimator", "ht")
    assert document["groups"]["east"]["mean_error"]["estimate"] == pytest.approx(
        alone["mean_error"]["estimate"], rel=1e-3
    )


def test_labels_and_events_after_the_moment_are_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(capsys, files(tmp_path, audited(4, 20_000, 0.2).window), "--at", "9999.25")
    assert document["n"] + document["delay"]["early"] == 10_000
    assert document["after"] == 10_000
    assert document["at"] == 9999.25


def test_words_of_our_services_and_of_any_case_are_decisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = write(
        tmp_path / "events.csv",
        {
            "event_id": list("abcd"),
            "time": [1, 2, 3, 4],
            "uncertainty": [1, 2, 3, 4],
            "decision": ["ANSWER", "Answer", "DEFER", "CALLER_DEFERRED"],
            "propensity": [1, 1, 1, 1],
        },
    )
    labels = write(tmp_path / "labels.csv", {"event_id": list("abcd"), "time": [5] * 4, "error": [1, 2, 3, 4]})
    document = replayed(capsys, ["--events", str(events), "--labels", str(labels)])
    assert document["retention"] == 0.5
    assert document["error"]["estimate"] == 0.75


def test_a_missing_propensity_makes_figures_invalid_not_the_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window = audited(5, 20_000, 0.1).window
    propensity = np.where(np.arange(20_000) == 7, np.nan, window.propensity)
    document = replayed(capsys, files(tmp_path, window, propensity=propensity))
    assert document["valid"] is False
    assert document["reasons"][0].startswith("positivity: 1 units have no propensity")


def test_tampered_propensities_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    window = audited(6, 20_000, 0.1).window
    document = replayed(capsys, files(tmp_path, window, propensity=np.where(window.answered, 0.2, 1.0)))
    assert document["valid"] is False
    assert [reason.split(":")[0] for reason in document["reasons"]] == ["mismatch"]


def test_streams_of_nothing_are_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, labels = tmp_path / "events.csv", tmp_path / "labels.csv"
    events.write_text("event_id,time,uncertainty,decision,propensity\n")
    labels.write_text("event_id,time,error\n")
    document = replayed(capsys, ["--events", str(events), "--labels", str(labels), "--acceptable", "1"])
    assert (document["n"], document["valid"], document["reasons"]) == (0, False, ["no_units: the window is empty"])
    assert document["r_auc"] == {"estimate": None, "low": None, "high": None}
    events.write_text("event_id,time,uncertainty,decision,propensity\na,1,1,answer,0.5\n")
    document = replayed(capsys, ["--events", str(events), "--labels", str(labels)])
    assert (document["n"], document["labels"], document["valid"]) == (1, 0, False)


BAD = {
    "decision": ("a,1,1,maybe,1", "row 0 (from 0): decision is 'maybe'; one of answer, defer, caller_deferred"),
    "time": ("a,,1,answer,1", "row 0 (from 0): time is nan; seconds are needed"),
    "id": (",1,1,answer,1", "row 0 (from 0): event_id is empty"),
    "twice": ("a,1,1,answer,1\na,2,1,defer,1", "row 1 (from 0): event_id is 'a', as in row 0, with another time"),
    "number": ("a,1,high,answer,1", "uncertainty"),
}


@pytest.mark.parametrize("name", BAD)
def test_events_that_cannot_be_read_are_named_by_row_and_field(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, labels = tmp_path / "events.csv", tmp_path / "labels.csv"
    rows, message = BAD[name]
    events.write_text(f"event_id,time,uncertainty,decision,propensity\n{rows}\n")
    labels.write_text("event_id,time,error\na,2,1\n")
    assert main(["monitor", "replay", "--events", str(events), "--labels", str(labels)]) == 2
    output = capsys.readouterr().err
    assert str(events) in output
    assert message in output


def test_labels_that_cannot_be_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, labels = tmp_path / "events.csv", tmp_path / "labels.csv"
    events.write_text("event_id,time,uncertainty,decision,propensity\na,1,1,answer,1\n")
    for rows, message in (("a,2,inf", "error is infinite"), ("a,nan,1", "time is nan"), ("a,2,x", "error")):
        labels.write_text(f"event_id,time,error\n{rows}\n")
        assert main(["monitor", "replay", "--events", str(events), "--labels", str(labels)]) == 2
        assert message in capsys.readouterr().err
    labels.write_text("event_id,error\na,1\n")
    assert main(["monitor", "replay", "--events", str(events), "--labels", str(labels)]) == 2
    assert "column time is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [(["--at", "nan"], "--at = nan"), (["--acceptable", "inf"], "--acceptable = inf"), (["--by", "site"], "site")],
)
def test_options_that_mean_nothing_are_refused(
    option: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["monitor", "replay", *files(tmp_path, audited(7, 100, 0.5).window), *option]) == 2
    assert message in capsys.readouterr().err
    assert main(["monitor", "replay", "--events", "none.csv", "--labels", "none.csv"]) == 2
    assert "none.csv: no such file" in capsys.readouterr().err


def test_ids_of_different_kinds_meet_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    window = audited(8, 2000, 0.5).window
    events = files(tmp_path, window, ".parquet")[:2]
    labels = files(tmp_path, window, ".csv")[2:]
    assert replayed(capsys, [*events, *labels])["labels"] == window.labelled.sum()


def test_people_get_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = files(tmp_path, audited(9, 5000, 0.02).window)
    assert main(["monitor", "replay", *arguments, "--acceptable", "1", "--what-if", "1.5"]) == 0
    output = capsys.readouterr().out
    for words in ("5000 units", "NOT VALID", "few_labels: ", "r_auc ", "threshold 1.5 would answer"):
        assert words in output
    assert "nan" not in output
