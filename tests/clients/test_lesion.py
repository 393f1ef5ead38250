"""Brain scans over a real socket: files in pieces, answers in order, failures that stay with their scan."""

import csv
import gzip
import io
import json
import pickle
import re
from collections.abc import Iterator

import nibabel
import numpy as np
import pytest

import demur
from demur._lesion.request import PIECE_BYTES
from demur.v1 import common_pb2 as common
from demur.v1 import lesion_pb2 as wire
from tests.clients import readme
from tests.clients.lesion_service import MAPS, SINGLE, LesionStandIn, canned
from tests.clients.stand_in import PROFILE, serving


@pytest.fixture
def lesion() -> LesionStandIn:
    return LesionStandIn()


@pytest.fixture
def target(lesion: LesionStandIn) -> Iterator[str]:
    with serving(lesion) as where:
        yield where


def image() -> nibabel.Nifti1Image:
    return nibabel.Nifti1Image(np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.diag([1, 2, 3, 1]))


def test_an_answer_is_what_the_service_said(client, lesion):
    answer = client.lesion.predict(b"scan", name="anna 7")
    assert (answer.model, answer.recorded, answer.name) == ("lesion:1", True, "anna 7")
    assert answer.profile == PROFILE
    assert (answer.decision, answer.deferred, answer.answered) == ("answer", False, True)
    assert answer.uncertainty == pytest.approx(0.2)
    assert answer.threshold == pytest.approx(0.3)
    assert (answer.measure, answer.policy) == ("scan_structural_uncertainty", "p1")
    assert answer.prediction_id == "000000000000feed-100"
    assert list(answer.prediction_ids) == ["000000000000feed-100"]
    assert (answer.shifted, answer.shift_reasons) == (False, ())
    assert (answer.count, answer.count_interval) == (2, demur.Interval(0.9, 1, 4))
    assert (answer.volume_mm3, answer.volume_interval) == (1234.5, demur.Interval(0.9, 800, 2000))
    assert (answer.total, answer.data, answer.knowledge, answer.rmi) == (0.02, 0.015, 0.005, 0.004)
    assert answer.structural == pytest.approx(0.2)
    assert answer.lesions == (
        demur.Lesion(1200.0, (-20.5, 4.0, 23.0), 0.8, 0.1, False, 1),
        demur.Lesion(34.5, (-20.5, 4.0, 24.0), 0.4, 0.2, True, 2),
    )
    assert [(remark.code, remark.value, remark.unit) for remark in answer.remarks] == [("thick_slices", 3, "mm")]
    assert (answer.brain_ml, answer.resampled, answer.look_at_voxels) == (1320.5, False, 0.005)
    assert dict(answer.files) == {name: canned(name, b"scan") for name in MAPS}
    with pytest.raises(TypeError):
        answer.files["mask"] = b""
    with pytest.raises(AttributeError):
        answer.count = 3
    later = client.lesion.predict(b"scan")
    assert (later.decision, later.deferred, later.resampled) == ("defer", True, True)
    assert later.shift_reasons == ("knowledge_above_reference",)


def test_single_models_say_less(client, lesion):
    lesion.maps = SINGLE
    answer = client.lesion.predict(b"scan")
    assert (answer.data, answer.knowledge, answer.rmi, answer.structural) == (None,) * 4
    assert {area.structural_uncertainty for area in answer.lesions} == {None}
    assert set(answer.files) == set(SINGLE)


def test_a_withheld_prediction_is_only_a_decision(client, lesion):
    lesion.withhold = True
    shown, hidden = client.lesion.predict_many([b"1", b"2"])
    assert (shown.count, hidden.count) == (2, None)
    assert (hidden.volume_mm3, hidden.count_interval, hidden.total, hidden.look_at_voxels) == (None,) * 4
    assert (hidden.lesions, dict(hidden.files), hidden.decision) == ((), {}, "defer")
    assert hidden.remarks != ()
    assert "prediction withheld" in repr(hidden)
    assert "deferred" in hidden.summary()
    assert "volume mm³" not in hidden.summary()
    assert "brain" not in hidden.summary()
    assert "brain: 1320 ml" in shown.summary()


@pytest.mark.parametrize("inline", [False, True])
def test_large_files_go_and_come_in_pieces(client, lesion, inline):
    lesion.size, lesion.inline = 3 * PIECE_BYTES // 2, inline
    flair, t1 = np.random.default_rng(0).bytes(2 * PIECE_BYTES + 1), np.random.default_rng(1).bytes(PIECE_BYTES)
    answer = client.lesion.predict(flair, t1=t1, brain_mask=b"mask")
    assert lesion.scans == [{"flair": flair, "t1": t1, "brain_mask": b"mask"}]
    assert lesion.largest_piece == PIECE_BYTES
    assert dict(answer.files) == {name: canned(name, flair, lesion.size) for name in MAPS}


