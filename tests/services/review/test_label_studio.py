"""Label Studio for rows, its webhook and its protocol of models: blind, idempotent, and refusing strangers."""

import base64
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
from prometheus_client import CollectorRegistry

from models.artefact import Artefact
from services.access.factory import open_access
from services.contract_tests.served import artefact_served
from services.runtime.settings import Settings
from tests.services.access.passes import Passes, bearer
from tests.services.review.consoles import SITUATION
from tests.services.review.studio import (
    Json,
    Studio,
    annotated,
    answer,
    command,
    console_before,
    outcomes,
    studio_beside,
)

UNITS = 4


@asynccontextmanager
async def deferring(
    reference: Artefact, folder: Path, **settings: Any
) -> AsyncIterator[tuple[Studio, httpx.AsyncClient]]:
    """A service with four deferred units, and Label Studio beside it."""
    chosen = {"fixed_threshold": -1.0, "drafts": True} | settings
    async with artefact_served(reference, "vessel", folder / "home", **chosen) as (_, _, http):
        rows = [SITUATION | {"stw": 14.0 + row} for row in range(UNITS)]
        predicted = await http.post("/v1/predict", json={"rows": rows})
        assert predicted.status_code == 200, predicted.text
        async with studio_beside("vessel", http, folder) as studio:
            yield studio, http


def power(value: Any) -> Json:
    return answer("number", "columns", {"number": value})


def kept_labels(folder: Path) -> list[tuple[Any, ...]]:
    """(version, assisted, seconds, actor) of all labels in the ledger."""
    with sqlite3.connect(folder / "home" / "ledger" / "vessel.db") as ledger:
        return ledger.execute("SELECT version, assisted, seconds, actor FROM label ORDER BY id").fetchall()


async def test_a_project_goes_out_blind_and_comes_back_as_labels(reference: Artefact, tmp_path: Path) -> None:
    async with deferring(reference, tmp_path) as (studio, http):
        config = tmp_path / "config.xml"
        tasks = await studio.exported("--config", str(config), "--lease-minutes", "60")
        assert (tmp_path / "tasks.json").stat().st_mode & 0o077 == 0, "leases are nobody else's"
        assert len(tasks) == UNITS
        for task in tasks:
            assert task.keys() == {"data"}
            assert task["data"].keys() == {"columns", "demur"}
            assert task["data"]["demur"].keys() == {"task", "head", "request", "lease", "queue"}
            assert task["data"]["columns"]["stw (kn)"] in (14.0, 15.0, 16.0, 17.0)
        root = ElementTree.fromstring(config.read_text())
        assert [element.tag for element in root] == ["Header", "Table", "Number"]
        assert "kW" in root[0].attrib["value"]
        assert (await http.post("/v1/requests/claim", json={"count": 9})).json() == {"requests": []}

        filled = [annotated(task, power(9000.5 + number), number=number) for number, task in enumerate(tasks, 1)]
        filled[2] = annotated(tasks[2], number=3, was_cancelled=True)
        filled[3] = tasks[3] | {"id": 4, "annotations": []}
        assert outcomes(await studio.imported(filled)) == ["accepted", "accepted", "skipped"]
        assert outcomes(await studio.imported(filled)) == ["duplicate", "duplicate", "not_held"]
        assert kept_labels(tmp_path) == [(1, 0, 4.25, "label-studio")] * 2
        changed = [annotated(tasks[0], power(9100), number=1)]
        assert outcomes(await studio.imported(changed)) == ["corrected"]
        assert outcomes(await studio.imported(changed)) == ["duplicate"]
        assert [version for version, *_ in kept_labels(tmp_path)] == [1, 1, 2]
        states = (await http.get("/v1/requests")).json()["heads"]["power"]
    assert (states["labelled"], states["skipped"], states["claimed"]) == (2, 1, 1)


async def test_drafts_come_with_their_prediction(reference: Artefact, tmp_path: Path) -> None:
    async with deferring(reference, tmp_path) as (studio, _):
        (task, *_) = await studio.exported("--queue", "drafts")
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert result["value"]["number"] == task["data"]["demur"]["draft"] > 1000
        assert outcomes(await studio.imported([annotated(task, result)])) == ["accepted"]
    ((_, assisted, _, _),) = kept_labels(tmp_path)
    assert assisted == 1


