"""From scans to live figures: masks as labels, errors by nDSC, evidence and inputs, and ``demur evaluate`` agrees."""

import base64
import gzip
import io
import json
import time
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from models.artefact import Artefact
from models.assessment.segmentation import ndsc
from models.live.window_evaluator import WindowResult
from services.cli import main
from tests.models.lesion.bright import Case, case
from tests.models.lesion.heads import head, packed, unpacked
from tests.services.monitor.watching import Watch
from tests.services.tasks.lesion.conftest import Json, Served, serving

SCANS = 16


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("cases")
    return [case(folder, 100 + number) for number in range(SCANS)]


def mask_of(one: Case) -> bytes:
    assert one.truth is not None
    return one.truth.read_bytes()


async def labelled(served: Served, unit: str, mask: bytes, source: str) -> Json:
    label = {"unit": unit, "value": {"base64": base64.b64encode(mask).decode()}, "source": source}
    response = await served.http.post("/v1/labels", json={"labels": [label]})
    assert response.status_code == 200, response.text
    found: Json = response.json()
    return found


def judged(home: Path) -> dict[str, WindowResult]:
    """Source to the judgement of the last day."""
    watch = Watch(f"sqlite:///{home / 'ledger' / 'lesion.db'}", now=time.time() + 2)
    published = watch.at()
    watch.monitor.close()
    return {one.source: one for one in published.windows if one.window == "1d"}


