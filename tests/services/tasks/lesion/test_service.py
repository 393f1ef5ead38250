"""Scans over both protocols: equal answers and maps, on the grid they came on, decided as the policy says."""

import base64
import io
import json
import zipfile
from typing import Any

import grpc
import nibabel
import numpy as np
import pytest

from demur.v1 import common_pb2, lesion_pb2
from models.artefact import Artefact
from models.tasks.lesion.artefact import recipe
from models.tasks.lesion.data.files import PROBABILITY_STEPS
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference import members
from models.tasks.lesion.inference.segment import segment
from services.transport.grpc.limits import LIMIT_KEY as KEY
from tests.contract.serving import detail
from tests.models.lesion.heads import SPOTS, head, packed, unpacked
from tests.services.tasks.documents import misfits
from tests.services.tasks.lesion.conftest import Json, Served, serving
from tests.services.tasks.served_task import same_deferral

MAPS = ("mask", "probability", "rmi", "total", "data", "knowledge", "advice")
PLAIN = packed(head())


def contents(answer: Json) -> dict[str, bytes]:
    """Map name to file, of an answer in JSON."""
    return {name.removesuffix(".nii.gz"): base64.b64decode(text) for name, text in answer["files"].items()}


def named(number: int) -> str:
    return lesion_pb2.LesionMap.Name(number).removeprefix("LESION_MAP_").lower()


def of_message(message: lesion_pb2.LesionPredictResponse) -> dict[str, bytes]:
    return {named(file.map): file.content for file in message.files}


def same(answer: Json, message: lesion_pb2.LesionPredictResponse) -> None:
    """All that both protocols tell of a scan."""
    proto_answer = message.answer
    assert (answer["model"], answer["recorded"], answer["name"]) == (message.model, message.recorded, message.name)
    assert answer["profile"] == message.profile != ""
    same_deferral(answer, proto_answer.deferral)
    for name in ("count", "volume_mm3", "total", "data", "knowledge", "rmi", "structural", "look_at_voxels"):
        assert proto_answer.HasField(name) == (name in answer), name
        assert getattr(proto_answer, name) == answer.get(name, 0), name
    for name in ("count_interval", "volume_interval"):
        part = getattr(proto_answer, name)
        assert {"level": part.level, "lower": part.lower, "upper": part.upper} == answer[name]
    assert len(proto_answer.lesions) == len(answer["lesions"])
    for part, other in zip(proto_answer.lesions, answer["lesions"], strict=True):
        assert (part.label, part.volume_mm3, list(part.centroid_mm)) == (
            other["label"],
            other["volume_mm3"],
            other["centroid_mm"],
        )
        assert part.mean_probability == other["mean_probability"]
        assert part.HasField("structural_uncertainty") == ("structural_uncertainty" in other)
        assert part.look_at == other.get("look_at", False)
    assert [(remark.code, remark.message) for remark in proto_answer.remarks] == [
        (r["code"], r["message"]) for r in answer["remarks"]
    ]


async def asked(served: Served, flair: bytes = PLAIN, **fields: Any) -> Json:
    return await served.answer(flair, **fields)


async def test_all_ways_of_asking_say_the_same_and_send_the_same_files(three: Artefact) -> None:
    async with serving(three) as served:
        formed = await asked(served, name="scan 7")
        message = await served.message(PLAIN, name="scan 7")
        text = {"flair": base64.b64encode(PLAIN).decode(), "name": "scan 7"}
        as_json = (await served.http.post("/v1/predict", json=text)).json()
        frames = await served.streamed({"flair": PLAIN, "name": "scan 7"})
    same(formed, message)
    same(as_json, message)
    files = contents(formed)
    assert tuple(files) == MAPS
    assert files == contents(as_json) == of_message(message)
    joined: dict[str, bytes] = {}
    for frame in frames:
        if frame.WhichOneof("frame") == "piece":
            joined[named(frame.piece.map)] = joined.get(named(frame.piece.map), b"") + frame.piece.content
    assert joined == files
    (result,) = [frame.result for frame in frames if frame.WhichOneof("frame") == "result"]
    assert not result.answer.files
    same(formed, result.answer)


