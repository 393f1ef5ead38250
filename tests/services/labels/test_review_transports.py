"""The review queue is the same over HTTP and gRPC: calls, fields, refusals, scopes, and what reviewers cannot learn."""

import asyncio
import re
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from demur.v1 import labels_pb2
from services.access.rules import METHODS as RULES
from services.access.rules import SERVICE_ROUTES
from services.ledger.database import Database
from services.ledger.tables import flag, label, request_event
from services.transport.http import review_bodies
from services.transport.http.review_paths import review_schemas
from tests.contract.serving import Served, serving
from tests.services.access.passes import Passes
from tests.services.labels.reviewers import CALLS, METHODS, TRANSPORTS, Refused, Reviewer, Transport
from tests.services.tabular import TABULAR

DOUBTFUL, CERTAIN = {"speed": 3.1, "wave": 9.7}, {"speed": 3.1, "wave": 0.7}
"""Rows: the first is deferred, the second is answered."""
OWN = ("request", "lease", "lease_until", "due")
"""Fields that differ from request to request."""
ASSISTED = b"\xa0\x06\x00"
"""Field 100 of a message, false: no field of the contract."""


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Transport:
    chosen: Transport = request.param
    return chosen


@asynccontextmanager
async def labelled(home: Path, **settings: Any) -> AsyncIterator[Served]:
    async with serving(TABULAR, recorded=True, home=home, keep_payload="on", **settings) as served:
        yield served


async def decided(served: Served, decision: str = "DEFER", row: Any = DOUBTFUL, count: int = 1) -> list[str]:
    """Return the ids of units on which the policy has decided as expected."""
    head = (await served.http.post("/v1/predict", json={"rows": [row] * count})).json()["power"]
    assert set(head["decision"]) == {decision}
    ids: list[str] = head["prediction_ids"]
    return ids


async def refused(call: Any) -> str:
    with pytest.raises(Refused) as caught:
        await call
    assert caught.value.error["message"]
    return caught.value.code


def request_values(request: dict[str, Any]) -> list[Any]:
    return [column["value"] for column in request["columns"]]


def rows(served: Served, table: Any, *names: str) -> list[tuple[Any, ...]]:
    """Return columns of all rows of a table of the ledger, in the order of writing."""
    assert served.settings.ledger_url is not None
    reading = Database(served.settings.ledger_url).reading()
    with reading.connect() as connection:
        query = select(*(table.c[name] for name in names)).order_by(table.c.id)
        content = [tuple(row) for row in connection.execute(query)]
    reading.dispose()
    return content