async def test_what_is_no_label_is_reported_and_the_others_are_submitted(reference: Artefact, tmp_path: Path) -> None:
    async with deferring(reference, tmp_path) as (studio, _):
        first, second, third, fourth = await studio.exported()
        foreign = {"data": first["data"] | {"demur": first["data"]["demur"] | {"task": "weather"}}}
        unknown = {"data": first["data"] | {"demur": first["data"]["demur"] | {"request": "0" * 32}}}
        path = {"data": first["data"] | {"demur": first["data"]["demur"] | {"request": "../labels"}}}
        stolen = {"data": first["data"] | {"demur": first["data"]["demur"] | {"lease": "0" * 32}}}
        bad: list[tuple[Json, Json, str]] = [
            (foreign, power(1), "no_task"),
            (unknown, power(1), "no_request"),
            (path, power(1), "no_request"),
            (stolen, power(1), "lease_lost"),
            ({"data": {"columns": {}}}, power(1), "not_a_body"),
            (second, power("9000"), "bad_label"),
            (second, power(True), "bad_label"),
            (second, power(10**400), "bad_label"),
            (second, answer("choices", "columns", {"choices": ["9000"]}), "bad_label"),
            (second, answer("number", "columns", {}), "bad_label"),
            (second, power(1) | {"from_name": "other"}, "bad_label"),
            (second, power(1) | {"value": None}, "bad_label"),
        ]
        tasks = [annotated(task, result) for task, result, _ in bad]
        tasks += [
            annotated(third, power(8000), lead_time=1e9),
            annotated(annotated(fourth, power(1)), power(2), number=2),
        ]
        report = await studio.imported(tasks, expected=1)
        assert [line.get("code") for line in report[: len(bad)]] == [code for *_, code in bad]
        assert outcomes(report) == ["refused"] * len(bad) + ["accepted", "accepted", "ignored"]
    assert kept_labels(tmp_path) == [(1, 0, None, "label-studio"), (1, 0, 4.25, "label-studio")]


async def test_an_export_that_fails_claims_nothing(reference: Artefact, tmp_path: Path) -> None:
    async with deferring(reference, tmp_path, keep_payload="off") as (studio, http):
        out = tmp_path / "tasks.json"
        words = ("review", "export", "vessel", "-o", str(out), "--url", studio.url)
        code, _, errors = await command(*words)
        assert (code, "KEEP_PAYLOAD=on" in errors, out.exists()) == (1, True, False)
        assert (await http.get("/v1/requests")).json()["heads"]["power"]["claimed"] == 0
        out.write_text("[]")
        assert (await command(*words))[0] == 2, "a file of claims is not overwritten"
        assert (await command(*words, "--lease-minutes", "9999"))[0] == 2
        out.unlink()
        assert (await command(*words, "--head", "draught"))[0] == 1
        assert (await command("review", "import", "vessel", str(tmp_path), "--url", studio.url))[0] == 2
        (tmp_path / "min.json").write_text('[{"columns": 3}]')
        assert (await command("review", "import", "vessel", str(tmp_path / "min.json"), "--url", studio.url))[0] == 2
        gone = ("review", "export", "vessel", "-o", str(out), "--url", "http://127.0.0.1:9")
        assert (await command(*gone))[0] == 1


def event(task: Json, action: str = "ANNOTATION_CREATED") -> Json:
    """Payload of a webhook about the newest annotation of a task."""
    (*_, annotation) = task["annotations"]
    shown = {name: value for name, value in task.items() if name != "annotations"}
    return {"action": action, "task": shown, "annotation": annotation, "project": {"id": 2, "title": "Ships"}}


