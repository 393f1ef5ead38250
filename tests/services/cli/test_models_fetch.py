"""``demur models fetch``: what comes is bounded, hashed, unpacked with suspicion, verified, and then has a name."""

import hashlib
import io
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import demur
from models import artefact
from services.app import reference
from services.cli import main

PROJECT = Path(__file__).resolve().parents[3]
REFERENCE = PROJECT / "artefacts" / "vessel" / "dnn-10"
TAG = artefact.read(REFERENCE).tag


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pack(tar: tarfile.TarFile) -> None:
    """The reference artefact, and beside its folder what it shares with others."""
    tar.add(REFERENCE, "dnn-10")
    for file in artefact.read(REFERENCE).manifest.files:
        if not (REFERENCE / file).exists():
            tar.add(REFERENCE.parent / file, file)


@pytest.fixture
def fetch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs the command into ``tmp_path/to``; its exit code and what it said."""

    def run(url: object, digest: str, *more: str) -> tuple[int, str]:
        code = main(["models", "fetch", str(url), "--sha256", digest, "--to", str(tmp_path / "to"), *more])
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


@pytest.fixture(params=["tar", "gz"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The reference artefact, packed."""
    path = tmp_path / ("a.tar" if request.param == "tar" else "a.tar.gz")
    with tarfile.open(path, "w" if request.param == "tar" else "w:gz") as tar:
        pack(tar)
    return path


