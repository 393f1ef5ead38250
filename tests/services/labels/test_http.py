"""Labels, requests, resolutions and commits over HTTP, on a real service with a real ledger."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.transport.http.error_response import is_oip
from tests.contract.serving import Served, serving
from tests.services.tabular import TABULAR

ROWS = {"rows": [{"speed": 2.0, "wave": 0.5}, {"speed": 3.0, "wave": 9.0}]}
"""The first is answered, the second is deferred."""
SETTINGS: dict[str, Any] = {"census": "power"}


@asynccontextmanager
async def labelled(home: Path, **settings: Any) -> AsyncIterator[Served]:
    async with serving(TABULAR, recorded=True, home=home, **SETTINGS | settings) as served:
        yield served


async def predicted(served: Served, **wishes: Any) -> tuple[str, str]:
    """Ids of an answered and a deferred unit."""
    answer = await served.http.post("/v1/predict", json=ROWS | wishes)
    head = answer.json()["power"]
    assert head["decision"] == ["ANSWER", "DEFER"]
    answered, deferred = head["prediction_ids"]
    return answered, deferred


async def post(served: Served, path: str, body: Any, code: int = 200, **headers: str) -> Any:
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    answer = await served.http.post(path, content=content, headers={"content-type": "application/json", **headers})
    assert answer.status_code == code, answer.text
    document = answer.json()
    return document if code == 200 else document["error"]


async def test_a_deferred_unit_goes_through_the_feed_to_its_resolution(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        _, deferred = await predicted(served)
        path = f"/v1/units/{deferred}/resolution"
        assert (await served.http.get(path)).json() == {
            "unit": deferred,
            "status": "pending",
            "head": "power",
            "state": "requested",
        }
        (request,) = (await post(served, "/v1/requests/claim", {}, **{"demur-actor": "anna"}))["requests"]
        assert request["input"]["columns"] == [
            {"name": "speed", "value": 3.0, "unit": "m/s", "description": "Speed."},
            {"name": "wave", "value": 9.0, "unit": "m", "description": "Waves."},
        ]
        assert (request["head"], request["label"], request["must_complete"]) == ("power", "power, kW", False)
        waiting = asyncio.create_task(served.http.get(path, params={"wait": 30}, timeout=40))
        await asyncio.sleep(0.05)
        body = {"lease": request["lease"], "value": 31.5, "observed": 1_700_000_000}
        outcome = await post(served, f"/v1/requests/{request['request']}/submit", body)
        assert outcome == {"outcome": "accepted"}
        async with asyncio.timeout(40):
            resolution = (await waiting).json()
        assert resolution.pop("received") > 1_700_000_000
        assert resolution == {
            "unit": deferred,
            "status": "resolved",
            "head": "power",
            "state": "labelled",
            "value": 31.5,
            "label": "power, kW",
            "source": "requested",
            "version": 1,
            "observed": 1_700_000_000,
        }
        counts = (await served.http.get("/v1/requests")).json()["heads"]["power"]
        assert {state: count for state, count in counts.items() if count} == {"labelled": 1}


async def test_extend_release_and_skip(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        await predicted(served)

        async def claim() -> tuple[str, dict[str, str]]:
            (request,) = (await post(served, "/v1/requests/claim", {"count": 1.0, "seconds": 60, "head": "power"}))[
                "requests"
            ]
            return f"/v1/requests/{request['request']}", {"lease": request["lease"]}

        path, lease = await claim()
        assert (await post(served, f"{path}/extend", lease | {"seconds": 120}))["state"] == "claimed"
        assert (await post(served, f"{path}/release", lease))["state"] == "requested"
        assert (await post(served, f"{path}/release", lease, 409))["code"] == "lease_lost"
        path, lease = await claim()
        assert (await post(served, f"{path}/skip", lease | {"reason": ""}, 422))["code"] == "reason_needed"
        assert (await post(served, f"{path}/skip", lease | {"reason": "no log"})) == {
            "request": path.rpartition("/")[2],
            "state": "skipped",
            "lease_until": None,
        }
        assert (await post(served, f"/v1/requests/{'0' * 32}/skip", lease | {"reason": "r"}, 404))[
            "code"
        ] == "no_request"
        assert (await post(served, "/v1/requests/claim", b""))["requests"] == []


async def test_batches_answer_label_by_label(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        answered, deferred = await predicted(served)
        labels = [
            {"unit": deferred, "value": 1.0},
            {"unit": deferred, "value": 1.0},
            {"unit": answered, "value": 2.0, "source": "census"},
            {"unit": "x", "value": 1.0},
            {"unit": deferred, "value": "much"},
            {"unit": deferred},
            {"unit": deferred, "value": 1.0, "version": "two"},
            7,
            {"unit": deferred, "value": {"base64": "%"}},
            {"unit": deferred, "value": 3.0, "version": 2},
        ]
        batch = await post(served, "/v1/labels", {"labels": labels})
        words = ["accepted", "duplicate", "accepted", *["rejected"] * 6, "corrected"]
        assert batch["outcomes"] == words
        assert [(rejection["index"], rejection["error"]["code"]) for rejection in batch["rejected"]] == [
            (3, "bad_unit"),
            (4, "bad_label"),
            (5, "not_a_label"),
            (6, "not_a_label"),
            (7, "not_a_label"),
            (8, "bad_label"),
        ]
        document = await post(served, "/v1/resolutions", {"units": [deferred, answered, "0" * 16 + "-1"]})
        assert [(resolution["status"], resolution.get("value")) for resolution in document["resolutions"]] == [
            ("resolved", 3.0),
            ("resolved", 2.0),
            ("unknown", None),
        ]


REFUSED: list[tuple[str, Any, int, str]] = [
    ("/v1/labels", b"{", 422, "not_a_body"),
    ("/v1/labels", {}, 422, "not_a_body"),
    ("/v1/labels", {"labels": [], "extra": 1}, 422, "not_a_body"),
    ("/v1/labels", b'{"labels": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422, "not_a_body"),
    ("/v1/requests/claim", {"count": 0}, 422, "out_of_range"),
    ("/v1/requests/claim", {"count": 0.0}, 422, "out_of_range"),
    ("/v1/requests/claim", {"count": 4.5}, 422, "not_a_number"),
    ("/v1/requests/claim", {"seconds": 1e9}, 422, "out_of_range"),
    ("/v1/requests/claim", {"head": "wind"}, 422, "unknown_head"),
    ("/v1/resolutions", {"units": []}, 422, "out_of_range"),
    ("/v1/resolutions", {"units": ["x"]}, 422, "bad_unit"),
    ("/v1/resolutions", {"units": ["0" * 16 + "-1"], "wait": 61}, 422, "out_of_range"),
    ("/v1/resolutions/callbacks", {"units": ["0" * 16 + "-1"], "url": "http://127.0.0.1"}, 422, "callbacks_off"),
    ("/v1/commit", {"units": []}, 422, "no_rows"),
    ("/v1/commit", {"units": ["nonsense"]}, 422, "bad_unit"),
    ("/v1/requests/x/submit", {"lease": "l", "value": 1.0}, 404, "no_request"),
]


@pytest.mark.parametrize(("path", "body", "code", "word"), REFUSED, ids=lambda value: str(value)[:40])
async def test_refusals_are_typed(path: str, body: Any, code: int, word: str, tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        error = await post(served, path, body, code)
        assert error["code"] == word
        assert error["message"]


async def test_other_words_of_refusal(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        for query, code in (("wait=x", "not_a_number"), ("wait=99", "out_of_range"), ("", "no_unit")):
            answer = await served.http.get(f"/v1/units/{'0' * 16}-1/resolution?{query}")
            assert answer.json()["error"]["code"] == code
        headers = {"content-type": "application/protobuf"}
        answer = await served.http.post("/v1/labels", content=b"x", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "content_type")
        for actor in ("a" * 129, "\x7f"):
            answer = await served.http.post("/v1/requests/claim", headers={"demur-actor": actor})
            assert answer.json()["error"]["code"] == "bad_actor"


async def test_explored_units_can_be_committed(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        answered, deferred = await predicted(served, purpose="explore")
        assert (await post(served, "/v1/requests/claim", {}))["requests"] == [], (
            "nobody is asked about what is explored"
        )
        strange = "0" * 16 + "-1"
        for _ in range(2):
            committed = await post(served, "/v1/commit", {"units": [answered, deferred, strange]})
            assert committed == {"units": 2, "unknown": [strange]}
        assert len((await post(served, "/v1/requests/claim", {}))["requests"]) == 1


async def test_units_are_erased_by_id(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        _, deferred = await predicted(served)
        body = {"units": [deferred], "reason": "the owner asked"}
        assert await post(served, "/v1/erase", body) == {"erased": 1}
        assert await post(served, "/v1/erase", body) == {"erased": 0}
        assert (await served.http.get(f"/v1/units/{deferred}/resolution")).json()["status"] == "erased"
        assert (await post(served, "/v1/requests/claim", {}))["requests"] == []
        assert (await post(served, "/v1/erase", body | {"reason": ""}, 422))["code"] == "reason_needed"


async def test_without_a_ledger_every_route_says_so() -> None:
    async with serving(TABULAR) as served:
        for path in ("/v1/labels", "/v1/requests/claim", "/v1/resolutions", "/v1/requests/x/skip"):
            error = await post(served, path, {}, 501)
            assert error["code"] == "no_ledger"
        error = await post(served, "/v1/commit", {"units": ["0" * 16 + "-1"]}, 501)
        assert error["code"] == "no_ledger"


async def test_a_caller_that_leaves_ends_its_long_poll(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served, served.on_socket() as client:
        _, deferred = await predicted(served)
        with pytest.raises(httpx.ReadTimeout):
            await client.get(f"/v1/units/{deferred}/resolution", params={"wait": 60}, timeout=0.3)
        await served.until(lambda: 'demur_requests_total{code="499"' in served.metrics.text().decode())


async def test_the_document_has_every_route_and_resolves(tmp_path: Path) -> None:
    async with serving(TABULAR) as served:
        document = (await served.http.get("/v1/openapi.json")).json()
        routes = {route.path for route in served.app.routes}  # type: ignore[attr-defined]
        other = {path for path in routes if is_oip(path)}  # described by its own protocol and docs/oip.md
        assert routes - other <= set(document["paths"])
        references = set(re.findall(r'"#/components/schemas/(\w+)', json.dumps(document)))
        assert references <= set(document["components"]["schemas"])
        assert "power: power, kW" in document["components"]["schemas"]["Label"]["properties"]["value"]["description"]


async def test_real_bodies_fit_the_document(tmp_path: Path) -> None:
    """Fields of answers are the document's, no more and no fewer of the required ones."""
    async with labelled(tmp_path) as served:
        schemas = (await served.http.get("/v1/openapi.json")).json()["components"]["schemas"]
        _, deferred = await predicted(served)
        (request,) = (await post(served, "/v1/requests/claim", {}))["requests"]
        assert set(request) == set(schemas["LabelRequest"]["properties"])
        path = f"/v1/requests/{request['request']}"
        await predicted(served)
        around = (await served.http.get(f"{path}/neighbours", headers={"demur-lease": request["lease"]})).json()
        assert set(around) == set(schemas["Neighbours"]["properties"])
        assert [set(row) for row in around["after"]] == [set(schemas["Neighbour"]["properties"])]
        lease = await post(served, f"{path}/extend", {"lease": request["lease"]})
        assert set(lease) == set(schemas["Lease"]["properties"])
        await post(served, f"{path}/submit", {"lease": request["lease"], "value": 1.0})
        resolution = (await served.http.get(f"/v1/units/{deferred}/resolution")).json()
        assert set(resolution) == set(schemas["Resolution"]["properties"])
        counts = (await served.http.get("/v1/requests")).json()["heads"]["power"]
        assert set(counts) == set(schemas["CountsByState"]["properties"])


