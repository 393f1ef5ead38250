"""Sizes of the networks; nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from models.tasks.motion.inference.grid import OFFICIAL

FAMILIES = ("bc", "dim", "bc_dropout", "dim_dropout")
"""Behavioural cloning and the deep imitative model, as deep ensembles and as dropout ensembles (Shifts 1.0, E.4)."""
SAMPLES = 10
"""Q, plans that each member imagines (Shifts 1.0, E.4)."""
DROPOUT = 0.1
"""Of the small networks of dropout ensembles."""
SMALL_STRIDE = 32
"""Cells of a map that the small encoder makes one of, a side."""

Encoder = Literal["mobilenet_v2", "small"]
Decoder = Literal["bc", "dim"]


@dataclass(frozen=True)
class Sizes:
    """A member of an ensemble: an encoder of feature maps, and a decoder that says one step after the other.

    Raises:
        ValueError: a size below one, a dropout outside [0, 1), or a grid that the encoder does not take.
    """

    decoder: Decoder
    """``bc``: a linear layer makes mean and scale of a step of the hidden state. ``dim``: two layers do."""
    encoder: Encoder = "mobilenet_v2"
    """``mobilenet_v2``: as released, takes any grid. ``small``: of the reference artefacts, made for one grid."""
    channels: tuple[int, ...] = ()
    """Of the small encoder's levels from 4 to 32 cells a side."""
    hidden: int = 512
    """Of the decoder's recurrent state, which the encoder's embedding starts."""
    locscale: int = 32
    """Hidden units between the state and mean and scale, of ``dim``."""
    dropout: float = 0.0
    """Probability of dropping a pooled feature of the encoder, and a hidden unit before mean and scale: in training,
    and in the frozen masks of dropout ensembles."""
    unit: float = 1.0
    """What positions are divided by before the decoder sees them, m."""
    sees_steps: bool = False
    """Whether the decoder sees the step before besides the position."""
    grid: int = OFFICIAL.size
    """Cells a side of the feature maps."""

    def __post_init__(self) -> None:
        if min(self.hidden, self.locscale, self.grid, *self.channels) < 1 or self.unit <= 0:
            raise ValueError(f"{self} cannot be built: sizes are at least 1, and unit is more than 0 m")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}, a probability in [0, 1) is needed")
        if self.encoder == "small" and (len(self.channels) != 4 or self.grid % SMALL_STRIDE):
            raise ValueError(
                f"a small encoder of channels {self.channels} and maps of {self.grid} cells cannot be built: four "
                f"numbers of channels and a multiple of {SMALL_STRIDE} cells are needed"
            )

    @property
    def inputs(self) -> int:
        """Of the decoder's recurrent cell."""
        return 4 if self.sees_steps else 2


RELEASED_BC = Sizes("bc")
RELEASED_DIM = Sizes("dim")
"""The released baselines: MobileNetV2 over maps of 128 x 128 cells, 512 hidden units."""

SMALL_BC = Sizes("bc", "small", channels=(32, 48, 64, 64), hidden=64, unit=10.0, sees_steps=True)
SMALL_DIM = Sizes("dim", "small", channels=(32, 48, 64, 64), hidden=64, unit=10.0, sees_steps=True)
"""Of the reference artefacts: quick on one core, 0.7 MB a member."""
