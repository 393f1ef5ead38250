"""Sizes of the networks; nothing here needs torch."""

from dataclasses import dataclass
from typing import Literal

from models.tasks.motion.inference.grid import OFFICIAL

FAMILIES = ("bc", "dim", "bc_dropout", "dim_dropout")
"""Families: behavioural cloning and the deep imitative model, as deep and as dropout ensembles (Shifts 1.0, E.4)."""
SAMPLES = 10
"""Number of plans that each member samples, Q (Shifts 1.0, E.4)."""
DROPOUT = 0.1
"""Dropout of the small networks of dropout ensembles."""
SMALL_STRIDE = 32
"""Edge of the map's cells that become one cell of the small encoder."""

Encoder = Literal["mobilenet_v2", "small"]
Decoder = Literal["bc", "dim"]


@dataclass(frozen=True)
class Sizes:
    """Sizes of a member: an encoder of feature maps, and a decoder of plans, step by step.

    Raises:
        ValueError: a size is below one, the dropout is outside [0, 1), or the encoder does not support the grid.
    """

    decoder: Decoder
    """Layers from hidden state to mean and scale of a step. ``bc``: one linear layer. ``dim``: two layers."""
    encoder: Encoder = "mobilenet_v2"
    """Architecture of the encoder. ``mobilenet_v2``: as released, for any grid. ``small``: for the reference artefacts,
    made for one grid.
    """
    channels: tuple[int, ...] = ()
    """Channels of the small encoder's levels, which reduce from 4 to 32 cells per side."""
    hidden: int = 512
    """Width of the decoder's recurrent state, which is initialised with the encoder's embedding."""
    locscale: int = 32
    """Number of hidden units between the state and mean and scale, for ``dim``."""
    dropout: float = 0.0
    """Probability of dropping a pooled feature of the encoder, and a hidden unit before mean and scale: in training,
    and in the frozen masks of dropout ensembles.
    """
    unit: float = 1.0
    """Divisor of positions in the decoder's input, m."""
    sees_steps: bool = False
    """True if the previous step is an input of the decoder besides the position."""
    grid: int = OFFICIAL.size
    """Cells per side of the feature maps."""

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
        """Number of inputs of the decoder's recurrent cell."""
        return 4 if self.sees_steps else 2


RELEASED_BC = Sizes("bc")
RELEASED_DIM = Sizes("dim")
"""Sizes of the released baselines: MobileNetV2 over maps of 128 x 128 cells, 512 hidden units."""

SMALL_BC = Sizes("bc", "small", channels=(32, 48, 64, 64), hidden=64, unit=10.0, sees_steps=True)
SMALL_DIM = Sizes("dim", "small", channels=(32, 48, 64, 64), hidden=64, unit=10.0, sees_steps=True)
"""Sizes of the reference artefacts: quick on one core, 0.7 MB per member."""
