"""From scans to live figures: masks as labels, errors by nDSC, evidence and inputs, and ``demur evaluate`` agrees."""

import base64
import gzip
import io
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from models.artefact import Artefact
from models.assessment.segmentation import ndsc
from tests.models.lesion.bright import Case, case
from tests.models.lesion.heads import head, packed, unpacked
from tests.services.tasks.lesion.conftest import Json, serving
from tests.services.tasks.live import evaluated, judged

SCANS = 16


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("cases")
    return [case(folder, 100 + number) for number in range(SCANS)]


def mask_of(census_case: Case) -> bytes:
    assert census_case.truth is not None
    return census_case.truth.read_bytes()


def as_value(mask: bytes) -> Json:
    return {"base64": base64.b64encode(mask).decode()}


@pytest.mark.long
async def test_live_errors_of_a_census_are_those_of_the_evaluation(
    three: Artefact, cases: list[Case], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "predictions"
    out.mkdir()
    errors, scores = [], []
    async with serving(three, tmp_path, census="lesions") as served:
        for census_case in cases:
            answer = await served.answer(census_case.flair.read_bytes(), maps="mask,rmi")
            files = {name: base64.b64decode(text) for name, text in answer["files"].items()}
            (out / f"{census_case.id}_pred_seg.nii.gz").write_bytes(files["mask.nii.gz"])
            (out / f"{census_case.id}_uncs_rmi.nii.gz").write_bytes(files["rmi.nii.gz"])
            (out / f"{census_case.id}_gt_isovox.nii.gz").write_bytes(mask_of(census_case))
            truth = np.asarray(unpacked(mask_of(census_case)).dataobj) == 1
            errors.append(1 - ndsc(truth, np.asarray(unpacked(files["mask.nii.gz"]).dataobj) == 1))
            scores.append(answer["uncertainty"])
            batch = await served.labelled(answer["prediction_id"], as_value(mask_of(census_case)))
            assert not batch["rejected"], batch
    live = judged("lesion", tmp_path)["census"]
    assert (live.valid, live.units, live.labels) == (True, SCANS, SCANS), live.reasons
    assert live.figures["mean_error"].estimate == pytest.approx(np.mean(errors), rel=1e-6)
    assert 0.01 < np.mean(errors) < 0.9, "heads are neither trivial nor hopeless"
    (figures, *_) = evaluated("lesion", capsys, "--predictions", out).values()
    assert figures["error"] == pytest.approx(np.mean(errors), rel=1e-6)


async def test_a_deferred_scan_is_asked_for_and_its_mask_judged(
    three: Artefact, cases: list[Case], tmp_path: Path
) -> None:
    async with serving(three, tmp_path, fixed_threshold=-1.0) as served:
        answer = await served.answer(cases[0].flair.read_bytes(), maps="mask")
        assert answer["deferred"]
        (request,) = await served.claimed(count=1)
        assert request.get("input") is None, "inputs are not kept unless settings say so"
        reply = await served.submitted(request, as_value(mask_of(cases[0])))
        assert reply.status_code == 200, reply.text
        resolution = await served.resolution(answer["prediction_id"])
    kept = np.load(io.BytesIO(base64.b64decode(resolution["value"]["base64"])))
    np.testing.assert_array_equal(kept, np.asarray(unpacked(mask_of(cases[0])).dataobj) == 1)
    live = judged("lesion", tmp_path)["requested"]
    assert live.labels == 1


async def test_kept_inputs_have_no_texts(three: Artefact, tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(head(), np.eye(4))
    image.header["descrip"] = b"Jane Doe 1970-01-01"
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension(6, b"PatientName=Jane Doe"))
    content = gzip.compress(image.to_bytes(), 1)
    async with serving(three, tmp_path, fixed_threshold=-1.0, keep_payload="on") as served:
        await served.answer(content, maps="mask", name="Jane Doe")
        (request,) = await served.claimed(count=1)
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
        (request,) = await served.claimed(count=1)
        for image, words in others.values():
            content = gzip.compress(image.to_bytes())
            value = as_value(content)
            (rejected,) = (await served.labelled(answer["prediction_id"], value, "requested"))["rejected"]
            assert rejected["error"]["code"] == "label_misfit"
            assert words in rejected["error"]["message"]
            reply = await served.submitted(request, value)
            assert (reply.status_code, reply.json()["error"]["code"]) == (422, "label_misfit")
            assert answer["prediction_id"] not in reply.text, "who labels does not know the unit"
        value = as_value(gzip.compress(turned.to_bytes()))
        batch = await served.labelled(answer["prediction_id"], value, "requested")
        assert batch["outcomes"] == ["accepted"]


BAD_MASKS: dict[str, tuple[Any, str]] = {
    "a number": (1.0, ".nii"),
    "no file": (as_value(b"hello"), ".nii"),
    "other values": (as_value(packed(head())), "0 or 1"),
}


async def test_labels_that_are_no_masks_are_refused(three: Artefact, cases: list[Case], tmp_path: Path) -> None:
    async with serving(three, tmp_path, census="lesions") as served:
        answer = await served.answer(cases[0].flair.read_bytes(), maps="mask")
        for value, words in BAD_MASKS.values():
            (rejected,) = (await served.labelled(answer["prediction_id"], value))["rejected"]
            assert words in rejected["error"]["message"]
