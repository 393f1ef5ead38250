"""Failures of a device, as distinct from failures of an input."""

OUT_OF_MEMORY = ("out of memory", "failed to allocate", "cudaerrormemoryallocation")
"""Parts of messages of ONNX Runtime and CUDA about exhausted memory, in lower case."""
OUT_OF_MEMORY_KIND = "OutOfMemory"
"""Kind of a failure by lack of memory, for any class of the error."""


class ProviderUnavailable(RuntimeError):
    """CUDA was requested and cannot compute the graph; the message has the reason and the remedy."""


class NodesRefused(ProviderUnavailable):
    """CUDA is available, but does not accept all nodes of a graph that compute scores."""


class DeviceFailed(RuntimeError):
    """The device failed in a pass, or had no memory for a graph; nothing was computed on another provider instead."""

    def __init__(self, kind: str) -> None:
        """Create the error.

        Args:
            kind: class of the runtime's error, or ``OutOfMemory``; its text, which may contain inputs, is that of the
                cause.
        """
        super().__init__(f"the device failed: {kind}")
        self.kind = kind


def kind_of(error: BaseException) -> str:
    """Return the kind of a device's failure: ``OutOfMemory``, or the class of the error."""
    if isinstance(error, MemoryError) or any(words in str(error).lower() for words in OUT_OF_MEMORY):
        return OUT_OF_MEMORY_KIND
    return type(error).__name__
