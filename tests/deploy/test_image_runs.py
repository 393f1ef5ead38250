"""The image as a careful cluster runs it: read-only, without capabilities, bounded; stopped, killed, started again."""

import asyncio
import json
import random
import re
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grpc
import httpx
import numpy as np
import pytest

import demur
from demur.v1 import common_pb2
from demur.v1.vessel_pb2 import VesselPredictRequest, VesselPredictResponse
from models import artefact
from services import __version__
from services.ledger.database import Database
from simulators.weather.dataset import simulate
from tests.deploy import containers
from tests.deploy.containers import IMAGE, Container, podman
from tests.fault.killing import Address, Decisions, inputs
from tests.ports import free_ports
from tests.services.access.authority import Authority
from tests.services.access.passes import Passes
from tests.services.ledger.recording import counted, read
from tests.services.review.consoles import CSRF

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

PROJECT = Path(__file__).resolve().parents[2]
ARTEFACTS = f"--volume={PROJECT / 'artefacts'}:/artefacts:ro"
REMOTE = "--env=DEMUR_ALLOW_REMOTE=1"
SIZE_LIMIT = 1_300_000_000
"""Bytes of the CPU image with a base of 180 MB; packages of others are 850 MB of it."""


@pytest.fixture(scope="module", autouse=True)
def image() -> None:
    if reason := containers.missing():
        pytest.skip(reason)
    containers.build()


Start = Callable[..., Container]


@pytest.fixture
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts containers, which end with the test."""
    begun: list[Container] = []

    def run(*words: str, flags: Sequence[str] = ()) -> Container:
        name = f"demur-test-{free_ports(1)[0]}"
        begun.append(Container(name, 0, 0))  # so that one which does not start is removed as well
        return Container.run(name, free_ports(2), *words, flags=[REMOTE, *flags])

    yield run
    for container in begun:
        container.remove()


@pytest.fixture
def volume() -> Iterator[str]:
    name = f"demur-test-{free_ports(1)[0]}"
    podman("volume", "create", name)
    yield name
    podman("volume", "rm", "--force", name, check=False)


def inside(*command: str) -> str:
    return podman("run", "--rm", "--network=none", f"--entrypoint={command[0]}", IMAGE, *command[1:])


def test_what_is_in_it() -> None:
    (described,) = json.loads(podman("image", "inspect", IMAGE))
    assert described["Size"] < SIZE_LIMIT
    assert described["User"] == "10001:10001"
    labels = described["Labels"]
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True).stdout.strip()
    assert labels["org.opencontainers.image.revision"] == revision
    assert labels["org.opencontainers.image.created"] > "2026"
    assert inside("sh", "-c", "find / -xdev -perm /6000 -type f 2>/dev/null; true") == "", "nobody becomes another user"
    tools = ("gcc", "cc", "as", "make", "pip", "pip3", "uv", "git", "curl", "wget")
    assert inside("sh", "-c", f"for tool in {' '.join(tools)}; do command -v $tool; done; true") == ""
    assert inside("sh", "-c", "ls -d /root/.cache /tmp/* /var/lib/apt/lists/* 2>/dev/null; true") == ""
    code = (
        "import importlib.util as i; print([n for n in ('torch', 'pip', 'setuptools', 'matplotlib') if i.find_spec(n)])"
    )
    assert inside("python", "-c", code).strip() == "[]"
    code = "from models.executors.trees.kernel import load; print(load() is not None)"
    assert inside("python", "-c", code).strip() == "True", "the kernel for trees is compiled"
    writable = inside("sh", "-c", "find / -xdev -type d -writable -not -path '/proc/*' 2>/dev/null; true").split()
    assert set(writable) <= {"/tmp", "/var/tmp", "/var/lib/demur", "/run/lock"}
    compiled = "find /opt/demur/lib -name '*.py' | wc -l; find /opt/demur/lib -name '*.pyc' | wc -l"
    sources, bytecode = map(int, inside("sh", "-c", compiled).split())
    assert bytecode > 0.98 * sources


def test_it_says_what_it_consists_of() -> None:
    document = json.loads(inside("cat", "/opt/demur/sbom.cdx.json"))
    names = {component["purl"].partition("@")[0] for component in document["components"]}
    assert {"pkg:pypi/demur", "pkg:pypi/bentoml", "pkg:pypi/onnxruntime", "pkg:deb/debian/libc6"} <= names
    code = "from importlib.metadata import distributions as d; print(len({x.metadata['Name'] for x in d()}))"
    installed = int(inside("python", "-c", code))
    assert sum(name.startswith("pkg:pypi/") for name in names) == installed
    packages = int(inside("sh", "-c", "dpkg-query -f '${db:Status-Status}\n' -W | grep -c '^installed'"))
    assert sum(name.startswith("pkg:deb/") for name in names) == packages


def test_vessel_answers_on_both_ports_and_drains(start: Start, volume: str) -> None:
    container = start(flags=[ARTEFACTS, f"--volume={volume}:/var/lib/demur", "--env=DEMUR_TASK=vessel", "--cpus=1"])
    seconds = container.wait_ready()
    print(f"ready after {seconds:.1f} s")
    reference = artefact.read(PROJECT / "artefacts" / "vessel" / "dnn-10")
    rows = inputs()
    columns = {feature.name: rows[:50, index] for index, feature in enumerate(reference.manifest.schema)}
    with demur.connect(f"127.0.0.1:{container.grpc}") as client:
        answered = client.vessel.predict(columns)
    assert answered.model == reference.tag
    body = {"rows": [{name: float(values[0]) for name, values in columns.items()}]}
    reply = httpx.post(f"http://127.0.0.1:{container.http}/v1/predict", json=body)
    assert reply.status_code == 200, reply.text
    code = "from services.runtime.settings import Settings; print(Settings.read(task='vessel').lane_count)"
    assert podman("exec", container.name, "python", "-c", code).strip() == "1", "lanes follow the container's limit"

    outcome: list[int] = []
    long = rows[np.arange(60_000) % len(rows)].astype("<f4")
    asking = threading.Thread(target=lambda: outcome.append(ask_packed(container.grpc, long)))
    asking.start()
    time.sleep(0.3)
    assert asking.is_alive(), "the call has to be in flight when the signal comes"
    assert container.stop() == 0, container.logs()
    asking.join(60)
    assert outcome == [60_000]


def ask_packed(port: int, rows: np.ndarray) -> int:
    """Rows that were answered."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        predict = channel.unary_unary(
            "/demur.v1.VesselService/Predict",
            request_serializer=VesselPredictRequest.SerializeToString,
            response_deserializer=VesselPredictResponse.FromString,
        )
        packed = common_pb2.PackedRows(row_count=len(rows), values=rows.tobytes())
        answer = predict(VesselPredictRequest(rows=common_pb2.Rows(packed=packed)), timeout=60)
    return int(answer.power.deferral.ids.count)