async def test_the_way_of_a_reviewer(transport: Transport, tmp_path: Path) -> None:
    """Counts, waiting list, claim by id, input, flag, label, prediction, correction, and a draft."""
    async with labelled(tmp_path, drafts=True) as served:
        await decided(served, count=3)
        anna = Reviewer(served, transport)
        state = await anna("counts")
        assert [entry["count"] for entry in state["counts"] if entry["state"] == "requested"] == [3]
        assert (state["keeps_inputs"], state["drafts"], state["adjudications"]) == (True, True, 0)
        first = await anna("waiting", head="power", limit=2)
        rest = await anna("waiting", head="power", limit=2, after=first["next"])
        waiting = first["requests"] + rest["requests"]
        assert (len(first["requests"]), len(rest["requests"]), rest["next"]) == (2, 1, "")
        assert {(row["head"], row["state"], row["mine"]) for row in waiting} == {("power", "requested", False)}
        (request,) = await anna.claim(requests=[waiting[1]["request"], "0" * 32], count=5, without_inputs=True)
        assert (request["due"], request["request"] in str(waiting)) == (waiting[1]["due"], False)
        assert [column["value"] for column in request["columns"]] == [3.1, 9.7], "rows always come along"
        assert (request["queue"], request["draft"], request["answers"], request["input"]) == ("blind", None, [], b"")
        assert await anna.claim(requests=[]) == [], "none are named"
        assert [row["mine"] for row in (await anna("waiting"))["requests"]].count(True) == 1
        shown = await anna("input", request)
        assert (shown["media_type"], shown["content"]) == (request["media_type"], struct.pack("<ff", 3.1, 9.7))
        around = await anna("neighbours", request)
        assert around["names"] == ["speed", "wave"]
        assert [row["values"] for row in around["before"] + around["after"]] == [request_values(request)] * 2
        assert all(row["seconds"] <= 0 for row in around["before"])
        assert all(row["seconds"] >= 0 for row in around["after"])
        assert (await anna("extend", request, seconds=5000))["lease_until"] > request["lease_until"] + 4000
        assert (await anna("flag", request, note="odd"))["state"] == "claimed"
        assert await refused(anna("reveal", request)) == "wrong_state"
        assert await refused(anna("correct", request, value=1.0)) == "wrong_state"
        assert await anna("submit", request, value=2.0, seconds=3.5, observed=1.7e9) == {"outcome": "accepted"}
        assert await anna("submit", request, value=2.0) == {"outcome": "duplicate"}
        assert await refused(anna("submit", request, value=3.0)) == "already_labelled"
        assert await anna("correct", request, value=2.5, seconds=1.0) == {"outcome": "corrected"}
        revealed = await anna("reveal", request)
        assert revealed["deferred"] is True
        assert revealed["prediction"] == pytest.approx(3.1**3 + 4.85)
        assert revealed["error"] == pytest.approx((revealed["prediction"] - 2.5) ** 2)
        assert revealed["uncertainty"] == pytest.approx(9.7 + 4.85**2)
        assert (revealed["measure"], revealed["threshold"]) == ("", None), (
            "this service keeps no policies in its ledger"
        )
        assert revealed["error_unit"] == "kW²"
        assert await anna("correct", request, value=2.75) == {"outcome": "corrected"}
        assert rows(served, label, "actor", "version", "seconds", "assisted", "observed") == [
            ("anna", 1, 3.5, 0, 1.7e9),
            ("anna", 2, 1.0, 0, None),
            ("anna", 3, None, 1, None),
        ]
        assert rows(served, flag, "actor", "note") == [("anna", "odd")]
        (draft,) = await anna.claim(queue="drafts", seconds=60)
        assert (draft["queue"], draft["draft"]) == ("drafts", revealed["prediction"])
        assert (await anna("release", draft, reason="lunch"))["state"] == "requested"
        (other,) = await anna.claim()
        ended = await anna("skip", other, reason="no log", unlabelable=True)
        assert ended == {"request": other["request"], "state": "unlabelable", "lease_until": None}
        reasons = [reason for _, reason in rows(served, request_event, "state", "reason") if reason]
        assert reasons == ["with its prediction", "lunch", "no log"]


