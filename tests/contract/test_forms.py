"""Forms with files in, files out: the same answers as other bodies, typed refusals, bounded size."""

import base64
import io
import json
import zipfile
from typing import Any

import httpx
import pytest

from tests.contract.serving import seen, serving
from tests.contract.toys import rows, volume

TOY = volume.TOY
SLICES = json.dumps(TOY.good["slices"]).encode()


def file(content: bytes = SLICES, name: str = "slices") -> dict[str, Any]:
    return {name: ("any name.json", content, "application/octet-stream")}


async def test_a_form_is_answered_like_the_same_question_as_json() -> None:
    async with serving(TOY) as served:
        formed = seen(await served.http.post("/v1/predict", files=file()))
        expected = await served.ask("http", TOY.good)
        assert formed.timeless == expected.timeless
        content = base64.b64decode(formed.answer["files"]["mask-0.json"])
        assert json.loads(content) == [expected.answer["items"][0]["payload"]]


async def test_an_archive_holds_the_answer_and_its_files() -> None:
    async with serving(TOY) as served:
        response = await served.http.post("/v1/predict", files=file(), headers={"accept": "application/zip"})
        assert response.headers["content-type"] == "application/zip"
        archive = zipfile.ZipFile(io.BytesIO(response.content))
        assert archive.namelist() == ["answer.json", "mask-0.json"]
        answer = json.loads(archive.read("answer.json"))
        assert "files" not in answer
        assert json.loads(archive.read("mask-0.json")) == [answer["items"][0]["payload"]]


async def test_texts_of_a_form_are_wishes() -> None:
    async with serving(TOY) as served:
        formed = seen(await served.http.post("/v1/predict", files=file(), data={"purpose": "replay"}))
        assert formed.answer["purpose"] == "replay"


async def test_a_withheld_prediction_is_in_no_file() -> None:
    async with serving(TOY, withhold=True) as served:
        doubtful = json.dumps(TOY.doubtful["slices"]).encode()
        formed = seen(await served.http.post("/v1/predict", files=file(doubtful)))
        assert formed.answer["files"] == {}


async def test_files_of_a_job_lie_behind_it() -> None:
    async with serving(TOY) as served:
        created = await served.http.post("/v1/jobs", files=file())
        assert created.status_code == 202
        location = created.headers["location"]
        view = await served.ended(location)
        path = view["result"]["files"]["mask-0.json"]
        assert path == f"{location}/files/mask-0.json"
        assert (await served.http.get(path)).json() == [view["result"]["items"][0]["payload"]]
        unknown = await served.http.get(f"{location}/files/other.json")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "no_file")
        await served.http.delete(location)
        assert (await served.http.get(path)).json()["error"]["code"] == "no_job"


async def test_files_count_among_the_results_that_are_kept() -> None:
    async with serving(TOY, max_job_bytes=400) as served:
        jobs = []
        for _ in range(3):
            jobs.append((await served.http.post("/v1/jobs", files=file())).headers["location"])
            await served.ended(jobs[-1])
        assert [(await served.http.get(job)).status_code for job in jobs] == [404, 404, 200]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"files": file(name="other") | file()}, "unknown_field"),
        ({"files": [*file().items(), *file().items()]}, "doubled_field"),
        ({"files": [("slices", (None, b"")), ("purpose", (None, b"decide"))]}, "missing_field"),
        ({"content": b"--x", "headers": {"content-type": "multipart/form-data"}}, "not_a_form"),
        ({"content": b"no parts", "headers": {"content-type": "multipart/form-data; boundary=x"}}, "not_a_form"),
        ({"content": b"", "headers": {"content-type": "multipart/form-data; boundary=x"}}, "not_a_form"),
    ],
)
async def test_what_is_no_such_form_is_refused(sent: dict[str, Any], code: str) -> None:
    async with serving(TOY) as served:
        outcome = seen(await served.http.post("/v1/predict", **sent))
        assert (outcome.code, outcome.error["code"]) == ("422", code)
        assert not served.probe.executed
        assert (await served.ask("http", TOY.good)).code == "OK"


async def test_a_form_may_be_larger_than_other_bodies_but_not_than_an_upload() -> None:
    limits = {"max_message_bytes": 2000, "max_upload_bytes": 4000}
    async with serving(TOY, **limits) as served:
        padded = SLICES + b" " * 3000
        assert seen(await served.http.post("/v1/predict", files=file(padded))).code == "OK"
        outcome = seen(await served.http.post("/v1/predict", files=file(SLICES + b" " * 5000)))
        assert (outcome.code, outcome.error["code"]) == ("413", "body_too_large")


async def test_a_task_without_forms_takes_none() -> None:
    async with serving(rows.TOY) as served:
        outcome = seen(await served.http.post("/v1/predict", files=file()))
        assert (outcome.code, outcome.error["code"]) == ("415", "content_type")


async def test_the_document_names_fields_files_and_archives() -> None:
    async with serving(TOY) as served:
        document = (await served.http.get("/v1/openapi.json")).json()
    call = document["paths"]["/v1/predict"]["post"]
    assert call["requestBody"]["content"]["multipart/form-data"]["schema"]["$ref"].endswith("/RequestForm")
    form = document["components"]["schemas"]["RequestForm"]
    assert form["required"] == ["slices"]
    assert form["properties"]["slices"]["format"] == "binary"
    assert "application/zip" in call["description"]
    assert "/v1/jobs/{job}/files/{file}" in document["paths"]


async def test_a_caller_that_sends_half_a_form_harms_nobody() -> None:
    async with serving(TOY) as served, served.on_socket() as client:
        request = client.build_request("POST", "/v1/predict", files=file())
        whole = request.read()

        async def half() -> Any:
            yield whole[: len(whole) // 2]

        headers = {"content-type": request.headers["content-type"]}
        response = await client.post("/v1/predict", content=half(), headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (422, "not_a_form")
        assert isinstance(response, httpx.Response)
        assert seen(await client.post("/v1/predict", files=file())).code == "OK"
