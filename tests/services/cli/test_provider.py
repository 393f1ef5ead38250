"""`--provider` of commands that make artefacts: the device that computes what is calibrated."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models import artefact
from models.executors.device import Device
from models.tasks.vessel.artefact import build
from models.tasks.vessel.training import train
from services.cli import main
from services.tasks import IMPORTERS, WORKBENCHES
from simulators.vessel.dataset import simulate
from tests.models.vessel import released_folder

pytestmark = pytest.mark.usefixtures("home")
REFERENCE = Path(__file__).resolve().parents[3] / "artefacts" / "vessel" / "dnn-1"
no_gpu = pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has an NVIDIA device")


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """The devices that vessel artefacts are built on."""
    used = []
    whole = build.build

    def watched(*arguments: Any, device: Device, **more: Any) -> artefact.Artefact:
        used.append(device)
        return whole(*arguments, device=device, **more)

    monkeypatch.setattr(build, "build", watched)
    return used


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, table in simulate(0.002, 0).items():
        table.write_csv(folder / f"{name}.csv")
    return folder


def released(folder: Path) -> list[str]:
    return ["models", "import", "vessel", str(released_folder.write(folder))]


def test_training_builds_on_the_device(
    devices: list[Device], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMUR_PROVIDER", "cuda")  # of services: nobody asked this command for it
    monkeypatch.setenv("DEMUR_INTRA_OP_THREADS", "3")
    monkeypatch.setenv("DEMUR_VESSEL_INTRA_OP_THREADS", "2")
    monkeypatch.setenv("DEMUR_VESSEL_TF32", "1")
    monkeypatch.setitem(train.PRESETS, "fast", replace(train.PRESETS["fast"], epochs=1))
    words = ["train", "vessel", "--family", "symbolic", "--members", "2", "--data", str(data)]
    for number, option in enumerate(([], ["--provider", "cpu"])):
        out = tmp_path / str(number)
        assert main([*words, *option, "--out", str(out)]) == 0
        manifest = artefact.read(out).manifest
        assert set(manifest.heads["power"]) == {"cpu-fp32-stacked"}
        assert manifest.replay is not None
        assert manifest.replay.profile == "cpu-fp32-stacked"
    assert devices == [Device("cpu", threads=2, tf32=True)] * 2, "the task's own settings go before those of all"


def test_an_import_builds_on_the_device(
    devices: list[Device], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main([*released(tmp_path / "in"), "--data", str(data), "--provider", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tag"].startswith("vessel-mc_dropout-2x10:")
    assert devices == [Device("cpu")]


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a command that fails."""
    capsys.readouterr()
    assert main(words) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"demur {words[0]}: ")
    assert output.err.count("\n") == 1, output.err
    return output.err


@no_gpu
@pytest.mark.parametrize("task", WORKBENCHES)
def test_without_cuda_nothing_is_trained(task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Data are not even looked for: a training of hours would have been in vain."""
    missing, out = str(tmp_path / "missing"), tmp_path / "out"
    message = refusal(["train", task, "--provider", "cuda", "--data", missing, "--out", str(out), "--store"], capsys)
    assert ".so" in message, "the library is named"
    assert "pip install 'demur[cuda]'" in message
    assert list(tmp_path.iterdir()) == []


@no_gpu
@pytest.mark.parametrize("task", IMPORTERS)
def test_without_cuda_nothing_is_imported(
    task: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, missing = tmp_path / "in", str(tmp_path / "missing")
    folder.mkdir()
    message = refusal(["models", "import", task, str(folder), "--provider", "cuda", "--data", missing], capsys)
    assert ".so" in message
    assert "pip install 'demur[cuda]'" in message
    assert list(folder.iterdir()) == []
    assert list(home.rglob(artefact.MANIFEST)) == []


@no_gpu
def test_without_cuda_nothing_is_qualified(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(["models", "qualify", "vessel-dnn-1", "--provider", "cuda"], capsys)
    assert "pip install 'demur[cuda]'" in message
    assert list(home.rglob("qualifications/*")) == []


@pytest.mark.parametrize("option", [["--provider", "cpu"], ["--data", "data"], ["--precision", "fp32"]])
def test_an_artefact_is_imported_as_it_is(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(["models", "import", "vessel", str(REFERENCE), *option], capsys)
    assert f"{option[0]}: {REFERENCE} is an artefact, imported unchanged" in message
