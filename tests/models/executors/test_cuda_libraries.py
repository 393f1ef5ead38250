"""CUDA's libraries in wheels of several layouts, all of them fake folders."""

from pathlib import Path

import onnxruntime as ort
import pytest

from models.executors import cuda_libraries
from models.executors.failures import ProviderUnavailable

NAMES = ("libcudart.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcurand.so.10", "libcudnn.so.9", "libcuda.so.1")
SEPARATE = {
    "libcudart.so.13": "cuda_runtime",
    "libcublasLt.so.13": "cublas",
    "libcublas.so.13": "cublas",
    "libcurand.so.10": "curand",
    "libcudnn.so.9": "cudnn",
}
CONSOLIDATED = {name: "cudnn" if "cudnn" in name else "cu13" for name in SEPARATE}


class Loader:
    """Loads what lies in files, and what the system has."""

    def __init__(self, *system: str) -> None:
        self.system, self.tried = system, []

    def __call__(self, path: str) -> object:
        self.tried.append(path)
        if path in self.system or Path(path).is_file():
            return object()
        raise OSError(f"{path}: cannot open shared object file")


def wheels(place: Path, layout: dict[str, str]) -> Path:
    for name, folder in layout.items():
        file = place / "nvidia" / folder / "lib" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return place


@pytest.mark.parametrize("layout", [SEPARATE, CONSOLIDATED])
def test_wheels_of_both_layouts_are_found(tmp_path: Path, layout: dict[str, str]) -> None:
    loader = Loader("libcuda.so.1")
    libraries = cuda_libraries.loaded(NAMES, [tmp_path / "other", wheels(tmp_path, layout)], loader)
    assert libraries["libcuda.so.1"] == "libcuda.so.1"
    assert {name: Path(path).parent.parent.name for name, path in libraries.items() if name != "libcuda.so.1"} == layout


def test_what_the_system_has_goes_first(tmp_path: Path) -> None:
    loader = Loader(*NAMES)
    assert cuda_libraries.loaded(NAMES, [wheels(tmp_path, CONSOLIDATED)], loader) == dict(
        zip(NAMES, NAMES, strict=True)
    )


@pytest.mark.parametrize("missing", sorted(SEPARATE))
def test_a_missing_library_is_named_with_the_extra_that_brings_it(tmp_path: Path, missing: str) -> None:
    layout = {name: folder for name, folder in CONSOLIDATED.items() if name != missing}
    with pytest.raises(ProviderUnavailable) as caught:
        cuda_libraries.loaded(NAMES, [wheels(tmp_path, layout)], Loader("libcuda.so.1"))
    message = str(caught.value)
    assert f"{missing} cannot be loaded" in message
    assert "pip install 'demur[cuda]'" in message
    assert "driver" not in message
    assert not any(f"{name} cannot" in message for name in layout)


def test_a_missing_driver_is_not_a_missing_wheel(tmp_path: Path) -> None:
    with pytest.raises(
        ProviderUnavailable, match=r"libcuda\.so\.1 cannot be loaded.*install NVIDIA's driver"
    ) as caught:
        cuda_libraries.loaded(NAMES, [wheels(tmp_path, CONSOLIDATED)], Loader())
    assert "pip" not in str(caught.value)


def test_what_is_needed_is_what_the_installed_provider_links_to() -> None:
    """Names of libraries stand in the provider as texts."""
    try:
        names = cuda_libraries.needed()
    except ProviderUnavailable:
        pytest.skip("the installed ONNX Runtime has no CUDA provider")
    provider = (Path(ort.__file__).parent / "capi" / "libonnxruntime_providers_cuda.so").read_bytes()
    linked = [name for name in names if "cudnn" not in name]  # loaded when the first convolution wants it
    assert all(name.encode() + b"\x00" in provider for name in linked)


def test_a_runtime_without_cuda_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match=r"has no CUDA provider.*pip install 'demur\[cuda\]'"):
        cuda_libraries.needed(tmp_path)
