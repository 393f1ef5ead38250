"""A service and the monitor as processes, with certificates on both sides and tokens: commands, examples, renewal."""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

import demur
from tests.e2e.conftest import PROJECT, Installation
from tests.e2e.test_bad_input import GOOD
from tests.ports import free_port
from tests.services.access.authority import Authority

SECONDS = 110
LEFTOVERS = ("/", "/docs.json", "/schema.json", "/healthz", "/static_content/index.html", "/v1", "/v1/nothing")
"""Routes of BentoML that nobody declared, and two that nobody has."""


HOLDERS = {
    "bridge": ["predict"],
    "chief": ["policy", "predict"],
    "prometheus": ["metrics"],
    "meter": ["predict", "review", "label", "metrics"],
}
"""Of tokens, and what they may do."""


@dataclass(frozen=True)
class Guarded:
    """What runs, and who may do what there."""

    installation: Installation
    authority: Authority
    directory: Path
    environment: dict[str, str]
    probe: str
    processes: tuple[subprocess.Popen[bytes], ...]
    tokens: dict[str, str]

    def client(self, token: str = "", *, certificate: bool = True) -> httpx.Client:
        context = ssl.create_default_context(cadata=self.authority.pem.decode())
        if certificate:
            context.load_cert_chain(self.directory / "me.pem", self.directory / "me.key")
        headers = {"authorization": f"Bearer {self.tokens[token]}"} if token else {}
        return httpx.Client(
            base_url=self.installation.http.replace("http:", "https:"), verify=context, headers=headers, timeout=20
        )

    def run(self, *words: str, token: str) -> subprocess.CompletedProcess[str]:
        return self.installation.run(*words, **self.environment, DEMUR_TOKEN=self.tokens[token])


@pytest.fixture(scope="module")
def guarded(installations: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    installation, directory, authority = installations(), tmp_path_factory.mktemp("tls"), Authority("ours")
    authority.server().put(directory, "tls")
    authority.caller().put(directory, "me")
    (directory / "ca.pem").write_bytes(authority.pem)
    probe = free_port()
    environment = {
        "DEMUR_TOKENS": str(directory / "tokens.toml"),
        "DEMUR_TLS_CERTIFICATE": str(directory / "tls.pem"),
        "DEMUR_TLS_KEY": str(directory / "tls.key"),
        "DEMUR_TLS_CLIENT_CA": str(directory / "ca.pem"),
        "DEMUR_ROOTS": str(directory / "ca.pem"),
        "DEMUR_CLIENT_CERTIFICATE": str(directory / "me.pem"),
        "DEMUR_CLIENT_KEY": str(directory / "me.key"),
        "DEMUR_VESSEL_PROBE_PORT": str(probe),
    }
    tokens = {}
    for name, scopes in HOLDERS.items():
        made = installation.run(
            "tokens", "create", name, *(word for scope in scopes for word in ("--scope", scope)), **environment
        )
        assert made.returncode == 0, made.stderr
        tokens[name] = made.stdout.strip()
    processes = tuple(begun(installation, environment, *words) for words in (("serve", "vessel"), ("monitor", "run")))
    service = Guarded(installation, authority, directory, environment, f"http://127.0.0.1:{probe}", processes, tokens)
    try:
        wait(lambda: answers(f"{service.probe}/readyz"))
        yield service
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(SECONDS) for process in processes] == [0, -signal.SIGTERM], "uvicorn hands a signal on"