async def test_another_reviewers_lease_is_refused(transport: Transport, tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        await decided(served, count=2)
        anna, ben = Reviewer(served, transport), Reviewer(served, transport, "ben")
        (hers,), (his,) = await anna.claim(), await ben.claim()
        assert hers["request"] != his["request"]
        forged = hers | {"lease": his["lease"]}
        attempts: dict[str, dict[str, Any]] = {
            "input": {},
            "neighbours": {},
            "extend": {"seconds": 60},
            "release": {},
            "skip": {"reason": "mine"},
            "flag": {"note": "mine"},
            "submit": {"value": 1.0},
            "correct": {"value": 1.0},
            "reveal": {},
        }
        assert attempts.keys() == CALLS.keys() - {"claim", "waiting", "counts"}
        for name, fields in attempts.items():
            for attempt in (forged, hers | {"lease": ""}, hers | {"lease": "0" * 32}):
                if transport == "http" and name in ("input", "neighbours") and not attempt["lease"]:
                    continue  # the header is empty
                assert await refused(ben(name, attempt, **fields)) == "lease_lost", name
        assert rows(served, label, "actor") == rows(served, flag, "actor") == []
        assert await anna("submit", hers, value=1.0) == {"outcome": "accepted"}, "her lease is as it was"
        for name in ("submit", "correct", "reveal", "flag", "input", "neighbours"):
            assert await refused(ben(name, forged, **attempts[name])) == "lease_lost", name
        assert rows(served, label, "actor", "value") == [("anna", struct.pack("<d", 1.0))]


async def test_reviewers_cannot_tell_deferred_units_from_audited_ones(transport: Transport, tmp_path: Path) -> None:
    """Same documents, lengths and refusals for a deferred and an audited unit of the same row, and no byte of what
    was predicted or decided before the label was given.
    """
    async with labelled(tmp_path, audit_rate=1.0, target_retention=0.777) as served:
        policies = served.tenant.pipeline.policies
        (policy,) = policies.all()
        audited = await decided(served, "ANSWER", CERTAIN)
        policies.put(replace(policy, threshold=0.123456))
        units = await decided(served, "DEFER", CERTAIN) + audited
        anna = Reviewer(served, transport)
        await anna("counts")
        await anna("waiting")
        claimed, lengths = [], []
        for _ in units:
            seen = len(anna.received)
            (request,) = await anna.claim()
            claimed.append(request)
            await anna("input", request)
            around = await anna("neighbours", request)
            assert [row["values"] for row in around["before"] + around["after"]] == [request_values(request)]
            await anna("extend", request, seconds=600)
            await anna("flag", request, note="odd")
            codes = [
                await refused(anna("reveal", request)),
                await refused(anna("correct", request, value=1.0)),
                await refused(anna("submit", request, value="much")),
                await refused(anna("submit", request, value=1.0, seconds=-1.0)),
            ]
            assert codes == ["wrong_state", "wrong_state", "bad_label", "out_of_range"]
            lengths.append([len(part) for part in anna.received[seen:]])
        if transport == "grpc":  # texts of times differ in length
            assert lengths[0] == lengths[1]
        one, other = ({name: value for name, value in request.items() if name not in OWN} for request in claimed)
        assert one == other
        before = b"\n".join(anna.received)
        shown = []
        for request in claimed:
            assert await anna("submit", request, value=1.0) == {"outcome": "accepted"}
            shown.append(await anna("reveal", request))
        assert sorted(entry["deferred"] for entry in shown) == [False, True]
        numbers = {entry[name] for entry in shown for name in ("prediction", "uncertainty", "error")}
        assert len(numbers) == 3, numbers
        numbers |= {policy.threshold, 0.123456}
        for number in numbers:
            text = rb"(?<![\d.])%s(?!\d)" % re.escape(repr(number)).encode()  # not a part of another number
            for form in (*(re.escape(struct.pack(code, number)) for code in ("<f", ">f", "<d", ">d")), text):
                assert not re.search(form, before, re.DOTALL), f"{number} was received before the label"
        hidden = (*units, *(unit.partition("-")[0] for unit in units), policy.version, policy.measure, "toy:1")
        words = ("defer", "audit", "decision", "uncertainty", "threshold", "caller", "propensity", "shift")
        for word in (*hidden, *words):
            assert word.encode() not in before.lower(), f"{word} was received before the label"
        after = b"\n".join(anna.received)
        prediction = shown[0]["prediction"]
        assert struct.pack("<d", prediction) in after or repr(prediction).encode() in after, "the check sees it now"


async def test_nobody_but_the_service_says_what_is_assisted(transport: Transport, tmp_path: Path) -> None:
    """HTTP refuses a field that it does not know; over gRPC such a field has no effect."""
    async with labelled(tmp_path) as served:
        await decided(served)
        anna = Reviewer(served, transport)
        forged: dict[str, Any] = {"assisted": False} if transport == "http" else {"unknown": ASSISTED}
        (request,) = await anna.claim()
        for name, value in (("submit", 2.0), ("correct", 3.0)):
            if transport == "http":
                assert await refused(anna(name, request, value=value, **forged)) == "not_a_body"
                await anna(name, request, value=value)
            else:
                await anna(name, request, value=value, **forged)
            await anna("reveal", request)
        assert rows(served, label, "version", "assisted") == [(1, 0), (2, 1)]
        names = {field.name for kind in METHODS.values() for field in kind.input_type.fields}
        assert "assisted" not in names | set(msgspec.structs.asdict(review_bodies.AnswerBody("a", 1.0)))


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("claim", {"count": 101}, "out_of_range", "count"),
    ("claim", {"seconds": 0.5}, "out_of_range", "seconds"),
    ("claim", {"head": "wind"}, "unknown_head", "head"),
    ("claim", {"queue": "drafts"}, "no_drafts", "queue"),
    ("waiting", {"limit": 1001}, "out_of_range", "limit"),
    ("waiting", {"head": "wind"}, "unknown_head", "head"),
    ("waiting", {"after": "nothing"}, "bad_cursor", "after"),
    ("extend", {"seconds": 90_000}, "out_of_range", "seconds"),
    ("release", {"reason": "a" * 256}, "reason_too_long", "reason"),
    ("skip", {"reason": " "}, "reason_needed", "reason"),
    ("flag", {"note": ""}, "bad_note", "note"),
    ("flag", {"note": "a" * 2001}, "bad_note", "note"),
    ("submit", {"value": 1.0, "seconds": 86_401}, "out_of_range", "seconds"),
    ("submit", {"value": 1.0, "seconds": -1}, "out_of_range", "seconds"),
    ("submit", {"value": 1.0, "observed": -1}, "bad_time", "observed"),
    ("submit", {"value": "much"}, "bad_label", "value"),
    ("correct", {"value": 1.0, "seconds": 86_401}, "out_of_range", "seconds"),
    *(
        (name, {"request": "0" * 32} | fields, "no_request", "request")
        for name, fields in {
            "input": {},
            "extend": {},
            "release": {},
            "skip": {"reason": "r"},
            "submit": {"value": 1.0},
            "correct": {"value": 1.0},
            "reveal": {},
            "flag": {"note": "n"},
        }.items()
    ),
]


