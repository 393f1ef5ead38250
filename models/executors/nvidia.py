"""Properties of NVIDIA devices from the management library (NVML); without a driver there are none."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNKNOWN = "unknown"
"""Architecture of a device that the management library does not describe."""
_MIG_NAME = re.compile(r"\bMIG (\S+)")


def architecture(index: int) -> str:
    """Return the compute capability of a CUDA device as ``sm_90``, with its MIG slice ``sm_90.1g.18gb``.

    ``unknown`` without a driver, without the management library, or if there is no such device.

    Args:
        index: CUDA's number of the device; ``CUDA_VISIBLE_DEVICES`` is followed. On machines with several kinds of
            devices CUDA and NVML count alike only with ``CUDA_DEVICE_ORDER=PCI_BUS_ID``.
    """
    with _library() as nvml:
        if nvml is None:
            return UNKNOWN
        try:
            return _architecture(nvml, index, os.environ.get("CUDA_VISIBLE_DEVICES"))
        except (nvml.NVMLError, LookupError, ValueError):
            return UNKNOWN


def driver() -> str:
    """Return the version of the driver, empty if there is none."""
    with _library() as nvml:
        if nvml is None:
            return ""
        try:
            return _text(nvml.nvmlSystemGetDriverVersion())
        except nvml.NVMLError:
            return ""


def used_memory_bytes(index: int) -> int | None:
    """Return the used memory of a CUDA device, or of its MIG slice, summed over all processes.

    Processes are not distinguished: in a container their numbers differ from those of the driver.

    The result is None without a driver, without the device, or for a kind of device that does not report its memory.

    Args:
        index: CUDA's number of the device, see ``architecture``.
    """
    with _library() as nvml:
        if nvml is None:
            return None
        try:
            whole, part = _parts(nvml, _handle(nvml, index, os.environ.get("CUDA_VISIBLE_DEVICES")))
            return int(nvml.nvmlDeviceGetMemoryInfo(whole if part is None else part).used)
        except (nvml.NVMLError, LookupError, ValueError):
            return None


def _architecture(nvml: Any, index: int, visible: str | None) -> str:
    whole, part = _parts(nvml, _handle(nvml, index, visible))
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(whole)
    return f"sm_{major}{minor}" + (f".{_size(nvml, part)}" if part is not None else "")


def _handle(nvml: Any, index: int, visible: str | None) -> Any:
    """Return NVML's handle of a visible device.

    Raises:
        LookupError: fewer devices are visible.
    """
    if visible is None:
        return nvml.nvmlDeviceGetHandleByIndex(index)
    name = [part.strip() for part in visible.split(",")][index]
    return nvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else nvml.nvmlDeviceGetHandleByUUID(name)


def _parts(nvml: Any, device: Any) -> tuple[Any, Any]:
    """Return the whole device, and the slice of it that CUDA uses; None if it is not divided."""
    if nvml.nvmlDeviceIsMigDeviceHandle(device):
        return nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device), device
    try:
        divided = nvml.nvmlDeviceGetMigMode(device)[0] == nvml.NVML_DEVICE_MIG_ENABLE
    except nvml.NVMLError:  # kinds that cannot be divided
        return device, None
    if not divided:
        return device, None
    for place in range(nvml.nvmlDeviceGetMaxMigDeviceCount(device)):
        try:
            return device, nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, place)
        except nvml.NVMLError:  # no slice at this place
            continue
    raise LookupError("the device is divided and has no slice")


def _size(nvml: Any, part: Any) -> str:
    """Return the size of a slice as in the name of its profile, such as ``1g.18gb``."""
    named = _MIG_NAME.search(_text(nvml.nvmlDeviceGetName(part)))
    return named[1] if named else "mig"


@contextmanager
def _library() -> Iterator[Any]:
    """Yield the initialised management library; None if it cannot be initialised."""
    try:
        import pynvml
    except ImportError:
        yield None
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
