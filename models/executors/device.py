"""Device that runs graphs: provider, threads and arithmetic, and what is recorded of the machine."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from models.executors import nvidia
from models.profile import ConvolutionSearch, Profile, Provider

ArenaGrowth = Literal["same", "double"]
"""Growth of a device's arena: by the requested size, or to the next power of two."""

_WHEELS: Mapping[str, tuple[str, ...]] = {
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime"),
    "catboost": ("catboost",),
    "numpy": ("numpy",),
    "cuda": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
    "cublas": ("nvidia-cublas", "nvidia-cublas-cu12"),
    "cudnn": ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"),
}
"""Library to the distributions that contain it, newest first."""
_OF_CUDA = ("cuda", "cublas", "cudnn")
_INSTRUCTION_SETS = (
    ("amx_bf16", "avx512_fp16", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "avx2", "avx", "sse4_2"),
    ("sve2", "sve", "asimddp", "asimd"),
)
"""Flags of /proc/cpuinfo, widest first: x86-64, then Arm."""


@dataclass(frozen=True)
class Device:
    """Device and arithmetic of ONNX Runtime sessions."""

    provider: Provider = "cpu"
    threads: int = 1
    """Number of threads of one pass on the CPU."""
    tf32: bool = False
    """True if CUDA may round float32 factors of matrix products and convolutions to 10 bits of mantissa."""
    convolution_search: ConvolutionSearch = "heuristic"
    """Method by which cuDNN chooses the algorithm of a convolution."""
    memory_bytes: int = 0
    """Most bytes of a session's arena on the device; 0 for no limit."""
    index: int = 0
    """CUDA's number of the device among those that the process can use."""
    growth: ArenaGrowth = "same"

    def __post_init__(self) -> None:
        for name, least in (("threads", 0), ("memory_bytes", 0), ("index", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} = {getattr(self, name)}: must be {least} or more")


CPU = Device()


def described(device: Device) -> Profile:
    """Return the numeric profile of a device, with precision and layout at their defaults.

    ``models.profile.profile`` completes it for an artefact.
    """
    if device.provider == "cpu":
        return Profile()
    import onnxruntime as ort  # late: commands that only read settings need no ONNX Runtime

    return Profile(
        provider=device.provider,
        version=ort.__version__,
        architecture=nvidia.architecture(device.index),
        tf32=device.tf32,
        convolution_search=device.convolution_search,
    )


def libraries(device: Device) -> dict[str, str]:
    """Return versions of the installed libraries that compute on a device, and of its driver; for records only."""
    names = [name for name in _WHEELS if device.provider == "cuda" or name not in _OF_CUDA]
    versions = {name: version for name in names if (version := _installed(_WHEELS[name]))}
    if device.provider == "cuda" and (driver := nvidia.driver()):
        versions["driver"] = driver
    return versions


def instruction_set(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the widest instruction set of this CPU that numerics may use, such as ``avx512_bf16``; for records only.

    If the system lists none, return the name of the processor's architecture.
    """
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, values = line.partition(":")
        if key.strip() in ("flags", "Features"):
            flags = set(values.split())
            for names in _INSTRUCTION_SETS:
                for name in names:
                    if name in flags:
                        return name
    return platform.machine()


def _installed(distributions: tuple[str, ...]) -> str:
    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""