async def test_the_webhook_submits_labels_with_a_token_only(reference: Artefact, tmp_path: Path) -> None:
    passes = Passes(tmp_path / "tokens.toml")
    token, other = passes.give("label studio", "review"), passes.give("bridge", "predict")
    settings = Settings(task="vessel", home=tmp_path, tokens=str(passes.path))
    access = open_access(settings, "review", CollectorRegistry(), any_task=True)
    hook = "/label-studio/vessel/webhook"
    async with deferring(reference, tmp_path) as (studio, _):
        (task, changed, *_) = await studio.exported()
        async with console_before(studio, access.authenticator, most_bytes=100_000) as console:
            created = event(annotated(task, power(9000)))
            for headers, status in (({}, 401), (bearer(other), 403), ({"cookie": f"demur_review_token={token}"}, 401)):
                refused = await console.post(hook, json=created, headers=headers)
                assert refused.status_code == status, refused.text
            basic = {"authorization": "Basic " + base64.b64encode(f"any:{token}".encode()).decode()}
            forged = await console.post(hook, json=created, headers=basic | {"origin": "https://elsewhere.example"})
            assert (forged.status_code, forged.json()["error"]["code"]) == (403, "foreign_origin")
            replies = [await console.post(hook, json=created, headers=headers) for headers in (basic, bearer(token))]
            assert [reply.json() for reply in replies] == [{"outcome": "accepted"}, {"outcome": "duplicate"}]
            updated = event(annotated(task, power(9100)), "ANNOTATION_UPDATED")
            assert (await console.post(hook, json=updated, headers=basic)).json() == {"outcome": "corrected"}
            skipped = event(annotated(changed, was_cancelled=True))
            assert (await console.post(hook, json=skipped, headers=basic)).json() == {"outcome": "skipped"}
            ignored = await console.post(hook, json={"action": "PROJECT_UPDATED", "project": {}}, headers=basic)
            assert (ignored.status_code, ignored.json()["outcome"]) == (200, "ignored")
            bad = {
                "no_task": {"action": "ANNOTATION_CREATED", "annotation": created["annotation"]},
                "no data": {"action": "ANNOTATION_CREATED", "annotation": {}, "task": {"data": {}}},
                "bad label": event(annotated(task, power("much"))),
                "no event": {"tasks": []},
            }
            for name, body in bad.items():
                assert (await console.post(hook, json=body, headers=basic)).status_code == 422, name
            huge = await console.post(hook, content=b" " * 100_001, headers=basic)
            assert (huge.status_code, huge.json()["error"]["code"]) == (413, "body_too_large")
            elsewhere = await console.post("/label-studio/weather/webhook", json=created, headers=basic)
            assert (elsewhere.status_code, elsewhere.json()["error"]["code"]) == (404, "no_task")
            lost = event(annotated({"data": changed["data"]}, power(1)))
            refused = await console.post(hook, json=lost, headers=basic)
            assert (refused.status_code, refused.json()["code"]) == (409, "lease_lost")
    assert [label[0] for label in kept_labels(tmp_path)] == [1, 2]


async def test_the_model_shows_drafts_and_nothing_of_blind_tasks(reference: Artefact, tmp_path: Path) -> None:
    async with deferring(reference, tmp_path) as (studio, _):
        (blind,) = await studio.exported("--count", "1")
        (draft, *_) = await studio.exported("--queue", "drafts", name="drafts.json")
        async with console_before(studio) as console:
            base = "/label-studio/vessel"
            assert (await console.get(f"{base}/health")).json()["status"] == "UP"
            setup = {"project": "1.2", "schema": "<View/>", "hostname": "", "access_token": "0"}
            assert (await console.post(f"{base}/setup", json=setup)).json() == {"model_version": "drafts"}
            pretending = {"data": blind["data"] | {"demur": blind["data"]["demur"] | {"queue": "drafts"}}}
            body = {"tasks": [blind, draft, pretending], "project": "1.2", "label_config": "<View/>", "params": {}}
            reply = await console.post(f"{base}/predict", json=body)
            first, second, third = reply.json()["results"]
            assert first["result"] == third["result"] == [], "what was exported blind stays blind, whatever a task says"
            assert second["result"] == draft["predictions"][0]["result"]
            stranger = {"tasks": [{"data": {"demur": blind["data"]["demur"] | {"task": "weather"}}}]}
            assert (await console.post(f"{base}/predict", json=stranger)).status_code == 422
            assert (await console.post(f"{base}/predict", json={"tasks": [{"data": {}}]})).status_code == 422
            hook = await console.post(f"{base}/webhook", json=event(annotated(blind, power(9000))))
            assert hook.json() == {"outcome": "accepted"}
            assert (
                await console.post(f"{base}/webhook", content=b"{", headers={"host": "evil.example"})
            ).status_code == 403
    assert [actor for *_, actor in kept_labels(tmp_path)] == ["label-studio"]
