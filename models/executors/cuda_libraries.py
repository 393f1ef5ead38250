"""Shared libraries of ONNX Runtime's CUDA provider, loaded from NVIDIA's wheels or the system."""

import ctypes
import io
import site
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import onnxruntime as ort

from models.executors.failures import ProviderUnavailable

EXTRA = "demur[cuda]"
"""Extra of this project that brings CUDA and cuDNN as wheels."""
DRIVER = "libcuda.so.1"
_PROVIDER = "libonnxruntime_providers_cuda.so"
_CUDNN = "libcudnn.so.9"
Load = Callable[[str], object]


@cache
def load() -> None:
    """Load the libraries once for the process.

    Raises:
        ProviderUnavailable: one is missing; the message names it and its package.
    """
    with redirect_stdout(io.StringIO()):  # ONNX Runtime prints failures and raises nothing; see below
        ort.preload_dlls()
    loaded(needed(), [*map(Path, site.getsitepackages()), Path(ort.__file__).parents[1]])


def runtime() -> ctypes.CDLL:
    """Return CUDA's runtime library; ``load`` must have loaded it."""
    return ctypes.CDLL(needed()[0])


def needed(capi: Path | None = None) -> tuple[str, ...]:
    """Return the file names of libraries that the installed CUDA provider needs, in the order of loading.

    Args:
        capi: folder of ONNX Runtime's own libraries; None for that of the installed one.

    Raises:
        ProviderUnavailable: this ONNX Runtime has no CUDA provider.
    """
    provider = (capi or Path(ort.__file__).parent / "capi") / _PROVIDER
    if not provider.is_file():
        raise ProviderUnavailable(
            f"DEMUR_PROVIDER = cuda: the installed onnxruntime {ort.__version__} has no CUDA provider ({_PROVIDER}); "
            f"uninstall onnxruntime and onnxruntime-gpu, then pip install '{EXTRA}'"
        )
    major = ort.cuda_version.partition(".")[0]  # of the CUDA that it was built with
    return (
        f"libcudart.so.{major}",
        f"libcublasLt.so.{major}",
        f"libcublas.so.{major}",
        "libcurand.so.10",
        _CUDNN,
        DRIVER,
    )


def loaded(names: Iterable[str], places: Sequence[Path], load: Load = ctypes.CDLL) -> dict[str, str]:
    """Load libraries, from the system's paths or from NVIDIA's wheels in one of the places.

    Wheels have their libraries in ``nvidia/<component>/lib`` or, since CUDA 13, in ``nvidia/cu13/lib``.

    Returns:
        File name to the path or name that was loaded.

    Raises:
        ProviderUnavailable: some cannot be loaded; the message names each and its package.
    """
    done, missing = {}, {}
    for name in names:
        candidates = [name, *(str(path) for place in places for path in sorted(place.glob(f"nvidia/*/lib/{name}")))]
        for path in candidates:
            try:
                load(path)
            except OSError as error:
                missing[name] = str(error)
                continue
            done[name] = path
            missing.pop(name, None)
            break
    if missing:
        raise ProviderUnavailable(_message(missing))
    return done


def _message(missing: dict[str, str]) -> str:
    reasons = "; ".join(f"{name} cannot be loaded ({reason})" for name, reason in missing.items())
    remedies = []
    if set(missing) - {DRIVER}:
        remedies.append(f"install CUDA and cuDNN with pip install '{EXTRA}'")
    if DRIVER in missing:
        remedies.append("install NVIDIA's driver and give the container a device")
    return f"DEMUR_PROVIDER = cuda: {reasons}; {', '.join(remedies)}, or set DEMUR_PROVIDER=cpu"
