"""Failures of a device, apart from failures of an input."""

from __future__ import annotations

OUT_OF_MEMORY = ("out of memory", "failed to allocate", "cudaerrormemoryallocation")
"""What messages of ONNX Runtime and CUDA say of memory that is used up, in lower case."""
OUT_OF_MEMORY_KIND = "OutOfMemory"
"""Kind of a failure for want of memory, whatever the class of the error."""


class ProviderUnavailable(RuntimeError):
    """CUDA was asked for and cannot compute the graph; the message says why and what to do."""


class NodesRefused(ProviderUnavailable):
    """CUDA is there, and does not take all nodes of a graph that compute scores."""


class DeviceFailed(RuntimeError):
    """The device failed in a pass, or had no memory for a graph; nothing was computed on another provider instead."""

    def __init__(self, kind: str) -> None:
        """
        Args:
            kind: class of the runtime's error, or ``OutOfMemory``; its text, which may tell of inputs, is the cause's.
        """
        super().__init__(f"the device failed: {kind}")
        self.kind = kind


def kind_of(error: BaseException) -> str:
    """Return the kind of a device's failure: ``OutOfMemory``, or the class of the error."""
    if isinstance(error, MemoryError) or any(words in str(error).lower() for words in OUT_OF_MEMORY):
        return OUT_OF_MEMORY_KIND
    return type(error).__name__
