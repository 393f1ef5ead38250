"""Parts of a run: short enough to repeat, each in a process of its own."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.executors.device import Device
from services.tasks import DEFAULT_MODELS

MOST_SECONDS = 480
"""Time after which a part is stopped and counts as failed, s; the other parts continue."""


@dataclass(frozen=True)
class Setting:
    """Settings of one part."""

    device: Device
    quick: bool
    """True for small sizes, as on a CPU in a test."""
    folder: Path
    """Folder for files that the part needs while it runs."""


@dataclass(frozen=True)
class Part:
    """One step of the run."""

    name: str
    about: str
    """Description of the part in full size."""
    place: str
    """Module and function; the function takes a ``Setting`` and returns JSON-compatible values."""
    needs: tuple[str, ...] = ()
    """Packages that the part requires."""
    provider: bool = True
    """True if a session of ONNX Runtime on the provider is needed."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the function."""
    quick_about: str = ""
    """Description of the part in small sizes; empty if it is the same."""
    not_on_cuda: str = ""
    """Reason that CUDA cannot run the part; empty if it can."""
    artefacts: tuple[str, ...] = ()
    """Names of the shipped artefacts that the part uses; its outcome holds only for these versions."""

    def title(self, *, quick: bool) -> str:
        """Return the description of the part in full or in small sizes."""
        return self.quick_about if quick and self.quick_about else self.about

    def run(self, setting: Setting) -> dict[str, Any]:
        """Run the part and return its figures."""
        module, _, name = self.place.partition(":")
        function: Callable[..., dict[str, Any]] = getattr(importlib.import_module(module), name)
        return function(setting, **self.options)


@dataclass(frozen=True)
class Outcome:
    """Outcome of one part."""

    state: str
    """State of the part: ``done``, ``failed`` or ``missing``."""
    seconds: float = 0.0
    reason: str = ""
    """Reason of a failure, or the missing packages and how to install them."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """Figures of the part, also if it failed because of them."""
    time: str = ""
    """Start time, RFC 3339; empty if the part did not run, and in records from before times were kept."""
    artefacts: Mapping[str, str] = field(default_factory=dict)
    """Tags of the shipped artefacts used, by name; empty if the part did not run, and in older records."""


class PartFailed(Exception):
    """Failure of a part that ran but whose figures are not acceptable."""

    def __init__(self, reason: str, found: Mapping[str, Any]) -> None:
        """Create the exception.

        Args:
            found: figures, kept in the record.
        """
        super().__init__(reason)
        self.found = found


_EIGHT_BITS = "the default artefact computes in eight bits, which ONNX Runtime's CUDA provider does not take"
_TASKS = ("vessel", "weather", "motion", "lesion", "translation")
PARTS: tuple[Part, ...] = (
    Part("device", "device, driver, libraries", "benchmarks.gpu.facts:device", provider=False),
    Part(
        "rates",
        "matrix products and copies, from which floors are computed",
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
        quick_about="training steps of small networks of each task on the device and on the CPU",
    ),
    Part(
        "export",
        "networks in PyTorch on the device against their exported graphs on the CPU",
        "benchmarks.gpu.training:exports",
        ("torch", "monai", "onnx"),
        False,
        quick_about="small networks in PyTorch on the device against their exported graphs on the CPU",
    ),
    *(
        Part(
            f"qualify-{task}",
            f"replay set of the default {task} artefact, and the verdict on the device",
            "benchmarks.gpu.qualify:run",
            options={"task": task},
            quick_about=f"at most 64 units of the replay set of the default {task} artefact, without a verdict",
            not_on_cuda=_EIGHT_BITS if task == "translation" else "",
            artefacts=(DEFAULT_MODELS[task],),
        )
        for task in _TASKS
    ),
    Part(
        "tests",
        "tests of services on the device, with real data where there is some",
        "benchmarks.gpu.suites:run",
        ("pytest",),
        quick_about="tests of services on the device with rows of real data",
        artefacts=tuple(DEFAULT_MODELS.values()),
    ),
    Part(
        "rows",
        "a million vessel rows through 100 predictors",
        "benchmarks.gpu.measures:rows",
        ("torch",),
        quick_about="4096 vessel rows through 100 predictors",
        artefacts=("vessel-variational-10x10",),
    ),
    Part(
        "transformer",
        "4096 weather rows through an ensemble of 10 FT-Transformers of the paper's size",
        "benchmarks.gpu.measures:transformer",
        ("torch",),
        quick_about="16 weather rows through an ensemble of 2 small FT-Transformers",
    ),
    Part(
        "scan",
        "a brain scan through five U-Nets of the released size",
        "benchmarks.gpu.measures:scan",
        ("torch", "monai"),
        quick_about="a scan of 96 voxels a side through the five small U-Nets of the reference artefact",
        artefacts=(DEFAULT_MODELS["lesion"],),
    ),
    Part(
        "motion",
        "one motion request through five members of the released size",
        "benchmarks.gpu.measures:motion",
        ("torch",),
        quick_about="one motion request through five small members",
    ),
    Part(
        "translation",
        "a sentence through three Transformers of the released size",
        "benchmarks.gpu.measures:translation",
        ("torch",),
        quick_about="a sentence through three tiny Transformers",
    ),
    Part(
        "service",
        "calls of one row, and of a thousand, over gRPC",
        "benchmarks.gpu.measures:service",
        artefacts=(DEFAULT_MODELS["vessel"],),
    ),
)
"""Parts in the order in which they run."""
