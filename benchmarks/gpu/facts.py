"""Device, driver and libraries of the machine, and missing packages."""

import importlib.util
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks import machine
from benchmarks.gpu.parts import Setting
from models.executors import nvidia
from models.executors.device import Device, described, instruction_set, libraries

PACKAGES = ("onnxruntime-gpu", "onnxruntime", "torch", "monai", "onnx", "numpy", "catboost")


def device(setting: Setting) -> dict[str, Any]:
    """Return the properties of the machine that can be read."""
    facts: dict[str, Any] = {
        "machine": machine.describe(),
        "instruction_set": instruction_set(),
        "versions": {name: number for name in PACKAGES if (number := installed(name))},
        "libraries": libraries(setting.device),
        "profile": described(setting.device).name,
    }
    if setting.device.provider == "cuda":
        facts["architecture"] = nvidia.architecture(setting.device.index)
    if importlib.util.find_spec("torch") is not None:
        facts["torch_device"] = _torch(setting.device)
    return facts


def installed(name: str) -> str:
    """Return the version of a distribution, empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def missing(needs: tuple[str, ...]) -> str:
    """Return the packages that a part lacks and how to install them; empty if none is missing."""
    absent = [name for name in needs if importlib.util.find_spec(name) is None]
    return f"{', '.join(absent)}: pip install -e '.[train,dev]'" if absent else ""


def unavailable(device: Device) -> str:
    """Return the reason that ONNX Runtime has no session on the provider; empty if it has one."""
    if device.provider == "cpu":
        return ""
    from models.executors import sessions
    from models.executors.failures import ProviderUnavailable
    from models.executors.graph import Graph

    graph = Graph("probe")
    graph.output("out", graph.relu(graph.input("x", (1,))), (1,))
    try:
        sessions.opened(graph.serialise(), "probe", device)
    except (ProviderUnavailable, ImportError, RuntimeError) as error:
        return str(error).partition("\n")[0]
    return ""


def _torch(device: Device) -> dict[str, Any]:
    import torch

    if device.provider == "cpu":
        return {"name": "cpu", "threads": torch.get_num_threads()}
    if not torch.cuda.is_available():
        return {"name": "", "missing": "PyTorch sees no CUDA device"}
    about = torch.cuda.get_device_properties(device.index)
    return {
        "name": about.name,
        "memory_gib": round(about.total_memory / (1 << 30), 1),
        "multiprocessors": about.multi_processor_count,
        "architecture": f"sm_{about.major}{about.minor}",
        "cuda": torch.version.cuda,
    }