class Web(BaseHTTPRequestHandler):
    """A server with one file, and what else servers do."""

    content: ClassVar[bytes] = b""
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/there.tar")
            self.end_headers()
        elif self.path.startswith("/absent"):
            self.send_error(404)
        elif self.path.startswith("/endless"):
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"0" * 65536)
            except OSError:
                return
        elif self.path.startswith("/slow"):
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(100):
                    self.wfile.write(b"0" * (1 << 20))
                    time.sleep(0.1)
            except OSError:
                return
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.content)))
            self.end_headers()
            self.wfile.write(self.content[: len(self.content) // (2 if self.path.startswith("/cut") else 1)])

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        pack(tar)
    Web.content = packed.getvalue()
    Web.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def left_behind(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def test_an_archive_becomes_a_folder_that_services_find(
    fetch: Callable[..., tuple[int, str]], archive: Path, tmp_path: Path
) -> None:
    assert fetch(archive, sha256(archive), "--task", "vessel")[0] == 0
    assert artefact.read(tmp_path / "to" / "vessel" / "dnn-10", "vessel").tag == TAG
    assert [name for name in left_behind(tmp_path / "to") if name.startswith(".fetch")] == []
    again, output = fetch("http://127.0.0.1:1/gone.tar", sha256(archive), "--json")  # nobody is asked a second time
    assert (again, msgspec.json.decode(output)["fetched"]) == (0, False)
    (tmp_path / "to" / "vessel" / "dnn-10" / "ensemble.onnx").write_bytes(b"damaged")
    assert msgspec.json.decode(fetch(archive, sha256(archive), "--json")[1])["fetched"] is True
    assert artefact.read(tmp_path / "to" / "vessel" / "dnn-10").tag == TAG


def test_a_folder_is_known_by_its_manifest(fetch: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    source = artefact.copy(artefact.read(REFERENCE), tmp_path / "source").directory
    (source / "stranger.txt").write_text("nobody vouches for me")
    assert fetch(f"file://{source}", sha256(source / "manifest.json"))[0] == 0
    assert artefact.read(tmp_path / "to" / "vessel" / "dnn-10").tag == TAG
    assert "to/vessel/dnn-10/stranger.txt" not in left_behind(tmp_path)
    (source / "ensemble.onnx").write_bytes(b"altered")
    shutil.rmtree(tmp_path / "to")
    code, output = fetch(source, sha256(source / "manifest.json"))
    assert code == 1
    assert "ensemble.onnx: sha256 is" in output
    assert left_behind(tmp_path / "to") == []


def sharing(folder: Path) -> Path:
    """Two artefacts of a task that share the inputs of their replay sets, which lie beside their folders."""
    for name in ("dnn-10", "dnn-1"):
        artefact.share(artefact.copy(artefact.read(REFERENCE.parent / name), folder / name))
    return folder


def test_shared_inputs_beside_the_folder_are_fetched_with_it(
    fetch: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    source = sharing(tmp_path / "source" / "vessel") / "dnn-10"
    replay = artefact.read(source).manifest.replay
    assert replay is not None
    assert not (source / replay.inputs).exists()
    assert fetch(f"file://{source}", sha256(source / "manifest.json"))[0] == 0
    fetched = artefact.read(tmp_path / "to" / "vessel" / "dnn-10")
    assert fetched.tag == TAG
    assert fetched.path(replay.inputs).parent == fetched.directory
    shutil.rmtree(tmp_path / "to")
    (source.parent / replay.inputs).unlink()
    code, output = fetch(f"file://{source}", sha256(source / "manifest.json"))
    assert code == 1
    assert replay.inputs in output
    assert "and next to the folder" in output
    assert left_behind(tmp_path / "to") == []


def test_an_archive_without_the_shared_inputs_says_what_is_missing(
    fetch: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    source = sharing(tmp_path / "source" / "vessel") / "dnn-10"
    with tarfile.open(tmp_path / "bare.tar", "w") as tar:
        tar.add(source, "dnn-10")
    code, output = fetch(tmp_path / "bare.tar", sha256(tmp_path / "bare.tar"))
    assert code == 1
    assert "the inputs of its replay set" in output
    assert left_behind(tmp_path / "to") == []


def test_over_http(fetch: Callable[..., tuple[int, str]], web: str, tmp_path: Path) -> None:
    digest = hashlib.sha256(Web.content).hexdigest()
    assert fetch(f"{web}/moved.tar?signature=secret", digest)[0] == 0
    assert artefact.read(tmp_path / "to" / "vessel" / "dnn-10").tag == TAG


@pytest.mark.parametrize(
    ("path", "more", "reason"),
    [
        ("absent.tar", (), "the server answers 404"),
        ("endless.tar", ("--max-megabytes", "2"), "more than the 2000000 bytes that are allowed"),
        ("slow.tar", ("--seconds", "0.3"), "bytes came in the 0.3 s that are allowed"),
        ("cut.tar", (), "sha256 is|IncompleteRead|bytes"),
        ("there.tar", ("--task", "weather"), "an artefact of task 'vessel', but 'weather' is served here"),
    ],
)
def test_what_servers_do_wrong_is_told_and_leaves_nothing(
    fetch: Callable[..., tuple[int, str]], web: str, tmp_path: Path, path: str, more: tuple[str, ...], reason: str
) -> None:
    code, output = fetch(f"{web}/{path}?signature=secret", hashlib.sha256(Web.content).hexdigest(), *more)
    assert code == 1
    assert any(alternative in output for alternative in reason.split("|")), output
    assert "secret" not in output
    assert left_behind(tmp_path / "to") == []


def test_another_hash_than_asked_for_is_not_even_opened(
    fetch: Callable[..., tuple[int, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("was unpacked")

    monkeypatch.setattr("services.cli.models_fetch.unpack", opened)
    (tmp_path / "a.tar").write_bytes(b"anything")
    code, output = fetch(tmp_path / "a.tar", "0" * 64)
    assert code == 1
    assert "nothing was unpacked" in output


@pytest.mark.parametrize("digest", ["", "12ab", "g" * 64])
def test_a_hash_that_is_none_is_wrong_usage(fetch: Callable[..., tuple[int, str]], digest: str) -> None:
    assert fetch("a.tar", digest)[0] == 2


def test_a_newer_version_takes_the_place_of_an_older_one(
    fetch: Callable[..., tuple[int, str]], archive: Path, tmp_path: Path
) -> None:
    assert fetch(archive, sha256(archive))[0] == 0
    newer = artefact.copy(artefact.read(REFERENCE), tmp_path / "newer").directory
    manifest = artefact.read(newer).manifest
    text = msgspec.json.encode(msgspec.structs.replace(manifest, seeds=(*manifest.seeds, 99)))
    (newer / "manifest.json").write_bytes(text)
    assert fetch(newer, sha256(newer / "manifest.json"))[0] == 0
    assert artefact.read(tmp_path / "to" / "vessel" / "dnn-10").tag == artefact.read(newer).tag != TAG
    assert left_behind(tmp_path / "to")[:2] == ["vessel", "vessel/dnn-10"]


def test_a_row_model_is_fetched_as_its_service_is_configured(
    tmp_path: Path, fetch: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(300, 2)).astype(np.float32)
    labels = rows[:, 0] + generator.normal(size=300)
    model = LinearRegression().fit(rows, labels)
    columns = {"a": rows[:, 0], "b": rows[:, 1]}
    demur.build(model, columns, {"spend": labels}, name="churn", home=tmp_path / "home", out=tmp_path / "churn")
    archive = tmp_path / "churn.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "churn", "churn")
    code, said = fetch(archive, sha256(archive), "--task", "rows")
    assert code == 2
    assert "DEMUR_MODEL must name the row model" in said
    monkeypatch.setenv("DEMUR_MODEL", "other")
    code, said = fetch(archive, sha256(archive), "--task", "rows")
    assert code == 1
    assert "an artefact of task 'churn', but 'other' is served here" in said
    monkeypatch.setenv("DEMUR_MODEL", "churn")
    code, said = fetch(archive, sha256(archive), "--task", "rows")
    assert code == 0, said
    monkeypatch.setenv("DEMUR_ARTEFACTS", str(tmp_path / "to"))
    (place,) = reference.folders("churn")
    assert artefact.name(artefact.read(place, "churn").manifest) == "churn"