def test_weather_answers(start: Start) -> None:
    container = start("serve", "weather", flags=[ARTEFACTS, "--tmpfs=/var/lib/demur"])
    container.wait_ready()
    reference = artefact.read(PROJECT / "artefacts" / "weather" / "catboost-10")
    rows = simulate(0.0002, 0)["eval_in"].features[:3]
    columns = {feature.name: rows[:, index] for index, feature in enumerate(reference.manifest.schema)}
    with demur.connect(f"127.0.0.1:{container.grpc}") as client:
        answered = client.weather.predict(columns)
    assert answered.model == reference.tag
    assert answered.temperature is not None
    assert len(answered.temperature.mean) == 3
    assert container.stop() == 0


def test_a_kill_loses_nothing_that_was_acknowledged(start: Start, volume: str, tmp_path: Path) -> None:
    """Volume kept, container thrown away, three times."""
    flags = [ARTEFACTS, f"--volume={volume}:/var/lib/demur", "--env=DEMUR_TARGET_RETENTION=0.6"]
    caller = Decisions(inputs())
    for kill in range(3):
        container = start("serve", "vessel", flags=flags)
        container.wait_ready()
        asyncio.run(asked_until_killed(container, caller, 1.0 + 0.3 * kill))
        assert container.state()["ExitCode"] == 137
    container = start("serve", "vessel", flags=flags)
    container.wait_ready()
    time.sleep(3)  # what was killed is taken over soon after the start
    assert container.stop() == 0
    podman("cp", f"{container.name}:/var/lib/demur/ledger", str(tmp_path))
    snapshot = read(Database(f"sqlite:///{tmp_path / 'ledger' / 'vessel.db'}"))
    assert caller.judge(snapshot) == []
    assert len(caller.recorded) > 100
    assert caller.recorded <= set(counted(snapshot))


async def asked_until_killed(container: Container, caller: Decisions, seconds: float) -> None:
    generator = random.Random(1)
    address = Address(f"127.0.0.1:{container.http}", f"127.0.0.1:{container.grpc}")
    tasks = [asyncio.create_task(caller.ask(address, generator)) for _ in range(4)]
    await asyncio.sleep(seconds)
    await asyncio.to_thread(podman, "kill", "--signal=KILL", container.name)
    await asyncio.wait(tasks, timeout=30)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    while container.state()["Running"]:
        await asyncio.sleep(0.1)


def test_without_artefacts_it_is_alive_not_ready_and_says_why(start: Start) -> None:
    container = start("serve", "vessel", flags=["--tmpfs=/var/lib/demur"])
    end = time.monotonic() + 60
    while container.get("/v1/schema")[0] != 503:
        assert time.monotonic() < end, container.logs()
        time.sleep(0.2)
    assert "the model store has no 'vessel-dnn-10'" in container.get("/v1/schema")[1]
    assert (container.get("/livez")[0], container.get("/readyz")[0]) == (200, 503)
    assert container.stop() == 0


