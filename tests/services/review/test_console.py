"""The console as a process beside a real service: sessions, forged calls, the relay's limits, and lost services."""

import http.server
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.access.passes import Passes, bearer
from tests.services.review.consoles import CSRF, Consoles, consoles

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consoles]:
    with consoles(tmp_path_factory.mktemp("home"), DEMUR_VESSEL_DRAFTS="1") as started:
        started.situations(60)
        yield started


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Consoles, Passes]]:
    home = tmp_path_factory.mktemp("guarded")
    passes = Passes(home / "tokens.toml")
    passes.give("bridge", "predict")
    with consoles(home, DEMUR_TOKENS=str(passes.path)) as started:
        yield started, passes


def refused(response: httpx.Response, status: int, code: str) -> None:
    assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text


def test_the_page_comes_with_a_strict_policy_and_files_that_never_change(running: Consoles) -> None:
    page = httpx.get(running.url)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    path = page.text.split('src="')[1].split('"')[0]
    file = httpx.get(f"{running.url}{path}")
    assert (file.status_code, "immutable" in file.headers["cache-control"]) == (200, True)
    assert file.headers["content-encoding"] == "gzip"
    refused(httpx.get(f"{running.url}/static/0123456789abcdef/app.js"), 404, "no_file")
    for hidden in ("../identity.py", "%2e%2e/identity.py", "..%2fidentity.py", "vendor/../../console.py"):
        assert httpx.get(f"{running.url}{path.removesuffix('app.js')}{hidden}").status_code == 404


def test_a_proxy_on_this_machine_does_not_let_others_in(running: Consoles) -> None:
    """It says for whom it calls, and without tokens that has to be this machine."""
    assert httpx.get(running.url, headers={"x-forwarded-for": "127.0.0.1"}).status_code == 200
    for path in ("/", "/api/session", "/api/tasks"):
        refused(httpx.get(f"{running.url}{path}", headers={"x-forwarded-for": "203.0.113.9"}), 403, "foreign_address")


def test_a_session_is_a_cookie_that_scripts_cannot_read(running: Consoles) -> None:
    assert httpx.get(f"{running.url}/api/session").json()["reviewer"] is None
    login = httpx.post(f"{running.url}/api/session", json={"name": " anna "}, headers=CSRF)
    cookie = login.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    client = running.client("anna")
    assert client.get("/api/session").json()["reviewer"] == "anna"
    assert client.request("DELETE", "/api/session").status_code == 200
    assert client.get("/api/session").json()["reviewer"] is None
    refused(client.get("/api/tasks"), 401, "no_session")
    for name in ("", "<b>", "a" * 65, "a\nb", "ä"):
        refused(httpx.post(f"{running.url}/api/session", json={"name": name}, headers=CSRF), 422, "bad_name")
    refused(httpx.post(f"{running.url}/api/session", json={"user": "a"}, headers=CSRF), 422, "not_a_body")


def test_calls_of_other_pages_are_refused(running: Consoles) -> None:
    client = running.client()
    claim = "/api/tasks/vessel/requests/claim"
    for headers, code in (
        ({"x-demur-review": "0"}, "csrf"),
        ({"origin": "https://elsewhere.example"}, "foreign_origin"),
        ({"origin": "null"}, "foreign_origin"),
        ({"sec-fetch-site": "cross-site"}, "foreign_origin"),
        ({"sec-fetch-site": "same-site"}, "foreign_origin"),
        ({"host": "attacker.example:3011"}, "foreign_host"),
    ):
        refused(client.post(claim, json={"count": 1}, headers=headers), 403, code)
    assert client.get("/api/tasks", headers={"host": "attacker.example"}).status_code == 403


