"""The two probes of a service's HTTP port, to the byte; BentoML answered them before, and callers see no difference."""

from typing import Any

import httpx
import pytest
from starlette.responses import Response

from services.transport.http.probes import probe_answers


@pytest.mark.parametrize(
    ("ready", "path", "status", "text"),
    [
        (True, "/livez", 200, "\n"),
        (True, "/readyz", 200, "\n"),
        (False, "/livez", 200, "\n"),
        (False, "/readyz", 503, "Service is not ready because .__is_ready__() returns False."),
    ],
)
async def test_get_and_head_are_answered(ready: bool, path: str, status: int, text: str) -> None:
    async with client(ready) as http:
        for method in ("GET", "HEAD"):
            response = await http.request(method, path)
            assert response.status_code == status
            assert response.headers["content-type"] == "text/plain; charset=utf-8"
            assert response.headers["content-length"] == str(len(text))
            assert response.text == text or method == "HEAD"
            assert set(response.headers) == {"content-type", "content-length"}


async def test_other_methods_pass() -> None:
    async with client(True) as http:
        assert (await http.post("/readyz")).status_code == 418


def client(ready: bool) -> httpx.AsyncClient:
    async def otherwise(scope: Any, receive: Any, send: Any) -> None:
        await Response(status_code=418)(scope, receive, send)

    transport = httpx.ASGITransport(probe_answers(lambda: ready, otherwise))
    return httpx.AsyncClient(transport=transport, base_url="http://service")
