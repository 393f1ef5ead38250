"""Description in one line of the machine on which figures were measured."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("onnxruntime", "onnxruntime-gpu", "grpcio", "protobuf", "bentoml", "uvloop", "numpy")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def describe() -> dict[str, str]:
    """Return processor, cores, load, kernel, governor and versions."""
    return {
        "cpu": _processor(),
        "cores": str(os.cpu_count()),
        "load": "/".join(f"{value:.1f}" for value in os.getloadavg()),
        "kernel": kernel(platform.release()),
        "governor": _GOVERNOR.read_text().strip() if _GOVERNOR.exists() else "not visible",
        "python": platform.python_version(),
    } | {name: installed for name in _PACKAGES if (installed := _version(name))}


def line() -> str:
    """Return the same description as one line of text."""
    return ", ".join(f"{name} {value}" for name, value in describe().items())


def kernel(release: str) -> str:
    """Return the version number at the start of a kernel's release; the rest names a build or a host."""
    return re.match(r"[\d.]*\d|", release).group() or release  # type: ignore[union-attr]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    fields = dict(line.split("\t", 1) for line in lines if line.startswith(("model name\t", "model\t")))
    if not fields:
        return platform.processor() or platform.machine()
    words = {name: value.strip(" \t:") for name, value in fields.items()}
    return f"{words.get('model name', '')} (model {words.get('model', '?')})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
