"""Sizes of translation networks, names of their graphs, and training settings; nothing here needs torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Precision = Literal["fp32", "fp16", "int8"]
"""Precision of a graph."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a Transformer.

    Raises:
        ValueError: twice the heads does not divide the width, a size is too small, or the vocabularies of a shared
            table differ.
    """

    source: int
    """Size of the source vocabulary, tokens."""
    target: int
    """Size of the target vocabulary, tokens."""
    width: int
    heads: int
    inner: int
    """Width of the feed-forward blocks."""
    encoder: int
    """Number of encoder layers."""
    decoder: int
    """Number of decoder layers."""
    norm_first: bool = True
    """Layer normalisation before each block, with one at the end, else after each block as released."""
    shared: bool = True
    """True if both languages share a table of embeddings, else each has its own; the target's is also the output
    table.
    """

    def __post_init__(self) -> None:
        if min(self.source, self.target, self.width, self.heads, self.inner, self.encoder, self.decoder) < 1:
            raise ValueError(f"{self}: every size is at least 1")
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} is no multiple of twice the heads, {2 * self.heads}")
        if self.width < 4:
            raise ValueError(f"width {self.width} is too little for sines of places; at least 4 is needed")
        if self.shared and self.source != self.target:
            raise ValueError(f"a shared table needs one vocabulary, got {self.source} and {self.target} tokens")


@dataclass(frozen=True)
class Settings:
    """Training settings of a member (Shifts 1.0, D.3 and the released recipe: label smoothing, inverse square root)."""

    sizes: Sizes
    steps: int
    batch_tokens: int
    """Largest number of tokens of both languages in a step."""
    rate: float
    """Peak learning rate, at the end of the warm-up; then it falls with the square root of steps."""
    warmup: int
    """Steps of the warm-up."""
    dev_every: int
    """Steps between evaluations on development sentences; the state is saved at each."""
    dev_sentences: int = 800
    smoothing: float = 0.1
    """Label smoothing."""
    dropout: float = 0.1
    average: float = 0.999
    """Decay of the running average of weights, which is the result of training."""
    longest: int = 64
    """Largest number of tokens of either side of a training pair."""
    weights: tuple[tuple[str, int], ...] = ()
    """Repetitions of a domain's pairs in an epoch; 1 for other domains."""
    clip: float = 1.0
    """Largest norm of the gradient."""

    def __post_init__(self) -> None:
        if min(self.steps, self.batch_tokens, self.warmup, self.dev_every, self.dev_sentences, self.longest) < 1:
            raise ValueError(f"{self} cannot be followed: numbers of steps, tokens and sentences are at least 1")
        if not (self.rate > 0 and 0 <= self.smoothing < 1 and 0 <= self.dropout < 1 and 0 <= self.average < 1):
            raise ValueError(f"{self} cannot be followed: rate above 0; smoothing, dropout and average in [0, 1)")
        if not self.clip > 0 or any(times < 1 for _, times in self.weights):
            raise ValueError(f"{self} cannot be followed: clip is above 0, and domains come at least once in an epoch")

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        done = step + 1
        return self.rate * min(done / self.warmup, math.sqrt(self.warmup / done))


RELEASED = Sizes(
    source=40_000, target=40_000, width=1024, heads=16, inner=4096, encoder=6, decoder=6, norm_first=False, shared=False
)
"""Sizes of transformer_wmt_en_de_big; vocabularies as in the released dictionaries."""
_SMALL = Sizes(source=7000, target=7000, width=256, heads=4, inner=512, encoder=3, decoder=2)
_TINY = Sizes(source=400, target=400, width=32, heads=2, inner=64, encoder=1, decoder=1)

PRESETS: Mapping[str, Settings] = {
    "tiny": Settings(_TINY, steps=12, batch_tokens=512, rate=3e-3, warmup=4, dev_every=6, dev_sentences=16),
    "small": Settings(
        _SMALL,
        steps=10500,
        batch_tokens=3000,
        rate=1.5e-3,
        warmup=600,
        dev_every=500,
        longest=48,
        weights=(("everyday", 3), ("medical", 3)),
    ),
    "paper": Settings(
        RELEASED, steps=50_000, batch_tokens=460_000, rate=5e-4, warmup=4000, dev_every=1000, longest=250
    ),
}
"""Settings by preset. ``tiny``: seconds, for tests. ``small``: the reference artefact, hours per member on one core.
``paper``: the released recipe, for GPUs.
"""


def preset(name: str) -> Settings:
    """Return the settings of a preset.

    Raises:
        ValueError: the preset is unknown.
    """
    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is unknown; use one of {', '.join(PRESETS)}")
    return PRESETS[name]


def with_vocabulary(settings: Settings, tokens: int) -> Settings:
    """Return the settings for a joint vocabulary of ``tokens`` tokens."""
    return replace(settings, sizes=replace(settings.sizes, source=tokens, target=tokens))


READING, STEPPING = "reading.onnx", "stepping.onnx"
"""File names of the graphs in an artefact."""
TOKENS, HIDDEN = "tokens", "hidden"
"""Input and output of the encoder graph, besides keys and values."""
LAST, PAST, PLACES, PREFIX, SHAPE = "last", "past", "places", "prefix", "shape"
"""Inputs of a step, besides the encoder's outputs and the caches."""
CANDIDATES, LOG_PROBABILITIES, SPECIAL, UNCERTAINTY = "candidates", "log_probabilities", "special", "uncertainty"
"""Outputs of a step, besides the caches."""


def memory_names(members: int, sizes: Sizes) -> list[str]:
    """Return the names of keys and values, member by member and layer by layer."""
    return [
        f"{kind}{member}.{layer}" for member in range(members) for layer in range(sizes.decoder) for kind in ("k", "v")
    ]


def cache_names(members: int, sizes: Sizes) -> list[str]:
    """Return the names of cached keys and values: those of ``memory_names`` with the prefix s for self-attention."""
    return [f"s{name}" for name in memory_names(members, sizes)]