def test_a_reviewer_goes_the_whole_way(running: Consoles) -> None:
    client = running.client("anna")
    (task,) = client.get("/api/tasks").json()["tasks"]
    assert (task["name"], task["ready"], task["view"], task["keeps_inputs"]) == ("vessel", True, "vessel", True)
    base = "/api/tasks/vessel/requests"
    waiting = client.get(f"{base}/waiting", params={"limit": 5}).json()["requests"]
    (request,) = client.post(f"{base}/claim", json={"requests": [waiting[0]["request"]]}).json()["requests"]
    one, lease = f"{base}/{request['request']}", {"lease": request["lease"]}
    content = client.get(f"{one}/input", headers={"demur-lease": request["lease"]})
    assert (content.headers["content-type"], len(content.content)) == ("application/x-demur-row-f32", 40)
    around = client.get(f"{one}/neighbours", headers={"demur-lease": request["lease"]}).json()
    assert 12 <= len(around["before"] + around["after"]) <= 24
    assert all(len(row["values"]) == len(around["names"]) == 10 for row in around["before"] + around["after"])
    refused(client.get(f"{one}/neighbours"), 409, "lease_lost")
    refused(client.post(f"{one}/reveal", json=lease), 409, "wrong_state")
    other = running.client("ben")
    for action, body in (("extend", {}), ("release", {}), ("skip", {"reason": "r"}), ("submit", {"value": 1})):
        foreign = {"lease": "0" * 32} | body
        refused(other.post(f"{one}/{action}", json=foreign), 409, "lease_lost")
    forged = lease | {"value": 9000, "assisted": False}
    assert client.post(f"{one}/submit", json=forged).status_code == 422
    assert client.post(f"{one}/submit", json=lease | {"value": 9000, "seconds": 2}).json() == {"outcome": "accepted"}
    assert client.post(f"{one}/reveal", json=lease).json()["decision"] == "defer"
    assert client.post(f"{one}/correct", json=lease | {"value": 9100}).json() == {"outcome": "corrected"}
    (draft,) = client.post(f"{base}/claim", json={"queue": "drafts"}).json()["requests"]
    assert isinstance(draft["draft"], float)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "requests/../labels"),
        ("POST", "requests/%2e%2e/labels"),
        ("POST", "requests/..%2flabels"),
        ("POST", f"requests/{'0' * 32}/erase"),
        ("GET", f"requests/{'0' * 32}/submit"),
        ("GET", "requests/claim"),
        ("POST", "predict"),
        ("GET", "policy"),
        ("POST", "requests/claim?x=/v1/erase#"),
    ],
)
def test_only_the_review_queue_is_reached(running: Consoles, method: str, path: str) -> None:
    client = running.client()
    answer = client.request(method, f"/api/tasks/vessel/{path}", json={} if method == "POST" else None)
    assert answer.status_code in (404, 405) or answer.json().keys() == {"requests"}, answer.text


def test_other_services_do_not_exist(running: Consoles) -> None:
    client = running.client()
    for task in ("monitor", "review", "nothing", "..", "127.0.0.1:80"):
        assert client.get(f"/api/tasks/{task}/requests").status_code == 404, task


def test_a_body_of_a_hundred_megabytes_is_refused_before_it_is_read(running: Consoles) -> None:
    client = running.client()
    path = f"/api/tasks/vessel/requests/{'0' * 32}/submit"

    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b"0" * (1 << 20)

    try:
        answer = client.post(path, content=pieces(), headers={"content-type": "application/json"})
        assert answer.status_code == 413
    except (httpx.WriteError, httpx.ReadError):
        pass  # closed while it was still sent
    assert client.get("/api/tasks").status_code == 200


def test_a_lost_service_is_named_and_the_console_goes_on(tmp_path: Path) -> None:
    with consoles(tmp_path) as running:
        client = running.client()
        running.kill("vessel")
        time.sleep(1.1)  # descriptions are kept for a second
        tasks = client.get("/api/tasks").json()["tasks"]
        assert all(not task["ready"] for task in tasks)
        answer = client.post("/api/tasks/vessel/requests/claim", json={})
        assert answer.status_code in (404, 503)
        running.start("serve", "vessel")
        running.ready(running.vessel)
        time.sleep(1.1)
        assert client.get("/api/tasks").json()["tasks"][0]["ready"]


class Redirecting(http.server.BaseHTTPRequestHandler):
    """A service that sends callers elsewhere."""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("location", "http://127.0.0.1:9/secret")
        self.send_header("set-cookie", "a=b")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments: Any) -> None: ...


