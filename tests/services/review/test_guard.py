"""The guard before the console: which machines, hosts and pages it answers, with tokens and without."""

import asyncio
from typing import Any

import pytest

from services.review.identity import CSRF_HEADER, Guard
from services.transport.http.body import error_response

HERE, ELSEWHERE = "127.0.0.1", "203.0.113.9"
OWN = "192.0.2.7"
"""Address that the console's machine has in its network."""


def answer(
    *,
    peer: str = HERE,
    server: str = HERE,
    method: str = "GET",
    path: str = "/",
    tokens: bool = False,
    url: str = "",
    **headers: str,
) -> str:
    """The code of the refusal; ``passed`` where there is none."""
    body = b""

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        nonlocal body
        body = b"passed"

    async def send(message: Any) -> None:
        nonlocal body
        body += message.get("body", b"")

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    named = {"host": "localhost:3011"} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "client": (peer, 50000) if peer else None,
        "server": (server, 3011),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    asyncio.run(Guard(inner, error_response, tokens=tokens, url=url)(scope, receive, send))
    text = body.decode()
    return text if text == "passed" else text.split('"code":"')[1].split('"')[0]


@pytest.mark.parametrize("peer", [ELSEWHERE, OWN, "2001:db8::9", "::ffff:203.0.113.9", "", "localhost.example"])
def test_without_tokens_other_machines_are_refused(peer: str) -> None:
    for host in ("localhost", OWN, "demur-review"):
        for method, path in (("GET", "/"), ("GET", "/api/tasks"), ("POST", "/api/session")):
            assert answer(peer=peer, server=OWN, host=host, method=method, path=path) == "foreign_address"
    assert answer(peer=peer, server=OWN, path="/readyz", host="10.0.0.4:3000") == "passed", "kubelet's probes"
    assert answer(peer=peer, server=OWN, host="review.example", tokens=True) == "passed"


@pytest.mark.parametrize(
    ("peer", "server"), [(HERE, HERE), ("127.0.1.1", HERE), ("::1", "::1"), ("::ffff:127.0.0.1", "::"), (HERE, OWN)]
)
def test_without_tokens_this_machine_is_answered_by_its_own_addresses(peer: str, server: str) -> None:
    for host in ("localhost:3011", "127.0.0.1:3011", "[::1]:3011", f"{OWN}:3011"):
        assert answer(peer=peer, server=server, host=host) == "passed"
    assert answer(peer=peer, server=server, host="attacker.example:3011") == "foreign_host"


ADDRESS = "https://review.example"


@pytest.mark.parametrize(
    ("url", "host", "origin", "expected"),
    [
        (ADDRESS, "demur-review:3000", "https://review.example", "passed"),
        (ADDRESS, "demur-review:3000", "https://REVIEW.example:443", "passed"),
        (f"{ADDRESS}/", "demur-review:3000", "https://review.example", "passed"),
        ("https://review.example:8443", "x", "https://review.example:8443", "passed"),
        ("https://review.example:8443", "x", "https://review.example", "foreign_origin"),
        (ADDRESS, "demur-review:3000", "http://review.example", "foreign_origin"),
        (ADDRESS, "demur-review:3000", "http://demur-review:3000", "foreign_origin"),
        (ADDRESS, "attacker.example", "https://attacker.example", "foreign_origin"),
        (ADDRESS, "review.example", "https://review.example.attacker.example", "foreign_origin"),
        (ADDRESS, "review.example", "null", "foreign_origin"),
        ("", "review.example", "https://review.example", "passed"),
        ("", "demur-review:3000", "https://review.example", "foreign_origin"),
    ],
)
def test_changes_come_from_pages_of_the_address_that_reviewers_open(
    url: str, host: str, origin: str, expected: str
) -> None:
    changed = {"method": "POST", "path": "/api/session", "tokens": True, "url": url, "host": host, "origin": origin}
    assert answer(**changed, **{CSRF_HEADER: "1"}) == expected  # type: ignore[arg-type]
    if expected == "passed":
        assert answer(**changed) == "csrf"  # type: ignore[arg-type]
        assert answer(**changed, **{CSRF_HEADER: "1", "sec-fetch-site": "cross-site"}) == "foreign_origin"  # type: ignore[arg-type]
