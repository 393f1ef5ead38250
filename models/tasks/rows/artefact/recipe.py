"""Everything that a build is asked for: models, data, name, and options."""

from dataclasses import dataclass

from models.building import Provenance
from models.tasks.rows.data.draft import Draft
from models.tasks.rows.data.table import Table

UNSTATED = Provenance("labelled rows of the build; origin not stated", "not stated")
FEWEST_ROWS = 100
"""Fewest labelled rows that can be calibrated with."""


@dataclass(frozen=True)
class Recipe:
    """Request for an artefact."""

    name: str
    """Name that the artefact is served under."""
    calibration: Table
    """Labelled rows that the model was not trained on."""
    targets: tuple[str, ...]
    """Columns of the labels, in the order of the model's outputs."""
    shifted: Table | None = None
    """Labelled rows of another domain, for figures and the replay set."""
    training: Table | None = None
    """Rows of the training data, for range and density of inputs; None for those of ``calibration``."""
    group: str = ""
    """Column whose rows belong together, such as a customer; folds keep them together."""
    retention: float = 0.95
    """Share of in-domain rows to answer."""
    risk: float | None = None
    """Largest error of the answered part, certified; replaces ``retention``."""
    uncertainty: str = ""
    """Kind of uncertainty; empty for the best."""
    draft: Draft | None = None
    """Columns and targets as the user edited them; None to find out."""
    replay: bool = True
    """Whether inputs of the calibration rows become the replay set of an artefact that may run on other devices."""
    provenance: Provenance = UNSTATED
