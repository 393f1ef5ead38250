"""Rendered pods on a real container engine, with the real image: what is read-only, limited and dropped does not hurt.

Needs podman and the image that the overlay names (`make image`; deploy/images/README.md), and takes a minute.
"""

import io
import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.containers import environment
from tests.deploy.rendered import Object, of_kind, one, rendered

ARTEFACTS = Path(__file__).resolve().parents[2] / "artefacts"
OVERLAY = "cpu-dev"
VOLUMES = ("demur-home", "demur-artefacts")
DEPLOYMENTS = ("demur-vessel", "demur-monitor", "demur-review")
PYTHON = "/opt/demur/bin/python"
READY = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:3000/readyz', timeout=5).status)"
ASK = """
import json, urllib.request as u
schema = json.load(u.urlopen("http://127.0.0.1:3000/v1/schema"))
row = {one["name"]: (low + high) / 2 for one, low, high in
       zip(schema["features"], schema["trained_lower"], schema["trained_upper"])}
asked = u.Request("http://127.0.0.1:3000/v1/predict", json.dumps({"rows": [row]}).encode(),
                  {"content-type": "application/json"})
print(sum(json.load(u.urlopen(asked))["recorded"] for _ in range(200)))
"""
"""From inside: how many of two hundred answers are in the ledger."""
CORES = "from services.runtime.settings import Settings; print(Settings.read().lane_count)"


def podman(*words: str, check: bool = True, **options: object) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(  # type: ignore[call-overload]
        ["podman", *words], env=environment(), capture_output=True, timeout=120, check=False, **options
    )
    assert done.returncode == 0 or not check, (words, done.stderr.decode())
    return done  # type: ignore[no-any-return]


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Path]:
    """The service, the monitor and the review console run; what is left of them goes."""
    objects = rendered(OVERLAY)
    image = one(objects, "Deployment", DEPLOYMENTS[0])["spec"]["template"]["spec"]["containers"][0]["image"]
    if shutil.which("podman") is None:
        pytest.skip("podman is not on the path")
    if podman("image", "exists", image, check=False).returncode:
        pytest.skip(f"there is no image {image}; see deploy/images/README.md")
    if any(podman("volume", "exists", volume, check=False).returncode == 0 for volume in VOLUMES):
        pytest.skip(f"there are volumes {' or '.join(VOLUMES)} already")
    path = tmp_path / "play.yaml"
    path.write_text(
        yaml.safe_dump_all([*of_kind(objects, "ConfigMap"), *(_played(objects, name) for name in DEPLOYMENTS)])
    )
    try:
        for volume in VOLUMES:
            podman("volume", "create", volume)
        podman("volume", "import", "demur-artefacts", "-", input=_archive(ARTEFACTS / "vessel"))
        podman("play", "kube", str(path))
        yield path
    finally:
        podman("play", "kube", "--down", str(path), check=False)
        for volume in VOLUMES:
            podman("volume", "rm", "--force", volume, check=False)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_rendered_pods_run_and_end(pods: Path) -> None:
    for name in DEPLOYMENTS:
        container = f"{name}-pod-0-demur"
        _wait_ready(container)
        state = json.loads(podman("inspect", container).stdout)[0]
        assert state["HostConfig"]["ReadonlyRootfs"]
        assert state["Config"]["User"].startswith("10001")
        assert state["EffectiveCaps"] in (None, [])
    cores = podman("exec", "demur-vessel-pod-0-demur", PYTHON, "-c", CORES).stdout.strip()
    limit = one(rendered(OVERLAY), "Deployment", "demur-vessel")["spec"]["template"]["spec"]["containers"][0]
    assert int(cores) <= int(limit["resources"]["limits"]["cpu"])
    vessel = "demur-vessel-pod-0-demur"
    assert podman("exec", vessel, PYTHON, "-c", ASK).stdout.split() == [b"200"]
    podman("kill", "--signal", "KILL", vessel)
    time.sleep(1)
    _wait_restarted(vessel)
    _wait_ready(vessel)
    assert _units(vessel) == 200, "all that was acknowledged, once"
    for name in DEPLOYMENTS:
        grace = one(rendered(OVERLAY), "Deployment", name)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        podman("pod", "stop", "--time", str(grace), f"{name}-pod-0")
        assert json.loads(podman("inspect", f"{name}-pod-0-demur").stdout)[0]["State"]["ExitCode"] == 0, name


def _played(objects: tuple[Object, ...], name: str) -> Object:
    """A Deployment without container ports: podman would take them of the host."""
    deployment: Object = json.loads(json.dumps(one(objects, "Deployment", name)))
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        del container["ports"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            del container[probe]  # podman asks systemd and curl for them
    return deployment


def _archive(folder: Path) -> bytes:
    """A folder as a tar file, for users of any number."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, arcname=folder.name)
    return packed.getvalue()


def _units(container: str) -> int:
    """In the ledger, which is whole; what lay in the journal has a second to get there."""
    time.sleep(2)
    report = json.loads(podman("exec", container, "demur", "ledger", "verify", "--json", "--ledger", "vessel").stdout)
    assert [ledger["faults"] for ledger in report["ledgers"]] == [[]]
    return int(report["ledgers"][0]["units"])


def _wait_restarted(container: str) -> None:
    """By podman itself, as the pod's policy says; by hand where it does not, since two starts at once end badly."""
    end = time.monotonic() + 5
    while not json.loads(podman("inspect", container).stdout)[0]["State"]["Running"]:
        if time.monotonic() > end:
            podman("start", container)
        time.sleep(0.5)


def _wait_ready(container: str) -> None:
    end = time.monotonic() + 90
    while podman("exec", container, PYTHON, "-c", READY, check=False).stdout.strip() != b"200":
        assert time.monotonic() < end, podman("logs", container).stderr.decode()
        time.sleep(1)
