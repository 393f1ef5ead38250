"""Division of labelled requests: training, choice of weights, calibration and evaluation."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.data.examples import Examples

TRAIN, DEV, EVAL = "train", "dev", "eval"
"""Splits of an official folder."""
EVERY = 4
"""Interval of in-domain development scenes that choose weights; the others calibrate."""


def training(train: Examples) -> Examples:
    """Return the in-domain requests of the training split."""
    return train.take(~train.shifted)


def choosing(dev: Examples) -> Examples:
    """Return the in-domain development requests that choose the weights of members: those of every fourth scene."""
    return dev.take(~dev.shifted & _of_choosing_scenes(dev))


def calibrating(dev: Examples) -> Examples:
    """Return the in-domain development requests of the other scenes; of the same one if there is only one."""
    others = ~dev.shifted & ~_of_choosing_scenes(dev)
    return dev.take(others) if others.any() else choosing(dev)


def unseen(dev: Examples) -> Examples:
    """Return all development requests but the in-domain ones that choose weights, for evaluation in tables."""
    return dev.take(dev.shifted | ~_of_choosing_scenes(dev))


def judging(stored: Mapping[str, Examples]) -> dict[str, Examples]:
    """Return development and evaluation requests by name, without those that calibrate; empty parts are left out."""
    parts = {}
    for split in (DEV, EVAL):
        if (examples := stored.get(split)) is not None:
            parts[f"{split}_in"] = examples.take(~examples.shifted)
            parts[f"{split}_shifted"] = examples.take(examples.shifted)
    parts.pop("dev_in", None)
    return {name: examples for name, examples in parts.items() if len(examples)}


def _of_choosing_scenes(dev: Examples) -> NDArray[np.bool_]:
    scenes = np.unique(dev.scenes[~dev.shifted])
    return np.isin(dev.scenes, scenes[::EVERY])
