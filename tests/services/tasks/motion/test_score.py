"""``demur score motion`` against a service that keeps the contract: what is written, and that ``evaluate`` reads it."""

import gc
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format

from models.evaluation.unit_errors import ErrorOptions
from models.tasks.motion.data import predictions
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.maps import encode_rendered
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.protocol.motion_pb2 import Scene, Submission
from services.cli import main
from tests.clients.motion.service import MotionStandIn, confidences, map_file, scene
from tests.clients.stand_in import serving
from tests.services.tasks.tables import table


@pytest.fixture
def motion() -> MotionStandIn:
    return MotionStandIn()


@pytest.fixture
def target(motion: MotionStandIn) -> Iterator[str]:
    with serving(motion) as where:
        yield where


def save(path: Path, content: Scene | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return path


def score(target: str, *arguments: object) -> int:
    return main(["score", "motion", *map(str, arguments), "--target", target])


def submitted(path: Path) -> list[tuple[str, int]]:
    return [
        (prediction.scene_id, prediction.track_id)
        for prediction in Submission.FromString(path.read_bytes()).predictions
    ]


def test_one_scene(target: str, motion: MotionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "out"
    assert score(target, save(tmp_path / "a.pb", scene("a")), out, "--figure") == 0
    output = capsys.readouterr().out
    assert "scene a, track 7: answered" in output
    assert output.endswith(f"2 requests of 1 file, 1 deferred, 1 shifted → {out}\n")
    assert {path.name for path in out.iterdir()} == {"submission.pb", "summary.csv", "figures"}
    assert {path.name for path in (out / "figures").iterdir()} == {"a_7.png", "a_9.png"}
    assert (out / "figures" / "a_7.png").read_bytes().startswith(b"\x89PNG")
    assert submitted(out / "submission.pb") == [("a", 7), ("a", 9)]
    first, second = table(out / "summary.csv")
    assert (first["file"], first["scene"], first["track"], first["decision"]) == ("a.pb", "a", "7", "answer")
    assert (first["uncertainty"], first["threshold"], first["measure"]) == ("5.0", "10.0", "request_uncertainty")
    assert (first["best_x_m"], first["best_y_m"]) == ("50.000", "0.000")
    np.testing.assert_allclose([float(share) for share in first["confidences"].split()], confidences(), atol=1e-4)
    assert [first[f"total_{second}s_m2"] for second in (1, 3, 5)] == ["0.5", "1.5", "2.5"]
    assert [first[f"knowledge_{second}s_m2"] for second in (1, 3, 5)] == ["0.125", "0.375", "0.625"]
    assert (first["prediction_id"], first["recorded"], first["error"]) == ("00000000000000d0-0", "1", "")
    assert (second["decision"], second["shifted"], second["remarks"]) == ("defer", "1", "fast")


def test_a_folder_of_scenes_can_be_judged(
    target: str, motion: MotionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "data", tmp_path / "data" / "out"
    for number in range(5):
        save(data / "eval_pb" / f"00{number % 2}" / f"{number}.pb", scene(f"s{number}", speed=5.0 + number))
    save(data / "PROVENANCE.json", b"{}")
    for _ in range(2):  # the second run does not take what the first has written for scenes
        assert score(target, data, out, "--json") == 0
        document = json.loads(capsys.readouterr().out)
    assert (document["files"], document["requests"], document["deferred"], document["failed"]) == (5, 10, 5, 0)
    rows = table(out / "summary.csv")
    files = [f"eval_pb/00{number % 2}/{number}.pb" for number in (0, 2, 4, 1, 3)]
    assert [row["file"] for row in rows] == [file for file in files for _ in range(2)], "sorted folders, sorted files"
    judged = predictions.read(out / "submission.pb", ErrorOptions(companions={"scenes": str(data / "eval_pb")}))
    assert len(judged.errors["cnll"].values) == 10
    assert judged.errors["minade"].values.max() < 1e-3, "the first plan is what happened"
    assert judged.measures["uncertainty"].tolist() == [5.0, 15.0] * 5
    arguments = ["--predictions", str(out / "submission.pb"), "--scenes", str(data / "eval_pb")]
    assert main(["evaluate", "--task", "motion", *arguments]) == 0
    assert "cnll" in capsys.readouterr().out
    assert {request.submission for request in motion.requests} == {True}


def test_scenes_in_json_are_scenes(target: str, tmp_path: Path, motion: MotionStandIn) -> None:
    text = json_format.MessageToJson(scene("j")).encode()
    motion.answer = lambda request, manner, right=motion.answer: right(_binary(request), manner)
    assert score(target, save(tmp_path / "data" / "j.json", text).parent, tmp_path / "out", "--figure") == 0
    assert submitted(tmp_path / "out" / "submission.pb") == [("j", 7), ("j", 9)]
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 2


def _binary(request):
    """As the service reads it."""
    request.scene = json_format.Parse(request.scene, Scene()).SerializeToString()
    return request


def test_tracks_of_a_single_scene_are_chosen(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "data" / "a.pb", scene("a", (1, 2, 3)))
    assert score(target, path, tmp_path / "out", "--tracks", 3, 1) == 0
    assert submitted(tmp_path / "out" / "submission.pb") == [("a", 3), ("a", 1)]
    assert score(target, path.parent, tmp_path / "out", "--tracks", 3) == 1
    assert "--tracks is for the file of a single scene" in capsys.readouterr().err


def test_rendered_maps_of_a_folder(target: str, motion: MotionStandIn, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for number in (3, 1, 2):
        save(data / "eval_rendered" / "000" / f"s_{number}.npy", map_file(number))
    save(data / "eval_pb" / "000" / "s.pb", scene("s"))
    assert score(target, data, tmp_path / "out", "--rendered") == 0
    assert submitted(tmp_path / "out" / "submission.pb") == [("s", 1), ("s", 2), ("s", 3)]
    assert [row["best_x_m"] for row in table(tmp_path / "out" / "summary.csv")] == ["5.000", "10.000", "15.000"]
    assert {request.WhichOneof("input") for request in motion.requests} == {"rendered"}


def test_a_rendered_map_is_drawn_from_its_channels(
    target: str, motion: MotionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = scenes.parse(scene("s").SerializeToString())
    feature_map = Renderer(drawn, OFFICIAL).draw(scenes.agent(drawn, 7))
    motion.answer = lambda request, manner, right=motion.answer: right(_small(request), manner)
    path = save(tmp_path / "s_7.npy", encode_rendered(feature_map))
    assert score(target, path, tmp_path / "out", "--figure") == 0
    assert (tmp_path / "out" / "figures" / "s_7.png").read_bytes().startswith(b"\x89PNG")
    assert score(target, save(tmp_path / "s_8.npy", map_file()), tmp_path / "odd", "--figure") == 1
    assert "no figure: " in capsys.readouterr().out
    assert submitted(tmp_path / "odd" / "submission.pb") == [("s", 8)], "only its figure is missing"


def _small(request):
    """What the stand-in understands."""
    request.rendered.files[0] = map_file()
    return request


def troubled(motion: MotionStandIn, data: Path) -> Path:
    """Three files: a request of the first and the whole second fail."""
    motion.spoilt = {9}
    for name, content in {"1": scene("1"), "2": b"\xff\xff", "3": scene("3", (1,))}.items():
        save(data / f"{name}.pb", content)
    return data


def test_what_fails_spoils_nothing_else(
    target: str, motion: MotionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = troubled(motion, tmp_path / "data"), tmp_path / "out"
    assert score(target, data, out) == 1
    output = capsys.readouterr().out
    assert "2.pb: failed: scene is no Scene" in output
    assert "1.pb, track 9: failed: position.x is nan m" in output
    assert "3 requests of 3 files, 1 deferred, 1 shifted, 1 failed, 1 files failed" in output
    rows = table(out / "summary.csv")
    assert [(row["file"], row["track"], bool(row["error"])) for row in rows] == [
        ("1.pb", "7", False),
        ("1.pb", "9", True),
        ("2.pb", "", True),
        ("3.pb", "1", False),
    ]
    assert submitted(out / "submission.pb") == [("1", 7), ("3", 1)]
    refused = [row["error"] != "" for row in rows]
    assert [row["reason"] == "invalid_input" for row in rows] == refused
    assert [row["decision"] == "defer" and not row["uncertainty"] for row in rows] == refused


@pytest.mark.parametrize(("way", "expected"), [("skip", [("1.pb", "7"), ("3.pb", "1")]), ("fail", [("1.pb", "7")])])
def test_what_fails_is_left_out_or_ends_the_run(
    target: str,
    motion: MotionStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    way: str,
    expected: list[tuple[str, str]],
) -> None:
    data, out = troubled(motion, tmp_path / "data"), tmp_path / "out"
    assert score(target, data, out, "--on-error", way) == 1
    rows = table(out / "summary.csv")
    assert [(row["file"], row["track"]) for row in rows] == expected
    assert {row["error"] for row in rows} == {""}
    written = capsys.readouterr()
    if way == "fail":
        assert "demur score: 1.pb, track 9: position.x is nan m" in written.err
        assert submitted(out / "submission.pb") == [("1", 7)]
    else:
        assert "1 failed, 1 files failed" in written.out


def test_a_request_is_submitted_once(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "data" / "1.pb", scene("s"))
    save(tmp_path / "data" / "copy.pb", scene("s"))
    assert score(target, tmp_path / "data", tmp_path / "out") == 1
    assert "copy.pb, track 7: an earlier file has the same request" in capsys.readouterr().out
    assert submitted(tmp_path / "out" / "submission.pb") == [("s", 7), ("s", 9)]


def test_withheld_predictions_leave_their_decisions(
    target: str, motion: MotionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    motion.withhold = True
    assert score(target, save(tmp_path / "a.pb", scene("a")), tmp_path / "out", "--figure") == 0
    assert "1 withheld" in capsys.readouterr().out
    rows = table(tmp_path / "out" / "summary.csv")
    assert [(row["decision"], bool(row["confidences"])) for row in rows] == [("answer", True), ("defer", False)]
    assert [path.name for path in (tmp_path / "out" / "figures").iterdir()] == ["a_7.png"]
    assert submitted(tmp_path / "out" / "submission.pb") == [("a", 7)]


def test_what_came_before_the_service_was_lost_is_written(
    motion: MotionStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        save(tmp_path / "data" / f"{number}.pb", scene(str(number)))
    right = motion.answer

    def lost(*arguments):
        if len(motion.requests) == 2:
            raise RuntimeError("lost")
        return right(*arguments)

    monkeypatch.setattr(motion, "answer", lost)
    with serving(motion) as target:
        assert score(target, tmp_path / "data", tmp_path / "out") == 1
    assert submitted(tmp_path / "out" / "submission.pb")[:2] == [("0", 7), ("0", 9)]
    assert len(table(tmp_path / "out" / "summary.csv")) == len(submitted(tmp_path / "out" / "submission.pb"))
    assert "demur score: " in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*.part"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.pb", "out"], "does not exist"),
        (["text.txt", "out"], "is no scene by its name; *.pb or *.json is needed"),
        (["empty", "out"], "has no scenes"),
        (["empty", "out", "--rendered"], "has no prerendered maps"),
        (["data", "text.txt"], "the output must be a folder"),
        (["data", "out", "--rendered", "--tracks", "1"], "--tracks is for the file of a single scene"),
    ],
)
def test_what_cannot_be_scored_is_said_before_the_service_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    save(tmp_path / "data" / "1.pb", scene("1"))
    assert score("127.0.0.1:9", *arguments) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_memory_does_not_grow_with_the_run(target: str, tmp_path: Path) -> None:
    """Peaks are those of this process, which the service is in as well."""
    gc.collect()
    gc.freeze()  # what other tests left would put off the collection of what this one leaves:
    gc.collect()  # the collector compares that with what this call finds
    small = scene("s", tuple(range(1, 13)))
    del small.future_vehicle_tracks[:], small.past_vehicle_tracks[:-1]
    peaks, sizes = [], []
    for count in (2, 10, 60):  # the first opens what stays open
        for number in range(count):
            small.id = f"s{number}"
            save(tmp_path / str(count) / f"{number:03}.pb", small)
        out = tmp_path / f"out{count}"
        tracemalloc.start()
        try:
            assert score(target, tmp_path / str(count), out) == 0
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        sizes.append((out / "submission.pb").stat().st_size)
        assert len(set(submitted(out / "submission.pb"))) == 12 * count
    gc.unfreeze()
    assert peaks[2] - peaks[1] < (sizes[2] - sizes[1]) / 2
