"""Sizes of the networks and training settings; nothing here needs torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

FAMILIES = ("unet", "unet_mcdp", "unetr")
"""Families: 3D U-Net, the same with 50 % dropout that stays on (Monte Carlo dropout), UNETR (Shifts 2.0, section 3)."""
SAMPLES = 5
"""Number of frozen dropout masks per member (Shifts 2.0: five runs)."""
DROPOUT = 0.5
PATCH = 16
"""Edge of a patch that becomes one token of a UNETR, voxels; fixed by MONAI."""


@dataclass(frozen=True)
class UNetSizes:
    """A U-Net of MONAI: kernels of 3, instance norm, PReLU, each level at half the resolution of the one before.

    Raises:
        ValueError: there are fewer than two levels or no channels, or the dropout is outside [0, 1).
    """

    channels: tuple[int, ...]
    """Channels of each level, from the finest."""
    inputs: int = 1
    """Number of modalities."""
    dropout: float = 0.0
    """Probability of dropping a channel of a layer's output."""

    def __post_init__(self) -> None:
        if len(self.channels) < 2 or min(self.channels) < 1 or self.inputs < 1:
            raise ValueError(
                f"a U-Net of {self.inputs} inputs and channels {self.channels} cannot be built: at least one input and "
                "two levels of at least one channel are needed"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}, a probability in [0, 1) is needed")

    @property
    def divisor(self) -> int:
        """Divisor of the edge of valid windows."""
        return 1 << (len(self.channels) - 1)


@dataclass(frozen=True)
class UNETRSizes:
    """A UNETR of MONAI: twelve transformer blocks over patches of 16³ voxels, decoded by convolutions.

    Raises:
        ValueError: a size is below one, or the heads do not divide the width.
    """

    feature: int
    """Number of channels at full resolution."""
    hidden: int
    """Width of a token."""
    mlp: int
    """Width of the feed-forward layer."""
    heads: int
    inputs: int = 1
    """Number of modalities."""

    def __post_init__(self) -> None:
        if min(self.feature, self.hidden, self.mlp, self.heads, self.inputs) < 1 or self.hidden % self.heads:
            raise ValueError(f"{self} cannot be built: sizes are at least 1, and the heads must divide hidden")

    @property
    def divisor(self) -> int:
        """Divisor of the edge of valid windows."""
        return PATCH


Sizes = UNetSizes | UNETRSizes

RELEASED = UNetSizes((32, 64, 128, 256, 512))
"""Sizes of the released baseline, 7,912,874 parameters."""


@dataclass(frozen=True)
class Stage:
    """Training stage with crops of one size; the learning rate rises and falls once (one cycle)."""

    edge: int
    """Edge of a crop, voxels."""
    steps: int
    batch: int
    """Crops of one step, each from another scan."""
    rate: float
    """Largest learning rate of Adam."""


@dataclass(frozen=True)
class Settings:
    """Training settings of a member.

    Raises:
        ValueError: there is no stage, or the network does not support the size of the crops or windows.
    """

    sizes: Sizes
    stages: tuple[Stage, ...]
    window: int = 96
    """Edge of the windows that the trained network serves, voxels; a UNETR's last stage has crops of this size."""
    dev_every: int = 100
    """Steps between evaluations on development scans; the state is saved at each."""
    dev_tiles: int = 8
    """Windows of each development scan that are evaluated."""
    patience: int = 1000
    """Evaluations without a better nDSC after which a stage ends."""
    focal: float = 1.0
    """Weight of the focal loss (gamma 2) beside 0.5 of the Dice loss, as released."""

    def __post_init__(self) -> None:
        edges = [stage.edge for stage in self.stages]
        if not edges or any(edge % self.sizes.divisor for edge in (*edges, self.window)):
            raise ValueError(
                f"crops of {edges} and windows of {self.window} voxels: at least one stage, and multiples of "
                f"{self.sizes.divisor} are needed"
            )
        if isinstance(self.sizes, UNETRSizes) and edges[-1] != self.window:
            raise ValueError(f"the last stage of a UNETR has crops of {edges[-1]}, windows have {self.window} voxels")

    @property
    def dropout(self) -> float:
        """Probability of dropping a channel."""
        return self.sizes.dropout if isinstance(self.sizes, UNetSizes) else 0.0


def cycle(stage: Stage, step: int, warmup: float = 0.2) -> float:
    """Return the learning rate of a step, counted from 0.

    It is linear from a tenth to the peak, then half a cosine to a hundredth.
    """
    share = (step + 0.5) / stage.steps
    if share < warmup:
        return stage.rate * (0.1 + 0.9 * share / warmup)
    return stage.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (share - warmup) / (1 - warmup))))


_TINY = (4, 8, 16)
_BRIEF = (8, 16, 32, 64, 96)
_SMALL = (12, 24, 48, 96, 128)
_TINY_STAGES = (Stage(32, 30, 2, 1e-2),)
_BRIEF_STAGES = (Stage(64, 300, 4, 4e-3),)
_SMALL_STAGES = (Stage(64, 800, 4, 4e-3),)
_PAPER_STAGES = (Stage(96, 20_000, 8, 1e-3),)

PRESETS: Mapping[str, Mapping[str, Settings]] = {
    "tiny": {
        "unet": Settings(UNetSizes(_TINY), _TINY_STAGES, window=32, dev_every=10, dev_tiles=2),
        "unet_mcdp": Settings(UNetSizes(_TINY, dropout=DROPOUT), _TINY_STAGES, window=32, dev_every=10, dev_tiles=2),
        "unetr": Settings(
            UNETRSizes(2, 8, 16, 2),
            (Stage(16, 10, 2, 5e-3), Stage(32, 10, 2, 2e-3)),
            window=32,
            dev_every=5,
            dev_tiles=2,
        ),
    },
    "brief": {
        "unet": Settings(UNetSizes(_BRIEF), _BRIEF_STAGES),
        "unet_mcdp": Settings(UNetSizes(_BRIEF, dropout=DROPOUT), _BRIEF_STAGES),
        "unetr": Settings(UNETRSizes(6, 64, 128, 4), (Stage(48, 300, 4, 3e-3), Stage(96, 20, 1, 5e-4)), dev_tiles=6),
    },
    "small": {
        "unet": Settings(UNetSizes(_SMALL), _SMALL_STAGES),
        "unet_mcdp": Settings(UNetSizes(_SMALL, dropout=DROPOUT), _SMALL_STAGES),
        "unetr": Settings(UNETRSizes(6, 64, 128, 4), (Stage(48, 900, 4, 3e-3), Stage(96, 40, 1, 5e-4)), dev_tiles=6),
    },
    "paper": {
        "unet": Settings(RELEASED, _PAPER_STAGES, dev_every=500),
        "unet_mcdp": Settings(UNetSizes(RELEASED.channels, dropout=DROPOUT), _PAPER_STAGES, dev_every=500),
        "unetr": Settings(UNETRSizes(16, 768, 3072, 12), _PAPER_STAGES, dev_every=500),
    },
}
"""Settings by preset and family. ``tiny``: seconds, for tests. ``brief``: about two minutes per member on one core, for
trials. ``small``: about ten minutes, for reference artefacts. ``paper``: full size.
"""


def preset(name: str, family: str, inputs: int = 1) -> Settings:
    """Return the settings of a preset for a family and a number of modalities.

    Raises:
        ValueError: the family or preset is unknown.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")
    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is unknown; use one of {', '.join(PRESETS)}")
    settings = PRESETS[name][family]
    return replace(settings, sizes=replace(settings.sizes, inputs=inputs))
