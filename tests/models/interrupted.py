"""Trainings that are cut off, the weights of those that go on, and checkpoints with code in them."""

from collections.abc import Callable
from pathlib import Path

import torch

from models.training.checkpoints import TrainedMember
from models.training.loop import Progress


class Killed(Exception):
    """End of a training that a test cuts off."""


def killed_at(call: int) -> Callable[[Progress], None]:
    """Report of progress that ends the training at this call."""
    calls: list[float] = []

    def report(state: Progress) -> None:
        calls.append(state.share)
        if len(calls) == call:
            raise Killed

    return report


def same(member: TrainedMember, other: TrainedMember) -> bool:
    return all(torch.equal(value, other.weights[name]) for name, value in member.weights.items())


class TouchingFile:
    """Pickle that creates a file where it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)