async def test_refusals_are_alike(transport: Transport, tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        await decided(served)
        anna = Reviewer(served, transport)
        (request,) = await anna.claim()
        for name, fields, code, field in REFUSED:
            of = None if name in ("claim", "waiting") else request
            with pytest.raises(Refused) as caught:
                await anna(name, of, **fields)
            assert (caught.value.code, caught.value.error["field"]) == (code, field), (name, fields)
        assert (await anna("extend", request))["state"] == "claimed", "nothing was changed"
        assert rows(served, label, "actor") == []


async def test_a_queue_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with labelled(tmp_path) as served:
        await decided(served)
        claim: Any = served.channel.unary_unary("/demur.v1.LabelService/Claim")
        with pytest.raises(Exception, match="queue = 7: must be a ReviewQueue"):
            await claim(labels_pb2.ClaimRequest(queue=7).SerializeToString())  # type: ignore[arg-type]
        assert await refused(Reviewer(served, "http").claim(queue="all")) == "not_a_body"


async def test_an_adjudicator_sees_both_labels_and_no_prediction(transport: Transport, tmp_path: Path) -> None:
    async with labelled(tmp_path, second_opinions=1.0, adjudicate="power=4") as served:
        await decided(served)
        anna, ben, cleo = (Reviewer(served, transport, name) for name in ("anna", "ben", "cleo"))
        for reviewer, value in ((anna, 1.0), (ben, 9.0)):
            (request,) = await reviewer.claim()
            await reviewer("submit", request, value=value)
        while not (await cleo("counts"))["adjudications"]:
            await asyncio.sleep(0.1)  # the labels are compared by a job
        assert (await anna("counts"))["adjudications"] == 0, "anna has labelled the unit"
        assert await anna.claim(queue="adjudication") == []
        (case,) = await cleo.claim(queue="adjudication")
        assert (case["queue"], sorted(case["answers"]), case["draft"]) == ("adjudication", [1.0, 9.0], None)
        assert await cleo("submit", case, value=8.0) == {"outcome": "corrected"}


async def test_the_scope_review_is_needed_and_enough(transport: Transport, tmp_path: Path) -> None:
    passes = Passes(tmp_path / "tokens.toml")
    reviewing, rest = passes.give("anna", "review"), passes.give("ben", "predict", "label", "metrics", "policy")
    async with labelled(tmp_path, tokens=str(passes.path)) as served:
        for name in CALLS:
            fields = {} if name in ("claim", "waiting", "counts") else {"request": "0" * 32, "lease": "a"}
            outsider = Reviewer(served, transport, "ben", token=rest)
            assert await refused(outsider(name, **fields)) == "scope_needed", name
        anna = Reviewer(served, transport, "anna", token=reviewing)
        assert await anna.claim() == []
        assert await refused(anna("reveal", request="0" * 32, lease="a")) == "no_request"


def test_each_route_has_a_method_under_the_same_rule() -> None:
    routes = {
        (path, verb) for path, rules in SERVICE_ROUTES.items() if path.startswith("/v1/requests") for verb in rules
    }
    assert {(call.path, call.verb) for call in CALLS.values()} == routes
    for call in CALLS.values():
        assert RULES[f"demur.v1.LabelService/{call.rpc}"] == SERVICE_ROUTES[call.path][call.verb] == "review"  # type: ignore[index]
        assert METHODS[call.rpc].input_type is call.request.DESCRIPTOR
    reviewing = {name.rpartition("/")[2] for name, rule in RULES.items() if rule == "review"}
    assert reviewing == {call.rpc for call in CALLS.values()}


def test_each_field_of_a_body_is_in_its_message() -> None:
    """A field that one transport gets and the other does not fails here."""
    kinds = {"submit": "ClaimedLabel", "correct": "ClaimedLabel", "extend": "Extension"}
    renamed = {"inputs": "without_inputs"}
    for name, call in CALLS.items():
        if call.verb == "GET":
            continue
        body = review_bodies.REQUESTS[kinds.get(name, name.capitalize())]
        fields = {renamed.get(field.name, field.name) for field in msgspec.structs.fields(body)}
        path = {"request"} if "{request}" in call.path else set()
        assert fields | path == set(call.request.DESCRIPTOR.fields_by_name), name


def test_each_field_of_an_answer_is_in_its_message() -> None:
    schemas = review_schemas({"head": {}, "value": {}}, texts=True)
    renamed = {
        "LabelRequest": ({"input"}, {"media_type", "columns", "input"}),
        "Revealed": ({"decision"}, {"deferred"}),
        "Counts": ({"heads"}, {"counts"}),
    }
    messages: dict[str, Any] = {
        "LabelRequest": labels_pb2.LabelRequest,
        "Lease": labels_pb2.Lease,
        "Revealed": labels_pb2.RevealedPrediction,
        "Counts": labels_pb2.CountRequestsResponse,
        "WaitingRequests": labels_pb2.ListWaitingResponse,
    }
    for name, kind in messages.items():
        http, grpc = renamed.get(name, (set(), set()))
        fields = set(schemas[name]["properties"])
        assert http <= fields
        assert fields - http | grpc == set(kind.DESCRIPTOR.fields_by_name), name
    waiting = schemas["WaitingRequests"]["properties"]["requests"]["items"]["properties"]
    assert set(waiting) == set(labels_pb2.WaitingRequest.DESCRIPTOR.fields_by_name)