async def test_the_way_of_a_reviewer(tmp_path: Path) -> None:
    """Waiting list, claim by id, input, flag, label, prediction and correction, over HTTP."""
    async with labelled(tmp_path, keep_payload="on", drafts=True) as served:
        await predicted(served)
        counts = (await served.http.get("/v1/requests")).json()
        assert {name: counts[name] for name in ("keeps_inputs", "drafts", "adjudications")} == {
            "keeps_inputs": True,
            "drafts": True,
            "adjudications": 0,
        }
        (row,) = (await served.http.get("/v1/requests/waiting?head=power&limit=5")).json()["requests"]
        assert (row["state"], row["mine"], row["head"]) == ("requested", False, "power")
        claim = {"requests": [row["request"]], "inputs": False}
        (request,) = (await post(served, "/v1/requests/claim", claim))["requests"]
        assert [column["value"] for column in request["input"]["columns"]] == [3.0, 9.0], "rows always come along"
        assert (request["queue"], request["draft"], request["answers"]) == ("blind", None, [])
        base, lease = f"/v1/requests/{request['request']}", {"lease": request["lease"]}
        assert (await served.http.get(f"{base}/input")).status_code == 409
        content = await served.http.get(f"{base}/input", headers={"demur-lease": request["lease"]})
        assert (content.headers["content-type"], len(content.content)) == ("application/x-demur-row-f32", 8)
        assert content.headers["cache-control"] == "no-store"
        assert (await post(served, f"{base}/reveal", lease, 409))["code"] == "wrong_state"
        assert (await post(served, f"{base}/flag", lease | {"note": "odd"}))["state"] == "claimed"
        forged = lease | {"value": 2.0, "assisted": False}
        assert (await post(served, f"{base}/submit", forged, 422))["code"] == "not_a_body"
        too_long = lease | {"value": 2.0, "seconds": 90_000}
        assert (await post(served, f"{base}/submit", too_long, 422))["field"] == "seconds"
        assert await post(served, f"{base}/submit", lease | {"value": 2.0, "seconds": 3.5}) == {"outcome": "accepted"}
        shown = await post(served, f"{base}/reveal", lease)
        assert (shown["decision"], shown["error_unit"]) == ("defer", "kW²")
        assert shown["error"] == pytest.approx((shown["prediction"] - 2.0) ** 2)
        assert await post(served, f"{base}/correct", lease | {"value": 2.5}) == {"outcome": "corrected"}
        await predicted(served)
        (draft,) = (await post(served, "/v1/requests/claim", {"queue": "drafts"}))["requests"]
        assert draft["draft"] == pytest.approx(shown["prediction"])
        assert (await served.http.get("/v1/requests/waiting?limit=x")).status_code == 422
