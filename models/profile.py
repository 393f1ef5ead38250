"""Numeric profile: everything that changes scores in their last digits, and so what thresholds are bound to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from models.artefact import Executor

Provider = Literal["cpu", "cuda"]
ConvolutionSearch = Literal["heuristic", "exhaustive", "default"]
NAME_CHARACTERS = 64
"""Most characters of a name; ledgers keep that many."""
_DIGEST_CHARACTERS = 12


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Provider, arithmetic and device that compute the scores of an artefact.

    On the CPU the name is provider, precision and layout alone: other instruction sets and versions of ONNX Runtime
    are recorded with what was measured, and make no new profile while the golden rows agree.
    """

    provider: Provider = "cpu"
    precision: str = "fp32"
    """Of the artefact's graphs: ``fp32``, ``fp16`` or ``int8``."""
    layout: str = "stacked"
    """Layouts of the artefact's executors, joined by ``+``."""
    version: str = ""
    """Version of ONNX Runtime; empty on the CPU."""
    architecture: str = ""
    """Of the device, such as ``sm_90``, a slice of one ``sm_90.1g.18gb``; empty on the CPU."""
    tf32: bool = False
    """Whether matrix products may round float32 to 10 bits of mantissa; never on the CPU."""
    convolution_search: ConvolutionSearch = "heuristic"
    """How cuDNN chooses the algorithm of a convolution; without effect on the CPU."""

    @property
    def name(self) -> str:
        """The profile as ledgers and policies write it, at most ``NAME_CHARACTERS`` characters.

        ``cpu-fp32-stacked``, or ``cuda-1.31.1-fp32-stacked-sm_90-notf32-heuristic``.
        """
        if self.provider == "cpu":
            return f"cpu-{self.precision}-{self.layout}"
        tf32 = "tf32" if self.tf32 else "notf32"
        parts = (self.provider, self.version, self.precision, self.layout, self.architecture, tf32)
        return shortened("-".join([*filter(None, parts), self.convolution_search]))


def profile(executors: Sequence[Executor], device: Profile | None = None) -> Profile:
    """Return the profile of an artefact's executors on a device.

    Trees run on the CPU whatever the device, so an artefact of trees alone has the CPU's profile everywhere.

    Args:
        device: provider, version, architecture and arithmetic; None for the CPU.
    """
    found = device or Profile()
    if all(executor.kind == "catboost" for executor in executors):
        found = Profile()
    return msgspec.structs.replace(
        found,
        precision=executors[0].precision,
        layout="+".join(executor.layout for executor in executors),
    )


def shortened(name: str) -> str:
    """Return the name, or where it is too long its beginning and a digest of all of it."""
    if len(name) <= NAME_CHARACTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{name[: NAME_CHARACTERS - _DIGEST_CHARACTERS - 1]}-{digest}"
