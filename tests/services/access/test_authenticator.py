"""Authentication over both protocols, on a running toy: admitted and refused calls, and their errors."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from services.access.tokens import hashed, mint
from tests.contract.serving import Outcome, Protocol, Served, detail, seen, serving
from tests.contract.toys import TOYS
from tests.services.access.passes import Passes, bearer, carried

TOY = TOYS[0]
LATER, EARLIER = (datetime.now(UTC) + timedelta(days=days) for days in (1, -1))


async def ask(served: Served, protocol: Protocol, token: str | None, body: Any = None) -> Outcome:
    """One question with a token."""
    body = TOY.good if body is None else body
    if protocol == "http":
        return seen(await served.http.post("/v1/predict", json=body, headers=bearer(token) if token else {}))
    try:
        return Outcome("OK", await served.method()(body, metadata=carried(token) if token else None, timeout=60))
    except grpc.aio.AioRpcError as error:
        return Outcome(error.code().name, error=detail(error))


def refused(outcome: Outcome, kind: str) -> str:
    """The word of a refusal, which must be of this kind."""
    codes = {"unknown": ("401", "UNAUTHENTICATED"), "forbidden": ("403", "PERMISSION_DENIED")}[kind]
    assert outcome.code in codes, outcome
    return str(outcome.error["code"])


async def test_a_token_with_the_scope_is_let_in_and_no_other(passes: Passes, protocol: Protocol) -> None:
    right, wrong = passes.give("anna", "predict"), passes.give("bert", "label", "review", "policy", "metrics")
    elsewhere = passes.give("carl", "predict", tasks=frozenset({"monitor", "other"}))
    here = passes.give("dora", tasks=frozenset({TOY.name}))
    expired, early = passes.give("emil", expires=EARLIER), passes.give("fred", not_before=LATER)
    async with serving(TOY, tokens=str(passes.path)) as served:
        for token in (right, here):
            assert (await ask(served, protocol, token)).code == "OK"
        assert refused(await ask(served, protocol, None), "unknown") == "token_needed"
        assert refused(await ask(served, protocol, wrong), "forbidden") == "scope_needed"
        assert refused(await ask(served, protocol, elsewhere), "forbidden") == "token_elsewhere"
        assert refused(await ask(served, protocol, expired), "unknown") == "token_expired"
        assert refused(await ask(served, protocol, early), "unknown") == "token_early"
        text = served.metrics.text().decode()
        assert 'demur_access_refused_total{reason="token_expired",task="rows"} 1.0' in text
        assert 'code="401"' in text or 'code="UNAUTHENTICATED"' in text


async def test_wrong_tokens_look_alike(passes: Passes, protocol: Protocol) -> None:
    """Unknown, cut off, changed by a bit, expired with a wrong secret, or none at all: the same word."""
    good, expired = passes.give("anna"), passes.give("emil", expires=EARLIER)
    last = chr(ord(good[-1]) ^ 1)
    wrong = [mint()[1], good[:-1], good[:-1] + last, expired[:-2] + "AA", "x" * 66, good[:22], "Bearer", "\x7f" * 66]
    async with serving(TOY, tokens=str(passes.path)) as served:
        outcomes = [await ask(served, protocol, token) for token in wrong if protocol == "http" or token.isprintable()]
        assert {refused(outcome, "unknown") for outcome in outcomes} == {"token_refused"}
        assert len({outcome.error["message"] for outcome in outcomes}) == 1
        assert (await ask(served, protocol, good)).code == "OK"


async def test_a_revoked_and_a_rotated_token_are_refused_within_seconds(passes: Passes, protocol: Protocol) -> None:
    old = passes.give("anna", "predict")
    async with serving(TOY, tokens=str(passes.path)) as served:  # one connection all the time
        new = passes.give("anna", "predict")

        async def known(token: str) -> bool:
            return (await ask(served, protocol, token)).code == "OK"

        await until(lambda: known(new))
        assert await known(old), "both hold while they overlap"
        passes.revoke("anna")
        await until(lambda: known(new), no=True)
        assert refused(await ask(served, protocol, old), "unknown") == "token_refused"


async def until(condition: Any, *, no: bool = False) -> None:
    async with asyncio.timeout(40):
        while await condition() is no:
            await asyncio.sleep(0.02)


async def test_a_stolen_hash_is_no_token(passes: Passes, protocol: Protocol) -> None:
    text = passes.give("anna")
    async with serving(TOY, tokens=str(passes.path)) as served:
        assert refused(await ask(served, protocol, hashed(text)), "unknown") == "token_refused"
        assert refused(await ask(served, protocol, f"demur_{text[6:22]}_{hashed(text)[:43]}"), "unknown")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ([("authorization", "Bearer {token}"), ("authorization", "Bearer {token}")], "token_refused"),
        ([("authorization", "Basic {token}")], "token_refused"),
        ([("authorization", "{token}")], "token_refused"),
        ([("authorization", "Bearer {token}" + " " * 300 + "x")], ""),
        ([("authorization", "bEaReR   {token}")], ""),
        ([("x-token", "{token}")], "token_needed"),
        ([("cookie", "authorization=Bearer {token}")], "token_needed"),
    ],
)
async def test_the_header_is_one_and_says_bearer(passes: Passes, headers: list[tuple[str, str]], code: str) -> None:
    text = passes.give("anna")
    pairs = [(name, value.replace("{token}", text)) for name, value in headers]
    async with serving(TOY, tokens=str(passes.path)) as served:
        answer = await served.http.get("/v1/schema", headers=pairs)
        assert (answer.json().get("error") or {}).get("code", "") == code
        if code:
            assert answer.headers["www-authenticate"].startswith('Bearer realm="demur"')
        try:
            await served.method("Describe")({}, metadata=tuple(pairs), timeout=60)
            actual = ""
        except grpc.aio.AioRpcError as error:
            actual = "" if error.code() is grpc.StatusCode.UNIMPLEMENTED else detail(error)["code"]
        assert actual == code


@pytest.mark.parametrize("query", ["access_token={token}", "token={token}", "a=b&c=%64emur_{rest}", "access_token="])
async def test_a_token_in_the_address_is_refused_even_if_another_is_right(passes: Passes, query: str) -> None:
    text = passes.give("anna")
    async with serving(TOY, tokens=str(passes.path)) as served:
        path = "/v1/schema?" + query.replace("{token}", text).replace("{rest}", text[6:])
        answer = await served.http.get(path, headers=bearer(text))
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_in_address")


async def test_what_nobody_declared_is_refused(passes: Passes) -> None:
    text = passes.give("anna")
    async with serving(TOY, tokens=str(passes.path)) as served:
        for path in ("/docs.json", "/schema.json", "/", "/v1", "/v1/predict/", "/static_content/x", "/healthz"):
            assert (await served.http.get(path)).status_code == 401
            answer = await served.http.get(path, headers=bearer(text))
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_route")
        wrong = await served.http.put("/v1/predict", headers=bearer(text))
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "OPTIONS, POST")
        for metadata, code in ((None, "UNAUTHENTICATED"), (carried(text), "UNIMPLEMENTED")):
            for method in ("/toy.v1.None/Predict", f"/{served.tenant.grpc.service}/Train", "/x/y"):
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await served.channel.unary_unary(method)(b"", metadata=metadata, timeout=60)
                assert error.value.code().name == code


async def test_probes_need_nothing_and_reflection_any_token(passes: Passes) -> None:
    text = passes.give("anna", "metrics")
    async with serving(TOY, tokens=str(passes.path)) as served:
        check = served.channel.unary_unary("/grpc.health.v1.Health/Check")
        assert health_pb2.HealthCheckResponse.FromString(await check(b"", timeout=60)).status == 1
        for version in ("v1", "v1alpha"):
            reflect = served.channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
            # No message is sent: if the refusal arrives first, gRPC's client reports INTERNAL instead of the status.
            assert await reflect(timeout=60).code() is grpc.StatusCode.UNAUTHENTICATED
            past = await reflect(metadata=carried(text), timeout=60).code()
            assert past is grpc.StatusCode.UNIMPLEMENTED  # past the authenticator: a toy has no .proto to reflect
        assert (await served.http.get("/metrics")).status_code == 401
        assert (await served.http.get("/metrics", headers=bearer(text))).status_code == 200
        assert (await served.http.get("/v1/schema", headers=bearer(text))).status_code == 200
        assert (await served.http.options("/v1/predict", headers=bearer(text))).status_code == 204


async def test_without_tokens_nothing_is_asked_for(protocol: Protocol) -> None:
    async with serving(TOY) as served:
        assert (await ask(served, protocol, "demur_nonsense")).code == "OK"
        assert (await served.http.get("/v1/schema?access_token=1")).status_code == 200


@pytest.mark.parametrize("kind", ["application/vnd.bentoml+pickle", "Application/Vnd.BentoML+Pickle; v=1", "x/pickle"])
async def test_pickles_are_refused_on_every_route(passes: Passes, kind: str) -> None:
    text = passes.give("anna")
    for tokens in ("", str(passes.path)):
        async with serving(TOY, tokens=tokens) as served:
            for route in [*served.app.routes]:
                for method in route.methods or ():  # type: ignore[attr-defined]
                    answer = await served.http.request(
                        method,
                        route.path,  # type: ignore[attr-defined]
                        content=b"\x80\x04N.",
                        headers={"content-type": kind} | bearer(text),
                    )
                    assert answer.status_code == 415, (method, route)