def test_redirects_of_services_are_not_followed(tmp_path: Path) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with consoles(tmp_path, services=(), DEMUR_REVIEW_SERVICES=f"other={address}") as running:
            client = running.client()
            answer = client.get("/api/tasks/other/requests")
            assert answer.status_code == 302
            assert not {"location", "set-cookie"} & set(answer.headers)
            (task,) = client.get("/api/tasks").json()["tasks"]
            assert not task["ready"]
    finally:
        server.shutdown()
        server.server_close()


def test_behind_a_proxy_that_ends_tls_cookies_are_for_tls_only(tmp_path: Path) -> None:
    passes = Passes(tmp_path / "tokens.toml")
    token = passes.give("anna", "review")
    address = "https://review.example"
    with consoles(tmp_path, services=(), DEMUR_TOKENS=str(passes.path), DEMUR_REVIEW_URL=address) as running:
        at_the_proxy = {"host": "review.example", "origin": address, "x-forwarded-proto": "https"} | CSRF
        session = f"{running.url}/api/session"
        login = httpx.post(session, json={"token": token}, headers=at_the_proxy)
        cookie = login.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Secure"))
        assert "Secure" in httpx.delete(session, headers=at_the_proxy).headers["set-cookie"]
        beside = at_the_proxy | {"host": running.url.removeprefix("http://"), "origin": running.url}
        refused(httpx.post(session, json={"token": token}, headers=beside), 403, "foreign_origin")


def test_tokens_need_the_scope_of_reviewers(guarded: tuple[Consoles, Passes]) -> None:
    running, passes = guarded
    gone = datetime.now(UTC) - timedelta(days=1)
    secrets = {
        "anna": passes.give("anna", "review"),
        "bridge2": passes.give("bridge2", "predict"),
        "late": passes.give("late", "review", expires=gone),
        "operator": passes.give("operator", "policy"),
        "elsewhere": passes.give("elsewhere", "review", tasks=frozenset({"weather"})),
    }
    time.sleep(2.5)  # the file is looked at every two seconds

    def log_in(token: str) -> httpx.Response:
        return httpx.post(f"{running.url}/api/session", json={"token": token}, headers=CSRF)

    refused(log_in(secrets["bridge2"]), 403, "scope_needed")
    refused(log_in(secrets["late"]), 401, "token_expired")
    refused(log_in("demur_" + "0" * 16 + "_" + "a" * 43), 401, "token_refused")
    refused(httpx.post(f"{running.url}/api/session", json={"name": "anna"}, headers=CSRF), 401, "token_refused")
    client = running.client(token=secrets["anna"])
    assert client.get("/api/session").json()["reviewer"] == "anna"
    assert secrets["anna"] not in client.get("/api/session").text
    assert client.get("/api/tasks").json()["tasks"][0]["ready"]
    assert httpx.get(f"{running.url}/api/tasks", headers=bearer(secrets["anna"])).status_code == 200
    operator = running.client(token=secrets["operator"])
    refused(operator.get("/api/tasks"), 403, "scope_needed")
    refused(operator.post("/api/tasks/vessel/requests/claim", json={}), 403, "scope_needed")
    assert operator.get("/api/monitor/reviewers").status_code == 404, "it may ask the monitor, which does not run here"
    foreign = running.client(token=secrets["elsewhere"])
    assert not foreign.get("/api/tasks").json()["tasks"][0]["ready"], "its services refuse this token"
    refused(foreign.post("/api/tasks/vessel/requests/claim", json={}), 403, "token_elsewhere")
    passes.revoke("anna")
    time.sleep(2.5)
    assert client.get("/api/tasks").status_code == 401


@pytest.mark.parametrize("path", ["reviewers", "worth"])
def test_figures_of_the_monitor_need_a_session_and_a_monitor(running: Consoles, path: str) -> None:
    stranger = httpx.get(f"{running.url}/api/monitor/{path}")
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "no_session")
    missing = running.client().get(f"/api/monitor/{path}")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_task")
    assert running.client().get("/api/monitor/live").status_code == 404
    assert running.client().get("/api/monitor/worth/kinds?task=vessel").json() == {}, "reviewers see none"
