"""Sizes of the network and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass

FLOOR = 1e-3
"""Added to every predicted standard deviation, in standard deviations of the training temperatures."""
EPSILON = 1e-5
"""Added to variances in normalisation layers."""


@dataclass(frozen=True)
class Sizes:
    """What shape a network has, and how it is thinned out in training.

    Raises:
        ValueError: a width that its heads do not divide, no block, or a dropout outside [0, 1).
    """

    width: int
    """Numbers a token."""
    heads: int
    """Attention heads of a block; they divide the width among them."""
    blocks: int
    attention_dropout: float
    """Probability of dropping an attention weight; in training only."""
    hidden_dropout: float
    """Probability of dropping a hidden number of the feed-forward part."""
    residual_dropout: float = 0.0
    """Probability of dropping a number of what a block adds to a token."""

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
        """Width of the feed-forward part: 4/3 of a token's, rounded up to the 16 of a vector register."""
        return -(-self.width * 4 // 48) * 16


@dataclass(frozen=True)
class Settings:
    """How to train."""

    sizes: Sizes
    epochs: int
    batch: int
    rate: float
    """Largest learning rate of AdamW."""
    weight_decay: float
    """Of the matrices inside the blocks; tokens, norms and biases have none."""
    patience: int
    """Epochs without a better negative log-likelihood on dev after which a member stops; its best is kept."""
    warmup: float = 0.0
    """Share of the steps in which the rate rises linearly."""
    cosine: bool = False
    """After the warm-up the rate falls along a cosine to one hundredth."""
    clip: float | None = None
    """Largest Euclidean norm of the gradient."""


PAPER = Sizes(width=192, heads=8, blocks=3, attention_dropout=0.2, hidden_dropout=0.1)
"""The default of Gorishniy et al. 2021 (their appendix E)."""
SMALL = Sizes(width=32, heads=2, blocks=2, attention_dropout=0.0, hidden_dropout=0.1)
"""Of the reference artefacts: without dropped attention weights, training need not hold all of them in memory."""

FULL = Settings(PAPER, epochs=100, batch=512, rate=1e-4, weight_decay=1e-5, patience=16)
FAST = Settings(SMALL, epochs=8, batch=64, rate=3e-3, weight_decay=1e-4, patience=4, warmup=0.05, cosine=True, clip=1.0)
PRESETS = {"fast": FAST, "full": FULL}
