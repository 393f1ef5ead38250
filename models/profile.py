"""Numeric profile: everything that changes the last digits of scores, so that thresholds are bound to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from models.manifest import Executor

Provider = Literal["cpu", "cuda"]
ConvolutionSearch = Literal["heuristic", "exhaustive", "default"]
NAME_CHARACTERS = 64
"""Most characters of a name; ledgers store that many."""
_DIGEST_CHARACTERS = 12


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Provider, arithmetic and device that compute the scores of an artefact.

    On the CPU the name consists of provider, precision and layout: instruction sets and versions of ONNX Runtime are
    recorded with measurements, and do not make a new profile as long as the golden rows agree.
    """

    provider: Provider = "cpu"
    precision: str = "fp32"
    """Precision of the artefact's graphs: ``fp32``, ``fp16`` or ``int8``."""
    layout: str = "stacked"
    """Layouts of the artefact's executors, joined by ``+``."""
    version: str = ""
    """Version of ONNX Runtime; empty on the CPU."""
    architecture: str = ""
    """Architecture of the device, such as ``sm_90``, or ``sm_90.1g.18gb`` for a slice; empty on the CPU."""
    tf32: bool = False
    """True if matrix products may round float32 to 10 bits of mantissa; never on the CPU."""
    convolution_search: ConvolutionSearch = "heuristic"
    """Method by which cuDNN chooses the algorithm of a convolution; without effect on the CPU."""

    @property
    def name(self) -> str:
        """Name of the profile in ledgers and policies, at most ``NAME_CHARACTERS`` characters.

        Examples: ``cpu-fp32-stacked``, ``cuda-1.31.1-fp32-stacked-sm_90-notf32-heuristic``.
        """
        if self.provider == "cpu":
            return f"cpu-{self.precision}-{self.layout}"
        tf32 = "tf32" if self.tf32 else "notf32"
        parts = (self.provider, self.version, self.precision, self.layout, self.architecture, tf32)
        return shortened("-".join([*filter(None, parts), self.convolution_search]))


def profile(executors: Sequence[Executor], device: Profile | None = None) -> Profile:
    """Return the profile of an artefact's executors on a device.

    Trees always run on the CPU, so an artefact with only trees has the CPU's profile on every device.

    Args:
        device: provider, version, architecture and arithmetic; None for the CPU.
    """
    base = device or Profile()
    if all(executor.layout == "trees" for executor in executors):
        base = Profile()
    return msgspec.structs.replace(
        base,
        precision=executors[0].precision,
        layout="+".join(executor.layout for executor in executors),
    )


def shortened(name: str) -> str:
    """Return the name; if it is too long, its beginning and a digest of the whole name."""
    if len(name) <= NAME_CHARACTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{name[: NAME_CHARACTERS - _DIGEST_CHARACTERS - 1]}-{digest}"