def test_images_are_paths_bytes_or_what_writes_itself(client, lesion, tmp_path):
    path = tmp_path / "scan.nii"
    content = image().to_bytes()
    path.write_bytes(content)
    for flair in (path, str(path), content, bytearray(content), memoryview(content), image()):
        client.lesion.predict(flair)
    assert [scan["flair"] for scan in lesion.scans] == [content] * 6


@pytest.mark.parametrize(
    ("images", "field", "says"),
    [
        ({"flair": "/nowhere/a.nii.gz"}, "flair", "/nowhere/a.nii.gz cannot be read: No such file"),
        ({"flair": b"1", "t1": "/nowhere/b.nii"}, "t1", "t1: /nowhere/b.nii cannot be read"),
        ({"flair": b""}, "flair", "flair is empty"),
        ({"flair": b"1", "brain_mask": b""}, "brain_mask", "brain_mask is empty"),
        ({"flair": None}, "flair", "a NIfTI file: its path"),
        ({"flair": 7}, "flair", "flair is 7"),
        ({"flair": np.zeros((2, 2, 2))}, "flair", "an image with to_bytes"),
    ],
)
def test_what_is_no_image_is_refused_before_anything_is_sent(client, lesion, images, field, says):
    with pytest.raises(demur.InvalidInput, match=re.escape(says)) as caught:
        client.lesion.predict(**images)
    assert caught.value.field == field
    assert lesion.begins == []


def test_wishes_travel(client, lesion):
    answer = client.lesion.predict(b"1", purpose="explore", defer_above=0.1, maps=["mask", "rmi"])
    assert (answer.decision, answer.deferred, answer.recorded) == ("caller_deferred", True, False)
    assert set(answer.files) == {"mask", "rmi"}
    client.lesion.predict(b"1", maps="mask")
    assert [begin.purpose for begin in lesion.begins] == [common.PURPOSE_EXPLORE, common.PURPOSE_DECIDE]
    assert list(lesion.requests[0].maps) == [wire.LESION_MAP_MASK, wire.LESION_MAP_RMI]
    assert list(lesion.requests[1].maps) == [wire.LESION_MAP_MASK]


def test_progress_is_told(client):
    reports = []
    client.lesion.predict(b"1", progress=lambda share, stage: reports.append((share, stage)))
    assert reports == [(0.25, "windows"), (0.75, "maps")]
    many = []
    list(client.lesion.predict_many([b"1", b"2"], progress=lambda *what: many.append(what)))
    assert sorted(many) == [(0, 0.25, "windows"), (0, 0.75, "maps"), (1, 0.25, "windows"), (1, 0.75, "maps")]


def test_what_the_service_refuses_is_raised(client):
    with pytest.raises(demur.InvalidInput, match=r"needed a \.nii") as caught:
        client.lesion.predict(b"bad")
    assert (caught.value.field, caught.value.code) == ("flair", "not_an_image")


def test_a_failed_scan_does_not_end_the_stream(client, lesion):
    scans = [demur.Scan(b"1", name="a"), b"bad", "/nowhere/c.nii", demur.Scan(b"bad", name="d"), b"2"]
    outcomes = list(client.lesion.predict_many(scans))
    kinds = [demur.LesionAnswer, *[demur.ScanError] * 3, demur.LesionAnswer]
    assert [type(outcome) for outcome in outcomes] == kinds
    assert [(error.position, error.name) for error in outcomes[1:4]] == [(1, ""), (2, ""), (3, "d")]
    assert [error.error.code for error in outcomes[1:4]] == ["not_an_image", "unreadable", "not_an_image"]
    assert outcomes[0].name == "a"
    assert outcomes[4].files["mask"] == canned("mask", b"2")
    assert len(lesion.begins) == 1


def test_explored_scans_can_be_committed(client, lesion):
    answer = client.lesion.predict(b"1", purpose="explore")
    assert client.lesion.commit(answer).units == 1
    (unit,) = lesion.commits[0].units
    assert (unit.epoch, unit.first, unit.count) == (0xFEED, 100, 1)


def test_describe_tells_which_images_the_model_wants(client, lesion):
    lesion.channels = ("flair", "t1")
    assert client.lesion.describe().names == ("flair", "t1")


