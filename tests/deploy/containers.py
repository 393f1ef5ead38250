"""The image, built and run without a Docker engine, for tests that need a real one.

``python -m tests.deploy.containers`` builds it (``localhost/demur:cpu``) and prints how to run it. Debian packages that
it takes: podman buildah runc mmdebstrap iptables netavark conmon catatonit uidmap. No registry is asked: the base is
made of Debian's packages. Where indexes are reached through a certificate authority of the machine, the base for tests
knows it, and the Containerfile does not.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
IMAGE = "localhost/demur:cpu"
BASE = "localhost/demur-test-base:1"
NEEDED = ("podman", "buildah", "runc", "mmdebstrap", "iptables")
RESTRICTED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp", "--memory=1g")
"""What a pod of a careful cluster allows."""

_CONFIGURATION = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
"""
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def missing() -> str:
    """Why images cannot be built here; empty where they can."""
    if platform.system() != "Linux" or platform.machine() != "x86_64" or os.geteuid() != 0:
        return "building images without Docker takes root on Linux x86-64"
    absent = [name for name in NEEDED if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


@cache
def environment() -> dict[str, str]:
    """For podman and buildah on machines without systemd and without all capabilities."""
    path = Path(tempfile.gettempdir()) / "demur-tests-containers.conf"
    path.write_text(_CONFIGURATION)
    return os.environ | {"CONTAINERS_CONF": str(path), "BUILDAH_ISOLATION": "chroot"}


def podman(*words: str, check: bool = True, seconds: float = 60) -> str:
    """What the command says on standard output, and on standard error behind it."""
    ran = subprocess.run(["podman", *words], env=environment(), capture_output=True, text=True, timeout=seconds)
    if check and ran.returncode != 0:
        raise RuntimeError(f"podman {' '.join(words)}: {ran.stderr[-4000:]}")
    return ran.stdout + ran.stderr


def base() -> str:
    """A base image: DEMUR_TEST_BASE, or one made of Debian's packages, once a machine."""
    if image := os.environ.get("DEMUR_TEST_BASE"):
        return image
    if BASE in podman("images", "--format={{.Repository}}:{{.Tag}}").split():
        return BASE
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root.tar"
        command = ["mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", str(root)]
        subprocess.run(command, check=True, capture_output=True, timeout=900)
        podman("import", str(root), "localhost/debian:bookworm-slim", seconds=300)
        shutil.copy(_CERTIFICATES, scratch)
        (Path(scratch) / "pip.conf").write_text(f"[global]\ncert = {_CERTIFICATES}\ntimeout = 180\n")
        lines = ["FROM localhost/debian:bookworm-slim", f"COPY {_CERTIFICATES.name} {_CERTIFICATES}"]
        (Path(scratch) / "Containerfile").write_text("\n".join([*lines, "COPY pip.conf /etc/pip.conf", ""]))
        root.unlink()
        podman("build", "--tag", BASE, scratch, seconds=300)
    return BASE


def build(what: str = "cpu") -> None:
    """Builds with the project's script, as anybody would."""
    more = {"ENGINE": "podman", "BASE": base(), "BUILD_FLAGS": "--network=host"}
    command = [str(PROJECT / "deploy" / "images" / "build.sh"), what]
    ran = subprocess.run(command, env=environment() | more, capture_output=True, text=True, timeout=1800)
    if ran.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}:\n{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}")


@dataclass
class Container:
    """One that runs; on ports of the loopback address."""

    name: str
    http: int
    grpc: int

    @classmethod
    def run(
        cls, name: str, ports: Sequence[int], *words: str, flags: Sequence[str] = (), limits: Sequence[str] = RESTRICTED
    ) -> Container:
        """Starts ``demur WORDS`` in the image."""
        publish = [f"--publish=127.0.0.1:{ports[0]}:3000", f"--publish=127.0.0.1:{ports[1]}:4000"]
        podman("run", "--detach", "--name", name, *limits, *publish, *flags, IMAGE, *words)
        return cls(name, ports[0], ports[1])

    def get(self, path: str) -> tuple[int, str]:
        """Status and body; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=3) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def wait_ready(self, seconds: float = 90) -> float:
        """Seconds that it took.

        Raises:
            AssertionError: it ended, or is not ready in time.
        """
        start = time.monotonic()
        while self.get("/readyz")[0] != 200:
            assert self.state()["Running"], self.logs()
            assert time.monotonic() - start < seconds, self.logs()
            time.sleep(0.1)
        return time.monotonic() - start

    def state(self) -> dict[str, object]:
        """As the runtime has it."""
        document: dict[str, object] = json.loads(podman("inspect", "--format={{json .State}}", self.name))
        return document

    def logs(self) -> str:
        """The last of what it said."""
        return podman("logs", "--tail=40", self.name, check=False)

    def stop(self) -> int:
        """Asks it to end; its exit code."""
        podman("stop", "--time=45", self.name, seconds=90)
        return int(str(self.state()["ExitCode"]))

    def remove(self) -> None:
        podman("rm", "--force", "--time=0", self.name, check=False)


if __name__ == "__main__":
    if reason := missing():
        raise SystemExit(reason)
    build()
    exports = [f"export {name}={environment()[name]}" for name in ("CONTAINERS_CONF", "BUILDAH_ISOLATION")]
    print("\n".join([f"built {IMAGE}; podman needs", *exports]))