async def test_live_errors_of_a_census_are_those_of_the_evaluation(
    three: Artefact, cases: list[Case], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "predictions"
    out.mkdir()
    errors, scores = [], []
    async with serving(three, tmp_path, census="lesions") as served:
        for one in cases:
            answer = await served.answer(one.flair.read_bytes(), maps="mask,rmi")
            files = {name: base64.b64decode(text) for name, text in answer["files"].items()}
            (out / f"{one.id}_pred_seg.nii.gz").write_bytes(files["mask.nii.gz"])
            (out / f"{one.id}_uncs_rmi.nii.gz").write_bytes(files["rmi.nii.gz"])
            (out / f"{one.id}_gt_isovox.nii.gz").write_bytes(mask_of(one))
            truth = np.asarray(unpacked(mask_of(one)).dataobj) == 1
            errors.append(1 - ndsc(truth, np.asarray(unpacked(files["mask.nii.gz"]).dataobj) == 1))
            scores.append(answer["uncertainty"])
            batch = await labelled(served, answer["prediction_id"], mask_of(one), "census")
            assert not batch["rejected"], batch
    live = judged(tmp_path)["census"]
    assert (live.valid, live.units, live.labels) == (True, SCANS, SCANS), live.reasons
    assert live.figures["mean_error"].estimate == pytest.approx(np.mean(errors), rel=1e-6)
    assert 0.01 < np.mean(errors) < 0.9, "heads are neither trivial nor hopeless"
    capsys.readouterr()
    assert main(["evaluate", "--task", "lesion", "--predictions", str(out), "--json"]) == 0
    evaluation = json.loads(capsys.readouterr().out)
    (figures, *_) = evaluation["measures"].values()
    assert figures["error"] == pytest.approx(np.mean(errors), rel=1e-6)


async def test_a_deferred_scan_is_asked_for_and_its_mask_judged(
    three: Artefact, cases: list[Case], tmp_path: Path
) -> None:
    async with serving(three, tmp_path, fixed_threshold=-1.0) as served:
        answer = await served.answer(cases[0].flair.read_bytes(), maps="mask")
        assert answer["deferred"]
        claimed = (await served.http.post("/v1/requests/claim", json={"count": 1})).json()
        (request,) = claimed["requests"]
        assert request.get("input") is None, "inputs are not kept unless settings say so"
        value = {"base64": base64.b64encode(mask_of(cases[0])).decode()}
        body = {"lease": request["lease"], "value": value}
        reply = await served.http.post(f"/v1/requests/{request['request']}/submit", json=body)
        assert reply.status_code == 200, reply.text
        told = (await served.http.get(f"/v1/units/{answer['prediction_id']}/resolution")).json()
    kept = np.load(io.BytesIO(base64.b64decode(told["value"]["base64"])))
    np.testing.assert_array_equal(kept, np.asarray(unpacked(mask_of(cases[0])).dataobj) == 1)
    live = judged(tmp_path)["requested"]
    assert live.labels == 1


async def test_kept_inputs_have_no_texts(three: Artefact, tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(head(), np.eye(4))
    image.header["descrip"] = b"Jane Doe 1970-01-01"
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension(6, b"PatientName=Jane Doe"))
    content = gzip.compress(image.to_bytes(), 1)
    async with serving(three, tmp_path, fixed_threshold=-1.0, keep_payload="on") as served:
        await served.answer(content, maps="mask", name="Jane Doe")
        claimed = (await served.http.post("/v1/requests/claim", json={"count": 1})).json()
    (request,) = claimed["requests"]
    kept = base64.b64decode(request["input"]["base64"])
    np.testing.assert_array_equal(np.asarray(unpacked(kept).dataobj), head())
    assert b"Jane" not in gzip.decompress(kept)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"Jane" not in file.read_bytes(), file


async def test_masks_of_other_voxels_are_refused_at_once(three: Artefact, cases: list[Case], tmp_path: Path) -> None:
    own = unpacked(mask_of(cases[0]))
    mask = np.asarray(own.dataobj)
    elsewhere = own.affine + np.pad([[9.0]], ((0, 3), (3, 0)))
    backwards = np.diag([-1.0, 1, 1, 1])
    backwards[0, 3] = len(mask) - 1
    turned = nibabel.Nifti1Image(mask[::-1], own.affine @ backwards)
    others = {
        "smaller": (nibabel.Nifti1Image(mask[:-2], own.affine), f"the scan {mask.shape[0]}x"),
        "elsewhere": (nibabel.Nifti1Image(mask, elsewhere), "its affine places them elsewhere"),
    }
    async with serving(three, tmp_path, fixed_threshold=-1.0) as served:
        answer = await served.answer(cases[0].flair.read_bytes(), maps="mask")
        (request,) = (await served.http.post("/v1/requests/claim", json={"count": 1})).json()["requests"]
        path = f"/v1/requests/{request['request']}/submit"
        for image, words in others.values():
            content = gzip.compress(image.to_bytes())
            (rejected,) = (await labelled(served, answer["prediction_id"], content, "requested"))["rejected"]
            assert rejected["error"]["code"] == "label_misfit"
            assert words in rejected["error"]["message"]
            value = {"base64": base64.b64encode(content).decode()}
            reply = await served.http.post(path, json={"lease": request["lease"], "value": value})
            assert (reply.status_code, reply.json()["error"]["code"]) == (422, "label_misfit")
            assert answer["prediction_id"] not in reply.text, "who labels does not know the unit"
        batch = await labelled(served, answer["prediction_id"], gzip.compress(turned.to_bytes()), "requested")
        assert batch["outcomes"] == ["accepted"]


BAD_MASKS: dict[str, tuple[Any, str]] = {
    "a number": (1.0, ".nii"),
    "no file": ({"base64": base64.b64encode(b"hello").decode()}, ".nii"),
    "other values": ({"base64": base64.b64encode(packed(head())).decode()}, "0 or 1"),
}


async def test_labels_that_are_no_masks_are_refused(three: Artefact, cases: list[Case], tmp_path: Path) -> None:
    async with serving(three, tmp_path, census="lesions") as served:
        answer = await served.answer(cases[0].flair.read_bytes(), maps="mask")
        for value, words in BAD_MASKS.values():
            label = {"unit": answer["prediction_id"], "value": value, "source": "census"}
            (rejected,) = (await served.http.post("/v1/labels", json={"labels": [label]})).json()["rejected"]
            assert words in rejected["error"]["message"]