def test_any_user_may_run_it(start: Start) -> None:
    """As OpenShift does: a user that the image has never heard of, in the group 0."""
    container = start("serve", "vessel", flags=[ARTEFACTS, "--user=1000650000:0", "--tmpfs=/var/lib/demur"])
    container.wait_ready()
    assert container.stop() == 0


def test_the_monitor_is_in_the_same_image(start: Start, volume: str) -> None:
    shared = f"--volume={volume}:/var/lib/demur"
    service = start("serve", "vessel", flags=[ARTEFACTS, shared])
    service.wait_ready()
    monitor = start("monitor", "run", flags=[shared])
    monitor.wait_ready()
    assert "demur_" in monitor.get("/metrics")[1]
    assert monitor.stop() == 0
    assert service.stop() == 0


def test_the_review_console_is_in_the_same_image(start: Start, tmp_path: Path) -> None:
    """Beside a service with tokens and TLS, whose certificate is of an authority that only they know."""
    authority, passes = Authority("images"), Passes(tmp_path / "tokens.toml")
    token = passes.give("anna", "review")
    authority.server("localhost", "127.0.0.1", "vessel.example").put(tmp_path, "tls")
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    tmp_path.chmod(0o755)
    for path in tmp_path.iterdir():
        path.chmod(0o644)  # the image's user reads them
    variables = {
        "DEMUR_TOKENS": "/etc/demur/tokens.toml",
        "DEMUR_TLS_CERTIFICATE": "/etc/demur/tls.pem",
        "DEMUR_TLS_KEY": "/etc/demur/tls.key",
        "DEMUR_ROOTS": "/etc/demur/ca.crt",
    }
    common = [f"--volume={tmp_path}:/etc/demur:ro", "--tmpfs=/var/lib/demur"]
    common += [f"--env={name}={value}" for name, value in variables.items()]
    service = start("serve", "vessel", flags=[ARTEFACTS, *common])
    address = json.loads(podman("inspect", service.name))[0]["NetworkSettings"]["IPAddress"]
    services = "--env=DEMUR_REVIEW_SERVICES=vessel=https://vessel.example:3000"
    console = start("review", flags=[f"--add-host=vessel.example:{address}", services, *common])
    url, trusted = f"https://127.0.0.1:{console.http}", ssl.create_default_context(cadata=authority.pem.decode())
    with httpx.Client(base_url=url, verify=trusted, headers=CSRF, timeout=30) as reviewer:
        _until(lambda: reviewer.get("/readyz").status_code == 200, console)
        page = reviewer.get("/").text
        for path in re.findall(r'"(/static/[^"]+)"', page):
            assert reviewer.get(path).status_code == 200, path
        assert reviewer.get("/api/tasks").status_code == 401
        login = reviewer.post("/api/session", json={"token": token})
        assert login.json()["reviewer"] == "anna"
        assert "Secure" in login.headers["set-cookie"]
        _until(lambda: reviewer.get("/api/tasks").json()["tasks"][0]["ready"], service)
        assert reviewer.post("/api/tasks/vessel/requests/claim", json={"count": 1}).json() == {"requests": []}
    assert console.stop() == 0
    assert service.stop() == 0


def test_a_published_port_of_the_review_console_needs_tokens(start: Start) -> None:
    console = start("review", flags=["--tmpfs=/var/lib/demur"])
    console.wait_ready()
    status, body = console.get("/")
    assert (status, json.loads(body)["error"]["code"]) == (403, "foreign_address")
    assert console.stop() == 0


def _until(reached: Callable[[], bool], container: Container) -> None:
    end = time.monotonic() + 90
    while True:
        try:
            if reached():
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end, container.logs()
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("flags", "words", "code", "message"),
    [
        ([], (), 2, "the task is missing"),
        (["--env=DEMUR_TASK=wether"], (), 2, "DEMUR_TASK = 'wether'"),
        ([], ("serve", "vessel"), 1, "DEMUR_HOST = 0.0.0.0 would serve other machines"),
        ([REMOTE, "--read-only-tmpfs=false"], ("serve", "vessel"), 1, "DEMUR_HOME = /var/lib/demur: Read-only"),
    ],
)
def test_what_is_missing_is_said(flags: list[str], words: tuple[str, ...], code: int, message: str) -> None:
    ran = subprocess.run(
        ["podman", "run", "--rm", *containers.RESTRICTED, *flags, IMAGE, *words],
        env=containers.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, message in ran.stderr) == (code, True), ran.stderr


def test_artefacts_as_an_image(start: Start) -> None:
    containers.build("artefacts")
    containers.build("copier")
    name = f"localhost/demur-artefacts:{__version__}"
    container = start(
        "serve",
        "vessel",
        flags=[f"--mount=type=image,source={name},destination=/artefacts", "--tmpfs=/var/lib/demur"],
    )
    container.wait_ready()
    assert container.stop() == 0
