"""Sizes of the network and training settings."""

from dataclasses import dataclass

FLOOR = 1e-3
"""Floor of predicted standard deviations, in standard deviations of the training temperatures."""
EPSILON = 1e-5
"""Constant added to variances in normalisation layers."""


@dataclass(frozen=True)
class Sizes:
    """Shape of a network, and its dropout in training.

    Raises:
        ValueError: the heads do not divide the width, there is no block, or a dropout is outside [0, 1).
    """

    width: int
    """Width of a token."""
    heads: int
    """Number of attention heads of a block; they divide the width."""
    blocks: int
    attention_dropout: float
    """Probability of dropping an attention weight; in training only."""
    hidden_dropout: float
    """Probability of dropping a hidden activation of the feed-forward part."""
    residual_dropout: float = 0.0
    """Probability of dropping an activation that a block adds to a token."""

    def __post_init__(self) -> None:
        if self.blocks < 1 or self.heads < 1 or self.width < 1 or self.width % self.heads:
            raise ValueError(
                f"a network of width {self.width}, {self.heads} heads and {self.blocks} blocks cannot be built: "
                "at least one of each is needed, and the heads must divide the width"
            )
        for name in ("attention_dropout", "hidden_dropout", "residual_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, a probability in [0, 1) is needed")

    @property
    def hidden(self) -> int:
        """Width of the feed-forward part: 4/3 of a token's, rounded up to a multiple of 16, the size of a vector
        register.
        """
        return -(-self.width * 4 // 48) * 16


@dataclass(frozen=True)
class Settings:
    """Training settings of a member."""

    sizes: Sizes
    epochs: int
    batch: int
    rate: float
    """Peak learning rate of AdamW."""
    weight_decay: float
    """Weight decay of the matrices of blocks and heads; tokens, norms and biases have none."""
    patience: int
    """Epochs without a better negative log-likelihood on dev after which a member stops; its best is kept."""
    warmup: float = 0.0
    """Share of the steps in which the rate rises linearly."""
    cosine: bool = False
    """True if the rate falls along a cosine to one hundredth after the warm-up."""
    clip: float | None = None
    """Largest Euclidean norm of the gradient."""


PAPER = Sizes(width=192, heads=8, blocks=3, attention_dropout=0.2, hidden_dropout=0.1)
"""Default sizes of Gorishniy et al. 2021 (their appendix E)."""
SMALL = Sizes(width=32, heads=2, blocks=2, attention_dropout=0.0, hidden_dropout=0.1)
"""Sizes of the reference artefacts: without dropout of attention weights, training need not keep all of them in
memory.
"""

FULL = Settings(PAPER, epochs=100, batch=512, rate=1e-4, weight_decay=1e-5, patience=16)
FAST = Settings(SMALL, epochs=8, batch=64, rate=3e-3, weight_decay=1e-4, patience=4, warmup=0.05, cosine=True, clip=1.0)
PRESETS = {"fast": FAST, "full": FULL}
