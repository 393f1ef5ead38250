"""A ledger written to files, and replayed."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.opinions import read_opinions
from models.evaluation.unit_errors import BadFile
from models.live.window_figures import FIGURES
from services.cli import main
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import HEAD, simulate


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_live_monitor_and_a_replay_of_the_same_ledger_say_the_same(
    quick_scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Labels come late, and some twice: correction for delay and the total order are the same code."""
    book = quick_scene.book()
    stream = simulate(20_000, 3, rate=0.05)
    first = book.decide(stream)
    requested = stream.asked
    early, late = requested[::2], requested[1::4]
    now = float(stream.time[-1]) + 1
    book.label((first + early).tolist(), stream.error[early].tolist(), now + 60)
    book.label((first + late).tolist(), (stream.error[late] + 1).tolist(), now + 400)
    book.label((first + late).tolist(), stream.error[late].tolist(), now + 500, version=2)
    book.beat(now + 600)
    watch = quick_scene.watch(now + 600)
    live = watch.window("last")
    monkeypatch.setenv("DEMUR_MONITOR_LEDGERS", quick_scene.url)
    events, labels = tmp_path / f"events.{form}", tmp_path / f"labels.{form}"
    assert main(["monitor", "export", "--events", str(events), "--labels", str(labels), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == len(early) + len(late)
    files = ["--events", str(events), "--labels", str(labels)]
    moment = ["--at", str(now + 600), "--acceptable", str(HEAD.acceptable)]
    assert main(["monitor", "replay", *files, *moment, "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    assert live.mode == "exact"
    assert (live.judged, live.labels) == (replayed["n"], replayed["labels"])
    assert live.effective_samples == pytest.approx(replayed["ess"], rel=1e-9)
    assert [f"{word}: {text}".lower().rstrip(".") for word, text in live.reasons] == [
        text.lower() for text in replayed["reasons"]
    ]
    for name in FIGURES:
        for end in ("estimate", "low", "high"):
            assert getattr(live.figures[name], end) == pytest.approx(replayed[name][end], rel=1e-9), (name, end)


@pytest.mark.long
def test_a_census_is_replayed_as_it_is_judged(
    quick_scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half the stream was decided before the census was declared: of that only audited and deferred units count."""
    book = quick_scene.book()
    before = simulate(10_000, 3, rate=0.2)
    now = float(before.time[-1]) + 1
    after = simulate(10_000, 4, rate=0.0, start=now)
    firsts = book.decide(before), book.decide(after, census=True)
    now = float(after.time[-1]) + 1
    known = before.asked
    book.label((firsts[0] + known).tolist(), before.error[known].tolist(), now, source="census")
    book.label(range(firsts[1], firsts[1] + 10_000), after.error.tolist(), now, source="census")
    book.beat(now)
    live = quick_scene.watch(now).window("last", source="census")
    assert live.valid, live.reasons
    monkeypatch.setenv("DEMUR_MONITOR_LEDGERS", quick_scene.url)
    files = ["--events", str(tmp_path / "events.csv"), "--labels", str(tmp_path / "labels.csv")]
    assert main(["monitor", "export", *files, "--source", "census"]) == 0
    capsys.readouterr()
    assert main(["monitor", "replay", *files, "--acceptable", str(HEAD.acceptable), "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    assert (live.units, live.labels, replayed["valid"]) == (replayed["n"], replayed["labels"], True)
    for name in FIGURES:
        assert live.figures[name].estimate == pytest.approx(replayed[name]["estimate"], rel=1e-9), name
    truth = np.concatenate([before.error, after.error]).mean()
    assert live.figures["mean_error"].low < truth < live.figures["mean_error"].high


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_opinions_are_exported_and_replayed_into_the_same_error_of_the_system(
    quick_scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    book = quick_scene.book()
    stream = simulate(2000, 3, rate=0.3)
    first, now = book.decide(stream), float(stream.time[-1]) + 1
    units = (first + stream.asked).tolist()
    book.label(units, (stream.error[stream.asked] + 2).tolist(), now)
    book.opine(units[:150], np.random.default_rng(1).exponential(4, 150).tolist(), now)
    book.opine(units[150:200], np.random.default_rng(2).exponential(2, 50).tolist(), now, kind="known", number=1)
    book.opine(units[200:210], [-1.0] * 10, now)
    book.beat(now + 1)
    live = quick_scene.watch(now + 1).window("last")
    monkeypatch.setenv("DEMUR_MONITOR_LEDGERS", quick_scene.url)
    names = ("events", "labels", "opinions")
    files = [word for name in names for word in (f"--{name}", str(tmp_path / f"{name}.{form}"))]
    assert main(["monitor", "export", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opinions"] == 210
    assert main(["monitor", "replay", *files, "--at", str(now + 1), "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    human, system = live.human_error, live.figures["system_error"]
    assert human is not None
    assert (human.n, human.method) == (replayed["opinions"], replayed["human_error_from"])
    assert human.mean == pytest.approx(replayed["human_error"]["estimate"])
    for end in ("estimate", "low", "high"):
        assert getattr(system, end) == pytest.approx(replayed["system_error"][end], rel=1e-9), end
    assert main(["monitor", "replay", *files, "--at", str(now + 1)]) == 0
    assert "error of a reviewer's label" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,1,third,1,squared,,", "kind is 'third'; one of second, known is needed"),
        ("a,1,second,-2,squared,,", "difference is '-2.0'; a number from 0, or empty is needed"),
        ("a,1,second,1,cubed,,", "relation is 'cubed'; one of squared"),
        ("a,1,second,1,class,,", "classes is nan; the number of classes, at least 2"),
    ],
)
def test_files_of_opinions_that_cannot_be_read_are_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "opinions.csv"
    path.write_text(f"event_id,time,kind,difference,relation,classes,largest\n{row}\n")
    with pytest.raises(BadFile, match=re.escape(message)):
        read_opinions(path)


def test_opinions_of_two_heads_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "opinions.csv"
    row = "a,1,second,1,squared"
    path.write_text(f"event_id,time,kind,difference,relation,head\n{row},power\n{row},fuel\n")
    with pytest.raises(BadFile, match="head is fuel and power; opinions of one head are needed"):
        read_opinions(path)