def begun(installation: Installation, environment: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    with (installation.home / f"{words[0]}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "services.cli", *words],
            cwd=PROJECT,
            env=installation.environment(**environment),
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def test_probes_are_plain_and_nothing_else_is(guarded: Guarded) -> None:
    assert httpx.get(f"{guarded.probe}/livez").status_code == 200
    assert httpx.head(f"{guarded.probe}/readyz").status_code == 200
    assert httpx.get(f"{guarded.probe}/metrics").status_code == 404
    assert httpx.post(f"{guarded.probe}/livez").status_code == 405
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{guarded.installation.http}/livez")
    with pytest.raises(httpx.TransportError), guarded.client(certificate=False) as client:
        client.get("/livez")


def test_only_what_is_declared_is_there(guarded: Guarded) -> None:
    with guarded.client() as nobody, guarded.client("chief") as chief:
        for path in ("/livez", "/readyz"):
            assert nobody.get(path).status_code == 200
        for path in LEFTOVERS:
            assert nobody.get(path).status_code == 401
            assert chief.get(path).json()["error"]["code"] == "no_route"
        assert chief.get("/metrics").json()["error"]["code"] == "scope_needed"
        document = chief.get("/v1/openapi.json").json()
    with guarded.client("prometheus") as prometheus:
        text = prometheus.get("/metrics").text
        assert "demur_tls_certificate_expiry_timestamp_seconds" in text
        assert prometheus.post("/v1/predict", json={}).status_code == 403
    assert "/v1/audit" in document["paths"]


def test_pickles_are_refused_on_every_route(guarded: Guarded) -> None:
    headers = {"content-type": "application/vnd.bentoml+pickle"}
    with guarded.client("chief") as chief:
        paths = [*chief.get("/v1/openapi.json").json()["paths"], *LEFTOVERS]
        for path in paths:
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                answer = chief.request(method, path, content=b"\x80\x04N.", headers=headers)
                assert answer.status_code == 415, (method, path, answer.text)


def test_commands_and_examples_bring_what_the_environment_says(guarded: Guarded) -> None:
    status = json.loads(guarded.run("status", "--json", token="bridge").stdout)
    assert status["services"]["vessel"]["ready"], status
    assert status["monitor"]["ready"], status
    shown = guarded.run("policy", "show", "vessel", token="bridge")
    assert shown.returncode == 0, shown.stderr
    refused = guarded.run("policy", "set", "vessel", "--target-retention", "0.9", token="bridge")
    assert "needs the scope policy" in refused.stderr
    done = guarded.run("policy", "set", "vessel", "--target-retention", "0.9", "--reason", "night", token="chief")
    assert done.returncode == 0, done.stderr
    other = guarded.run("policy", "set", "vessel", "--target-retention", "0.9", "--author", "me", token="chief")
    assert "must be chief, the name of the token" in other.stderr
    acts = json.loads(guarded.run("audit", "vessel", "--json", token="chief").stdout)["acts"]
    (act,) = [entry for entry in acts if entry["kind"] == "policy"]  # other tests of this service give labels
    assert (act["actor"], act["reason"]) == ("chief", "night")
    assert "needs the scope policy" in guarded.run("audit", "vessel", token="bridge").stderr
    what_if = guarded.run("policy", "what-if", "vessel", "--threshold", "1", token="bridge")
    assert "needs the scope metrics" in what_if.stderr
    completed = example(guarded, "predict", guarded.installation.grpc, token="bridge")
    assert "answered" in completed.stdout, completed.stderr


def test_the_example_of_live_figures_brings_it_to_the_monitor_too(guarded: Guarded, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    made = [[*(GOOD | {"stw": 8 + 0.05 * i}).values(), 20_000.0] for i in range(240)]
    np.savetxt(rows, made, fmt="%.9g", delimiter=",", header=f"{','.join(GOOD)},power", comments="")
    monitor = guarded.installation.monitor.replace("http:", "https:")
    where = ("--target", guarded.installation.grpc, "--monitor", monitor)
    watched = example(guarded, "live", "--in", str(rows), *where, token="meter")
    assert "240 rows" in watched.stdout, watched.stderr
    assert "Traceback" not in watched.stderr, watched.stderr
    assert "has not seen" not in watched.stderr, watched.stderr


def example(guarded: Guarded, name: str, *words: str, token: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, f"examples/{name}.py", *words],
        cwd=PROJECT,
        env=os.environ | guarded.environment | {"DEMUR_TOKEN": guarded.tokens[token]},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def test_renewed_files_hold_within_seconds_on_both_protocols(guarded: Guarded) -> None:
    another = Authority("another")
    target = guarded.installation.grpc
    me = tuple((guarded.directory / f"me.{end}").read_bytes() for end in ("pem", "key"))

    def reached(roots: bytes) -> tuple[bool, bool]:
        context = ssl.create_default_context(cadata=roots.decode())
        context.load_cert_chain(guarded.directory / "me.pem", guarded.directory / "me.key")
        try:
            http = httpx.get(guarded.installation.http.replace("http:", "https:") + "/livez", verify=context).is_success
        except httpx.TransportError:
            http = False
        with demur.connect(target, tls=roots, certificate=me, token=guarded.tokens["bridge"]) as client:  # type: ignore[arg-type]
            return http, client.ready(1.0)

    assert reached(guarded.authority.pem) == (True, True)
    another.server().put(guarded.directory, "tls")
    wait(lambda: reached(another.pem) == (True, True))
    assert reached(guarded.authority.pem) == (False, False)
    guarded.authority.server().put(guarded.directory, "tls")
    wait(lambda: reached(guarded.authority.pem) == (True, True))


def test_a_service_that_could_not_keep_its_promises_does_not_start(
    guarded: Guarded, installations: Callable[[], Installation], tmp_path: Path
) -> None:
    other = installations()
    broken = tmp_path / "tokens.toml"
    broken.write_text("[[token")
    for environment, words in (
        ({"DEMUR_TOKENS": str(broken)}, "not a file of tokens"),
        ({"DEMUR_TLS_KEY": str(guarded.directory / "me.key")}, "do not match"),
        ({"DEMUR_TLS_KEY": ""}, "go together"),
    ):
        for command in (("serve", "vessel"), ("monitor", "run")):
            ended = other.run(*command, **(guarded.environment | {"DEMUR_VESSEL_PROBE_PORT": "0"} | environment))
            assert ended.returncode == 1
            assert words in ended.stderr