def test_saved_files_have_the_official_names(client, tmp_path):
    answer = client.lesion.predict(b"scan", name="12")
    paths = answer.save(tmp_path / "new" / "folder")
    assert sorted(path.name for path in paths) == sorted(
        [
            "12_pred_seg.nii.gz",
            "12_pred_prob.nii.gz",
            "12_uncs_entropy.nii.gz",
            "12_uncs_data_entropy.nii.gz",
            "12_uncs_mi.nii.gz",
            "12_uncs_rmi.nii.gz",
            "12_advice.nii.gz",
            "12_lesions.csv",
        ]
    )
    assert sorted(paths) == sorted((tmp_path / "new" / "folder").iterdir())
    assert (tmp_path / "new" / "folder" / "12_uncs_rmi.nii.gz").read_bytes() == answer.files["rmi"]
    table = list(csv.DictReader(io.StringIO((tmp_path / "new" / "folder" / "12_lesions.csv").read_text())))
    assert [float(row["volume_mm3"]) for row in table] == [1200.0, 34.5]
    assert [(row["label"], row["look_at"], row["z_mm"]) for row in table] == [("1", "0", "23.0"), ("2", "1", "24.0")]
    assert {path.name.partition("_")[0] for path in answer.save(tmp_path, "other")} == {"other"}
    assert {path.name.partition("_")[0] for path in client.lesion.predict(b"1").save(tmp_path)} == {"scan"}
    for stem in ("a/b", "..", "a\\b"):
        with pytest.raises(demur.InvalidInput) as caught:
            answer.save(tmp_path, stem)
        assert caught.value.field == "stem"


def test_plain_values_are_json(client):
    document = json.loads(json.dumps(client.lesion.predict(b"1", name="x").to_dict()))
    assert (document["count"], document["deferred"], document["name"]) == (2, False, "x")
    assert document["volume_interval"] == {"level": 0.9, "lower": 800, "upper": 2000}
    assert document["lesions"][1]["centroid_mm"] == [-20.5, 4.0, 24.0]
    assert document["files"] == sorted(MAPS)
    assert (document["model"], document["profile"]) == ("lesion:1", PROFILE)


def test_what_it_shows_of_itself_is_readable(client):
    answer = client.lesion.predict(b"1", name="anna")
    shown = "<LesionAnswer: 'anna', 2 lesions, 1.23 ml, answered, model 'lesion:1', policy 'p1'>"
    assert repr(answer) == shown
    summary = answer.summary()
    assert "anna: answered" in summary
    assert "scan_structural_uncertainty 0.2 <= 0.3" in summary
    assert "volume: 1.23 ml (0.80 to 2.00 with 90%)" in summary
    assert "look at it" in summary
    assert "trust it" in summary
    assert "thick_slices: slices of 3 mm" in summary
    assert summary.endswith(f"model lesion:1, profile {PROFILE}")
    assert max(map(len, summary.splitlines())) <= 120
    assert "0.4 > 0.3" in client.lesion.predict(b"1").summary()
    assert "at the caller's wish" in repr(client.lesion.predict(b"1", defer_above=0))


def test_the_scans_of_the_readme_run(target, lesion, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("anna_FLAIR_isovox.nii.gz", "anna_gt_isovox.nii.gz", "a.nii.gz"):
        (tmp_path / name).write_bytes(name.encode())
    readme.run("lesion", "127.0.0.1:4004", target)
    output = capsys.readouterr().out
    assert "0.25 windows" in output
    assert "anna: answered" in output
    assert "b.nii.gz flair: b.nii.gz cannot be read" in output, "the one that is not there"
    assert len(lesion.scans) == 2
    assert [label.value.file for label in lesion.given] == [b"anna_gt_isovox.nii.gz"]
    assert (tmp_path / "answers" / "anna_uncs_rmi.nii.gz").is_file()


def test_values_pickle(client):
    lesion, remark = client.lesion.predict(b"1").lesions[0], demur.Remark("a", "b", 1, "mm", 0, 2)
    assert pickle.loads(pickle.dumps((lesion, remark))) == (lesion, remark)


def test_masks_are_labels_in_any_form(client, lesion, tmp_path):
    mask = np.zeros((3, 4, 5), bool)
    mask[1, 2, 3] = True
    picture = nibabel.Nifti1Image(mask.astype(np.uint8), np.eye(4))
    path = tmp_path / "mask.nii"
    path.write_bytes(picture.to_bytes())
    forms = (path.read_bytes(), path, picture, mask, mask.astype(float))
    labels = [demur.Label("000000000000feed-100", value) for value in forms]
    assert client.labels.submit(labels).outcomes == ("accepted",) * 5
    files = [label.value.file for label in lesion.given]
    assert files[0] == files[1] == picture.to_bytes() == gzip.decompress(files[2])
    for file in files[3:]:
        np.testing.assert_array_equal(np.load(io.BytesIO(gzip.decompress(file))), mask)
    client.labels.submit(demur.Label("000000000000feed-100", 3))
    assert lesion.given[-1].value.number == 3
    for value, says in ((tmp_path / "none.nii", "cannot be read"), (mask * 2.0, "0 or 1")):
        with pytest.raises(demur.InvalidInput, match=says):
            client.labels.submit(demur.Label("000000000000feed-100", value))


async def test_progress_is_told_asynchronously(target):
    reports = []
    async with demur.aconnect(target, timeout=10) as other:
        answer = await other.lesion.predict(b"scan", name="a", progress=lambda *what: reports.append(what))
    assert reports == [(0.25, "windows"), (0.75, "maps")]
    assert answer.name == "a"
