"""Plan of the page: sizes of the sets, and the models that translate them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from models.tasks.translation.networks.settings import Precision
from services.runtime.settings import TASK_DEFAULTS

Thing = TypeVar("Thing")
ENSEMBLE, EXACT = "ensemble", "ensemble-fp32"
SERVED: Precision = "int8"
RETENTION: float = TASK_DEFAULTS["translation"]["target_retention"]
"""Share of in-domain sentences that the threshold keeps: the service's default."""
OTHERS = (0.95, 0.8, 0.4)
"""Other shares to keep, for more answers or better ones."""


@dataclass(frozen=True)
class Plan:
    """Parameters, besides the code, the members and the data, on which the numbers depend."""

    cap: int = 1500
    """Largest number of lines per domain of the training collection; larger domains are thinned evenly."""
    public: int = 2000
    """Largest number of lines per public test set, which is enough for all of them."""
    compared: int = 400
    """Number of lines, half held out and half shifted, that are also translated in float32."""
    preset: str = "small"
    seeds: tuple[int, ...] = (1000, 1001, 1002)
    """Seeds of the members."""

    @property
    def models(self) -> tuple[Model, ...]:
        """Served ensemble, each member alone, and the ensemble in float32."""
        singles = (Model(single(seed), (seed,), SERVED) for seed in self.seeds)
        return (Model(ENSEMBLE, self.seeds, SERVED), *singles, Model(EXACT, self.seeds, "fp32"))


@dataclass(frozen=True)
class Model:
    """Some of the members, in one precision."""

    name: str
    seeds: tuple[int, ...]
    precision: Precision


def single(seed: int) -> str:
    """Return the name of a single member."""
    return f"member-{seed}"


def spaced(count: int, most: int) -> list[int]:
    """Return the positions of at most ``most`` of ``count`` items, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int)).tolist() if count else []


def capped(things: Sequence[Thing], most: int) -> tuple[Thing, ...]:
    """Return at most ``most`` items, evenly spaced."""
    return tuple(things[place] for place in spaced(len(things), most))
