"""Version labels of ``demur_build_info``: few, and constant for the life of a process."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

_DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "bentoml": ("bentoml",),
    "grpcio": ("grpcio",),
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime"),
}
NAMES = (*_DISTRIBUTIONS, "python")


def versions() -> tuple[str, ...]:
    """Return the version of each of ``NAMES``, empty if not installed; imports nothing."""
    return (*(_installed(names) for names in _DISTRIBUTIONS.values()), platform.python_version())


def _installed(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""
