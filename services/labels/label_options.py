"""Options of the label service that an operator sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.labels.input_source import InputSource


@dataclass(frozen=True, slots=True)
class Options:
    """Options that an operator sets; see ``services.runtime.settings``."""

    census: tuple[str, ...] = ()
    request_days: float = 30.0
    second_phase: float = 0.0
    callbacks: tuple[str, ...] = ()
    most_labels: int = 262_144
    second_opinions: float = 0.0
    """Share of labelled units on which another reviewer's opinion is requested."""
    known_units: float = 0.0
    """Share of claimed requests that are units with a known label."""
    adjudicate: Mapping[str, float] = field(default_factory=dict)
    """Largest difference of two opinions by head, in the unit of the head's difference; above it a third decides."""
    drafts: bool = False
    """True: deferred units may be claimed with their prediction, to be edited."""
    keeps_inputs: bool = True
    """False: requests come without the input of their unit."""
    input_source: InputSource | None = None
    """Source of inputs that the ledger does not keep."""
