"""Which labelled requests train members, choose their weights, calibrate the ensemble and judge it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.data.examples import Examples

TRAIN, DEV, EVAL = "train", "dev", "eval"
"""Splits of an official folder."""
EVERY = 4
"""Of so many in-domain development scenes, one chooses weights and the others calibrate."""


def training(train: Examples) -> Examples:
    """Return the in-domain requests of the training split."""
    return train.take(~train.shifted)


def choosing(dev: Examples) -> Examples:
    """In-domain development requests that choose the weights of members: those of every fourth scene."""
    return dev.take(~dev.shifted & _of_choosing_scenes(dev))


def calibrating(dev: Examples) -> Examples:
    """In-domain development requests of the other scenes; of the same one where there is only one."""
    others = ~dev.shifted & ~_of_choosing_scenes(dev)
    return dev.take(others) if others.any() else choosing(dev)


def unseen(dev: Examples) -> Examples:
    """Return all development requests but the in-domain ones that choose weights; tables judge these."""
    return dev.take(dev.shifted | ~_of_choosing_scenes(dev))


def judging(stored: Mapping[str, Examples]) -> dict[str, Examples]:
    """Development and evaluation requests by name, without those that calibrate; parts that are empty are left out."""
    found = {}
    for split in (DEV, EVAL):
        if (examples := stored.get(split)) is not None:
            found[f"{split}_in"] = examples.take(~examples.shifted)
            found[f"{split}_shifted"] = examples.take(examples.shifted)
    found.pop("dev_in", None)
    return {name: examples for name, examples in found.items() if len(examples)}


def _of_choosing_scenes(dev: Examples) -> NDArray[np.bool_]:
    scenes = np.unique(dev.scenes[~dev.shifted])
    return np.isin(dev.scenes, scenes[::EVERY])
