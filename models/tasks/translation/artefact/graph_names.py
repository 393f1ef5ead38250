"""Names of the two graphs of an ensemble, and of what goes in and comes out; whoever runs them needs no more."""

from __future__ import annotations

from models.tasks.translation.networks.settings import Sizes

READING, STEPPING = "reading.onnx", "stepping.onnx"
"""Files of an artefact."""
TOKENS, HIDDEN = "tokens", "hidden"
"""In and out of the graph that reads."""
LAST, PAST, PLACES, PREFIX, SHAPE = "last", "past", "places", "prefix", "shape"
"""Into a step, beside what was read and the caches."""
CANDIDATES, LOG_PROBABILITIES, SPECIAL, UNCERTAINTY = "candidates", "log_probabilities", "special", "uncertainty"
"""Out of a step, beside the caches."""


def memory_names(members: int, sizes: Sizes) -> list[str]:
    """Of keys and values, member by member and layer by layer."""
    return [
        f"{kind}{member}.{layer}" for member in range(members) for layer in range(sizes.decoder) for kind in ("k", "v")
    ]


def cache_names(members: int, sizes: Sizes) -> list[str]:
    """Of cached keys and values; memory's, with an s for self."""
    return [f"s{name}" for name in memory_names(members, sizes)]
