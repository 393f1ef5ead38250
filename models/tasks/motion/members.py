"""The members of a motion ensemble as one graph: feature maps in, plans and their scores under every member out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

STEPS = 25
"""Positions of a plan, 0.2 s apart (Shifts 1.0, section 5)."""


class Planners(Protocol):
    """Whatever imagines and scores plans."""

    count: int
    """K, members."""
    samples: int
    """Q, plans of each."""

    def __call__(self, maps: Float32) -> tuple[Float32, Float32]:
        """Plans [N, K Q, T, 2], m in the agents' frames, members in order, and log-likelihoods [N, K, K Q], nats.

        Args:
            maps: feature maps in the released layout, [N, 17, y, x].
        """
        ...