async def test_maps_as_bytes_are_off_by_half_a_step_at_most(three: Artefact) -> None:
    uint8 = lesion_pb2.LESION_ENCODING_UINT8
    async with serving(three) as served:
        full = of_message(await served.message(PLAIN))
        small = of_message(await served.message(PLAIN, encoding=uint8))
        frames = await served.streamed({"flair": PLAIN, "encoding": uint8, "maps": [lesion_pb2.LESION_MAP_TOTAL]})
    assert small["mask"] == full["mask"]
    assert small["advice"] == full["advice"]
    assert sum(map(len, small.values())) < sum(map(len, full.values())) / 2
    for name in ("probability", "rmi", "total", "data", "knowledge"):
        image, expected = unpacked(small[name]), unpacked(full[name]).get_fdata()
        assert image.get_data_dtype() == np.uint8
        step = float(image.dataobj.slope)
        assert step == pytest.approx(expected.max() / 255, rel=1e-3)  # probabilities of full files are rounded, too
        np.testing.assert_allclose(image.get_fdata(), expected, rtol=0, atol=0.501 * step + 0.5 / PROBABILITY_STEPS)
        np.testing.assert_array_equal(image.affine, unpacked(full[name]).affine)
    streamed = b"".join(frame.piece.content for frame in frames if frame.WhichOneof("frame") == "piece")
    assert streamed == small["total"]


