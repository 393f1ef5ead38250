"""A device's profile and records: names, versions, and what the management library tells of NVIDIA's."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnxruntime as ort
import pytest

from models.executors import nvidia
from models.executors.device import CPU, Device, described, instruction_set, libraries
from models.manifest import Executor
from models.profile import Profile, profile

STACKED = [Executor(kind="onnx", file="ensemble.onnx")]
TREES = [Executor(kind="catboost", layout="trees", models={"power": ("a.cbm",)})]


class NVMLError(Exception):
    """As the management library raises it."""


class Nvml:
    """Management library of a machine: devices by number, each with slices by place; a double."""

    NVMLError = NVMLError
    NVML_DEVICE_MIG_ENABLE = 1

    def __init__(self, devices: Mapping[int, Any], started: bool = True) -> None:
        self.devices, self.started, self.open = devices, started, 0

    def nvmlInit(self) -> None:
        if not self.started:
            raise NVMLError("driver not loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.65.06"

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        if index not in self.devices:
            raise NVMLError("not found")
        return self.devices[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:
        for device in self.devices.values():
            for candidate in (device, *device.slices.values()):
                if candidate.uuid == uuid:
                    return candidate
        raise NVMLError("not found")

    def nvmlDeviceIsMigDeviceHandle(self, device: Any) -> bool:
        return device.whole is not None

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, device: Any) -> Any:
        return self.devices[device.whole]

    def nvmlDeviceGetMigMode(self, device: Any) -> list[int]:
        if device.capability < (8, 0):
            raise NVMLError("not supported")
        return [int(bool(device.slices)), int(bool(device.slices))]

    def nvmlDeviceGetMaxMigDeviceCount(self, device: Any) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device: Any, place: int) -> Any:
        if place not in device.slices:
            raise NVMLError("not found")
        return device.slices[place]

    def nvmlDeviceGetName(self, device: Any) -> str:
        return device.name

    def nvmlDeviceGetMemoryInfo(self, device: Any) -> Any:
        if device.used is None:
            raise NVMLError("not supported")
        return SimpleNamespace(used=device.used)

    def nvmlDeviceGetCudaComputeCapability(self, device: Any) -> tuple[int, int]:
        return device.capability


def made(
    name: str,
    capability: tuple[int, int],
    uuid: str,
    slices: Mapping[int, Any] | None = None,
    used: int | None = None,
) -> Any:
    return SimpleNamespace(name=name, capability=capability, uuid=uuid, slices=slices or {}, whole=None, used=used)


def sliced(name: str, uuid: str, whole: int, used: int) -> Any:
    return SimpleNamespace(name=name, uuid=uuid, whole=whole, slices={}, capability=(0, 0), used=used)


T4 = made("Tesla T4", (7, 5), "GPU-t4")
H100 = made("NVIDIA H100 80GB HBM3", (9, 0), "GPU-h100", used=5 << 30)
SLICED = made(
    "NVIDIA H200",
    (9, 0),
    "GPU-h200",
    {
        2: sliced("NVIDIA H200 MIG 1g.18gb", "MIG-small", 2, used=1 << 30),
        5: sliced("NVIDIA H200 MIG 3g.71gb", "MIG-large", 2, used=2 << 30),
    },
    used=90 << 30,
)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """With a T4, an H100, and an H200 that is divided."""
    nvml = Nvml({0: T4, 1: H100, 2: SLICED})
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return nvml


@pytest.mark.parametrize(
    ("visible", "index", "expected"),
    [
        (None, 0, "sm_75"),
        (None, 1, "sm_90"),
        (None, 2, "sm_90.1g.18gb"),
        ("1,0", 1, "sm_75"),
        ("GPU-h100", 0, "sm_90"),
        ("MIG-large", 0, "sm_90.3g.71gb"),
        (None, 7, "unknown"),
        ("1", 3, "unknown"),
        ("", 0, "unknown"),
        ("nonsense", 0, "unknown"),
    ],
)
def test_the_architecture_is_that_of_the_device_that_cuda_sees(
    machine: Nvml, monkeypatch: pytest.MonkeyPatch, visible: str | None, index: int, expected: str
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert nvidia.architecture(index) == expected
    assert machine.open == 0


@pytest.mark.parametrize(
    ("visible", "index", "expected"),
    [
        (None, 1, 5 << 30),
        (None, 2, 1 << 30),  # of the slice, not of the whole device
        ("MIG-large", 0, 2 << 30),
        ("1,0", 0, 5 << 30),
        (None, 0, None),  # it does not tell
        (None, 7, None),
        ("nonsense", 0, None),
    ],
)
def test_memory_is_that_of_the_device_or_slice_that_cuda_sees(
    machine: Nvml, monkeypatch: pytest.MonkeyPatch, visible: str | None, index: int, expected: int | None
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert nvidia.used_memory_bytes(index) == expected
    assert machine.open == 0


@pytest.mark.parametrize("library", [None, Nvml({}, started=False)])
def test_without_a_driver_nothing_is_made_up(monkeypatch: pytest.MonkeyPatch, library: Any) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert (nvidia.architecture(0), nvidia.driver(), nvidia.used_memory_bytes(0)) == ("unknown", "", None)
    assert "driver" not in libraries(Device(provider="cuda"))


def test_a_profile_names_all_that_changes_numbers_on_a_device(machine: Nvml) -> None:
    device = Device(provider="cuda", index=2, tf32=True, convolution_search="exhaustive", memory_bytes=1 << 30)
    version = ort.__version__
    assert described(device) == Profile(
        provider="cuda",
        version=version,
        architecture="sm_90.1g.18gb",
        tf32=True,
        convolution_search="exhaustive",
    )
    named = profile(STACKED, described(Device(provider="cuda", index=1)))
    assert named.name == f"cuda-{version}-fp32-stacked-sm_90-notf32-heuristic"
    assert libraries(device)["driver"] == "580.65.06"


def test_on_a_cpu_the_profile_is_as_it_always_was() -> None:
    assert profile(STACKED, described(CPU)).name == "cpu-fp32-stacked"
    assert profile(STACKED, described(Device(threads=8, tf32=True))).name == "cpu-fp32-stacked"


def test_trees_have_the_profile_of_the_cpu_on_every_device(machine: Nvml) -> None:
    assert profile(TREES, described(Device(provider="cuda"))).name == "cpu-fp32-trees"


def test_libraries_are_those_installed() -> None:
    versions = libraries(CPU)
    assert versions["onnxruntime"] == ort.__version__
    assert not {"cuda", "cudnn", "driver"} & set(versions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("processor : 0\nflags\t\t: fpu sse4_2 avx avx2 avx512f avx512_bf16\n", "avx512_bf16"),
        ("flags : fpu sse4_2 avx avx2\n", "avx2"),
        ("Features\t: fp asimd sve\n", "sve"),
    ],
)
def test_the_widest_instruction_set_is_recorded(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert instruction_set(tmp_path / "cpuinfo") == expected


def test_where_the_system_lists_no_instructions_the_architecture_is_recorded(tmp_path: Path) -> None:
    assert instruction_set(tmp_path / "none")


@pytest.mark.parametrize("given", [{"threads": -1}, {"memory_bytes": -1}, {"index": -1}])
def test_impossible_devices_are_refused(given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be 0 or more"):
        Device(**given)  # type: ignore[arg-type]
