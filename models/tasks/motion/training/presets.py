"""Training settings of members; nothing here needs torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from models.tasks.motion.networks.settings import (
    DROPOUT,
    FAMILIES,
    RELEASED_BC,
    RELEASED_DIM,
    SMALL_BC,
    SMALL_DIM,
    Sizes,
)

Conditioning = Literal["samples", "truth"]


@dataclass(frozen=True)
class Schedule:
    """Learning rate of AdamW: linear warm-up, then half a cosine down to zero (Shifts 1.0, E.4).

    Raises:
        ValueError: the rate is not above 0, or the warm-up is not shorter than the length.
    """

    rate: float
    """Peak learning rate."""
    length: int
    """Length of the training, in ``unit``."""
    warmup: int
    """Length of the warm-up, in ``unit``."""
    unit: Literal["epochs", "steps"]

    def __post_init__(self) -> None:
        if not (self.rate > 0 and 0 <= self.warmup < self.length):
            raise ValueError(f"{self} cannot be followed: a rate above 0, and a warm-up shorter than the length")

    def lengths(self, epoch: int) -> tuple[int, int]:
        """Return the steps of the whole training and of the warm-up, given those of an epoch."""
        scale = epoch if self.unit == "epochs" else 1
        return self.length * scale, self.warmup * scale

    def at(self, step: int, steps: int, warmup: int) -> float:
        """Return the learning rate of a step, given the values of ``lengths``."""
        if step < warmup:
            return self.rate * (step + 1) / warmup
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


@dataclass(frozen=True)
class Settings:
    """Training settings of a member.

    Raises:
        ValueError: a number is below its least value.
    """

    sizes: Sizes
    schedule: Schedule
    batch: int
    """Number of requests per step."""
    conditioning: Conditioning
    """Condition of each step of a trajectory: ``samples`` of the member itself, as in Shifts 1.0, E.4 for behavioural
    cloning, or the preceding ``truth`` (teacher forcing).
    """
    dev_every: int
    """Steps between evaluations on development requests; the state is saved at each."""
    dev_examples: int = 2048
    """Largest number of development requests that are evaluated."""
    decay: float = 0.01
    """Weight decay of AdamW."""
    clip: float = 1.0
    """Largest norm of the gradient."""

    def __post_init__(self) -> None:
        if min(self.batch, self.dev_every, self.dev_examples) < 1 or not self.clip > 0 or self.decay < 0:
            raise ValueError(
                f"{self} cannot be followed: batch, dev_every and dev_examples are at least 1, clip above 0"
            )


_TINY = Sizes("bc", "small", channels=(4, 4, 8, 8), hidden=8, unit=10.0)
_TINY_SCHEDULE = Schedule(5e-3, 12, 2, "steps")
_SMALL_SCHEDULE = Schedule(2e-3, 2000, 100, "steps")
_PAPER_SCHEDULE = Schedule(1e-4, 100, 1, "epochs")
_CONDITIONING: Mapping[str, Conditioning] = {"bc": "samples", "dim": "truth"}


def _tiny(sizes: Sizes) -> Settings:
    return Settings(sizes, _TINY_SCHEDULE, 8, _CONDITIONING[sizes.decoder], dev_every=4, dev_examples=16)


def _small(sizes: Sizes) -> Settings:
    return Settings(sizes, _SMALL_SCHEDULE, 64, _CONDITIONING[sizes.decoder], dev_every=200)


def _paper(sizes: Sizes) -> Settings:
    return Settings(sizes, _PAPER_SCHEDULE, 650, _CONDITIONING[sizes.decoder], dev_every=500)


PRESETS: Mapping[str, Mapping[str, Settings]] = {
    "tiny": {"bc": _tiny(_TINY), "dim": _tiny(replace(_TINY, decoder="dim"))},
    "small": {"bc": _small(SMALL_BC), "dim": _small(SMALL_DIM)},
    "paper": {"bc": _paper(RELEASED_BC), "dim": _paper(RELEASED_DIM)},
}
"""Settings by preset and decoder. ``tiny``: seconds, for tests. ``small``: minutes per member on one core, for
reference artefacts. ``paper``: a hundred passes over the training requests with the released networks (Shifts 1.0,
E.4).
"""


def preset(name: str, family: str) -> Settings:
    """Return the settings of a preset for a family.

    Raises:
        ValueError: the family or preset is unknown.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")
    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is unknown; use one of {', '.join(PRESETS)}")
    decoder, _, dropout = family.partition("_")
    settings = PRESETS[name][decoder]
    return replace(settings, sizes=replace(settings.sizes, dropout=DROPOUT)) if dropout else settings