async def test_a_client_with_the_default_limit_is_told_what_to_do(three: Artefact) -> None:
    """What a client takes is not known unless it is stated: here two thirds of the answer."""
    async with serving(three) as served:
        limit = ((KEY, str((await served.message(PLAIN)).ByteSize() * 2 // 3)),)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.Predict(lesion_pb2.LesionPredictRequest(flair=PLAIN), metadata=limit)
        fitting = await served.stub.Predict(
            lesion_pb2.LesionPredictRequest(flair=PLAIN, encoding=lesion_pb2.LESION_ENCODING_UINT8), metadata=limit
        )
    assert caught.value.code().name == "RESOURCE_EXHAUSTED"
    for word in (limit[0][1], "LESION_ENCODING_UINT8", "PredictStream"):
        assert word in str(caught.value.details())
    assert len(fitting.files) == len(MAPS)


async def test_an_unknown_encoding_is_refused(three: Artefact) -> None:
    async with serving(three) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.message(PLAIN, encoding=9)
        frames = await served.streamed({"flair": PLAIN, "encoding": 9})
    assert detail(caught.value)["field"] == "encoding"
    (failed,) = [frame.error.error for frame in frames if frame.WhichOneof("frame") == "error"]
    assert failed.message == caught.value.details()


async def test_a_plain_answer_has_numbers_and_files(three: Artefact) -> None:
    async with serving(three) as served:
        message = await served.message(PLAIN, plain=True)
        frames = await served.streamed({"flair": PLAIN}, begin=common_pb2.StreamBegin(plain=True))
    (result,) = [frame.result.answer for frame in frames if frame.WhichOneof("frame") == "result"]
    for answer in (message, result):
        deferral = answer.answer.deferral
        assert (len(deferral.plain_uncertainty), len(deferral.plain_decisions), len(deferral.plain_ids)) == (1, 1, 1)
        assert not deferral.uncertainty + deferral.decisions + deferral.shifts
    assert len(message.files) == len(MAPS)


async def test_lesions_are_where_the_head_has_them(three: Artefact) -> None:
    async with serving(three) as served:
        answer = await asked(served)
    assert answer["count"] == 3
    centres = sorted(tuple(round(x) for x in lesion["centroid_mm"]) for lesion in answer["lesions"])
    assert centres == sorted(SPOTS)
    assert [lesion["label"] for lesion in answer["lesions"]] == [1, 2, 3]
    volume = sum(lesion["volume_mm3"] for lesion in answer["lesions"])
    assert answer["volume_mm3"] == pytest.approx(volume)
    assert answer["volume_interval"]["lower"] <= volume <= answer["volume_interval"]["upper"]
    mask = np.asarray(unpacked(contents(answer)["mask"]).dataobj)
    assert mask.sum() == volume


async def test_maps_are_those_of_the_numerics(three: Artefact) -> None:
    segmentation = segment(read_scan({"flair": PLAIN}, ("flair",)), members.members(three), recipe.read(three))
    async with serving(three) as served:
        files = contents(await asked(served))
    for name, values in segmentation.maps.items():
        slack = 0.5 / PROBABILITY_STEPS if name == "probability" else 0
        np.testing.assert_allclose(np.asarray(unpacked(files[name]).dataobj), values, rtol=0, atol=slack)
    np.testing.assert_array_equal(np.asarray(unpacked(files["mask"]).dataobj), segmentation.mask)


@pytest.mark.parametrize("axes", ["RAS", "LPI", "SRA", "PIL"])
async def test_answers_lie_on_the_grid_that_came(three: Artefact, axes: str) -> None:
    """Turned heads, and voxels of other sizes: shape and affine are the input's, lesions are at the same places."""
    image = nibabel.Nifti1Image(head(), np.eye(4))
    turned = image.as_reoriented(
        nibabel.orientations.ornt_transform(
            nibabel.orientations.axcodes2ornt("RAS"), nibabel.orientations.axcodes2ornt(axes)
        )
    )
    async with serving(three) as served:
        plain, other = await asked(served), await asked(served, packed(np.asarray(turned.dataobj), turned.affine))
    for lesion, same_one in zip(plain["lesions"], other["lesions"], strict=True):
        np.testing.assert_allclose(lesion["centroid_mm"], same_one["centroid_mm"], atol=0.01)
    for content in contents(other).values():
        file = unpacked(content)
        assert file.shape == turned.shape
        np.testing.assert_allclose(file.affine, turned.affine, atol=1e-5)
    assert other["resampled"] is False


async def test_a_scan_of_thick_slices_is_answered_on_its_slices(three: Artefact) -> None:
    affine = np.diag([1.0, 1.0, 2.0, 1.0])
    async with serving(three) as served:
        answer = await asked(served, packed(head()[:, :, ::2], affine))
    assert answer["resampled"] is True
    assert {unpacked(content).shape for content in contents(answer).values()} == {(56, 60, 26)}
    assert answer["count"] == 3


async def test_a_caller_names_the_maps_it_wants(three: Artefact) -> None:
    async with serving(three) as served:
        assert tuple(contents(await asked(served, maps="rmi, mask"))) == ("rmi", "mask")
        message = await served.message(PLAIN, maps=[lesion_pb2.LESION_MAP_PROBABILITY])
        assert tuple(of_message(message)) == ("probability",)
        assert (await served.form(PLAIN, maps="masks")).json()["error"]["code"] == "unknown_field"


async def test_a_single_model_has_no_knowledge(one: Artefact) -> None:
    async with serving(one) as served:
        answer = await asked(served)
        message = await served.message(PLAIN)
        refused = await served.form(PLAIN, maps="rmi")
    same(answer, message)
    assert not {"data", "knowledge", "rmi", "structural"} & answer.keys()
    assert not {"data", "knowledge", "rmi"} & contents(answer).keys()
    assert answer["measure"] == "entropy"
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unknown_field")


async def test_a_model_of_two_images_needs_both(both: Artefact) -> None:
    other = packed(np.where(head() > 0, 300 - head(), 0).astype(np.float32))
    async with serving(both) as served:
        assert (await asked(served, t1=other))["count"] == 3
        error = await served.refusal(PLAIN)
        described = await served.stub.Describe(common_pb2.DescribeRequest())
    assert error["field"] == "t1"
    assert [feature.name for feature in described.features] == ["flair", "t1"]


async def test_a_brain_mask_bounds_the_uncertainties(three: Artefact) -> None:
    half = (head() != 0) & (np.indices(head().shape)[0] < 28)
    async with serving(three) as served:
        answer = await asked(served, brain_mask=packed(half.astype(np.uint8)))
    total = np.asarray(unpacked(contents(answer)["total"]).dataobj)
    assert (total[~half] == 0).all()
    assert (total[half] > 0).any()
    assert answer["brain_ml"] == pytest.approx(half.sum() / 1000)


async def test_what_is_deferred_and_withheld_is_in_no_field_and_no_file(three: Artefact) -> None:
    async with serving(three, withhold=True, fixed_threshold=-1.0) as served:
        answer, message = await asked(served), await served.message(PLAIN)
    assert answer["deferred"]
    assert answer["files"] == {}
    assert not message.files
    assert not {"count", "lesions", "volume_mm3", "total"} & answer.keys()
    assert not message.answer.lesions
    assert not message.answer.HasField("count")


async def test_a_caller_may_be_stricter(three: Artefact) -> None:
    async with serving(three, fixed_threshold=1.0, defer_on_shift=False) as served:
        assert (await asked(served))["decision"] == "ANSWER"
        assert (await asked(served, defer_above="-0.5"))["decision"] == "CALLER_DEFERRED"
        assert (await served.form(PLAIN, defer_above="much")).json()["error"]["code"] == "not_a_number"


async def test_an_archive_holds_all_files(three: Artefact) -> None:
    async with serving(three) as served:
        response = await served.form(PLAIN, accept="application/zip")
        answer = await asked(served)
    archive = zipfile.ZipFile(io.BytesIO(response.content))
    assert archive.namelist() == ["answer.json", *(f"{name}.nii.gz" for name in MAPS)]
    archived = json.loads(archive.read("answer.json"))
    assert archived["lesions"] == answer["lesions"]
    assert archive.read("mask.nii.gz") == contents(answer)["mask"]


async def test_a_job_shows_progress_and_keeps_its_files(three: Artefact) -> None:
    async with serving(three) as served:
        view, events = await served.job({"flair": PLAIN})
        mask = await served.http.get(view["result"]["files"]["mask.nii.gz"])
        answer = await asked(served)
    assert events.rstrip().splitlines()[-2] == "event: done"
    assert view["state"] == "done"
    assert mask.content == contents(answer)["mask"]
    assert view["result"]["count"] == answer["count"]


async def test_scans_of_a_stream_are_answered_in_order_and_fail_alone(three: Artefact) -> None:
    begin = common_pb2.StreamBegin(purpose=common_pb2.PURPOSE_REPLAY)
    scans = [{"flair": PLAIN, "maps": [1]}, {"flair": b"no image"}, {"flair": PLAIN, "name": "last", "maps": [1]}]
    async with serving(three) as served:
        frames = await served.streamed(*scans, begin=begin)
    kinds = [(kind, getattr(frame, kind)) for frame in frames if (kind := frame.WhichOneof("frame")) != "progress"]
    ends = [(kind, event.sequence) for kind, event in kinds if kind in ("result", "error")]
    assert ends == [("result", 0), ("error", 1), ("result", 2)]
    assert {event.error.code for kind, event in kinds if kind == "error"} == {"not_nifti"}
    updates = [f.progress for f in frames if f.WhichOneof("frame") == "progress" and f.progress.HasField("sequence")]
    assert {update.sequence for update in updates} == {0, 2}
    assert frames[-1].progress.units_done == 2


async def test_the_document_describes_the_answers(three: Artefact) -> None:
    async with serving(three) as served:
        document = (await served.http.get("/v1/openapi.json")).json()
        answer = await asked(served)
    schemas = document["components"]["schemas"]
    del answer["files"]
    assert misfits(answer, schemas["Answer"], schemas) == []
    assert "multipart/form-data" in document["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
    assert set(schemas["RequestForm"]["properties"]) == {
        "flair",
        "t1",
        "brain_mask",
        "maps",
        "purpose",
        "defer_above",
        "name",
    }
