"""The parts of a run: small enough to repeat, and none depends on another's process."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.executors.device import Device

MOST_SECONDS = 480
"""After which a part is ended and counts as failed; the others go on."""


@dataclass(frozen=True)
class Setting:
    """What a part is run with."""

    device: Device
    quick: bool
    """Small sizes, for a CPU in a test."""
    folder: Path
    """For files that it needs while it runs."""


@dataclass(frozen=True)
class Part:
    """One question to the machine."""

    name: str
    about: str
    place: str
    """Module and function, which takes a ``Setting`` and returns what JSON can hold."""
    needs: tuple[str, ...] = ()
    """Packages without which it cannot run."""
    provider: bool = True
    """Whether a session of ONNX Runtime on the provider is needed."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the function."""

    def run(self, setting: Setting) -> dict[str, Any]:
        """Return what the part found."""
        module, _, name = self.place.partition(":")
        function: Callable[..., dict[str, Any]] = getattr(importlib.import_module(module), name)
        return function(setting, **self.options)


@dataclass(frozen=True)
class Outcome:
    """What became of a part."""

    state: str
    """``done``, ``failed`` or ``missing``."""
    seconds: float = 0.0
    reason: str = ""
    """Why there is nothing, and what to install."""
    found: Mapping[str, Any] = field(default_factory=dict)


_TASKS = ("vessel", "weather", "motion", "lesion", "translation")
PARTS: tuple[Part, ...] = (
    Part("device", "device, driver, libraries", "benchmarks.gpu.facts:device", provider=False),
    Part(
        "rates",
        "matrix products and copies, as floors are computed from",
        "benchmarks.gpu.floors:rates",
        ("torch",),
        False,
    ),
    Part(
        "training",
        "training steps of each task's networks on the device and on the CPU",
        "benchmarks.gpu.training:steps",
        ("torch", "monai"),
        False,
    ),
    Part(
        "export",
        "networks in PyTorch on the device against their exported graphs on the CPU",
        "benchmarks.gpu.training:exports",
        ("torch", "monai", "onnx"),
        False,
    ),
    *(
        Part(
            f"qualify-{task}",
            f"replay set of the default {task} artefact",
            "benchmarks.gpu.qualify:run",
            options={"task": task},
        )
        for task in _TASKS
    ),
    Part(
        "tests",
        "services on the device under test, with real data where there is some",
        "benchmarks.gpu.suites:run",
        ("pytest",),
    ),
    Part("rows", "a million vessel rows through 100 predictors", "benchmarks.gpu.measures:rows", ("torch",)),
    Part(
        "transformer",
        "rows of weather through an FT-Transformer ensemble",
        "benchmarks.gpu.measures:transformer",
        ("torch",),
    ),
    Part("scan", "a brain scan through five U-Nets", "benchmarks.gpu.measures:scan", ("torch", "monai")),
    Part("motion", "one motion request through five members", "benchmarks.gpu.measures:motion", ("torch",)),
    Part(
        "translation",
        "a sentence through three Transformers of the released size",
        "benchmarks.gpu.measures:translation",
        ("torch",),
    ),
    Part("service", "one row, and a thousand, over gRPC", "benchmarks.gpu.measures:service"),
)
"""In the order in which they are run."""
