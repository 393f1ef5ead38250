"""Names of the two graphs of an ensemble and of their inputs and outputs, for all code that runs them."""

from models.tasks.translation.networks.settings import Sizes

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
