"""What the vessel task is: its head, its graph outputs, its official conventions (Shifts 2.0, section 4)."""

from __future__ import annotations

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules
from models.head import Head

POWER = Head(
    name="power",
    kind="gaussian",
    unit="kW",
    label="measured propeller shaft power, kW",
    error="squared_error",
    error_unit="kW²",
    acceptable=500.0**2,
    ensemble_measure="tvar",
    single_measure="mvar",
    knowledge_measure="varm",
)
HEADS = (POWER,)


def rules(convention: Convention = OFFICIAL) -> Rules:
    """R-AUC as the released vessel notebook takes it: trapezoid over [0, 1], tied units in the order of input."""
    return Rules(convention, released_area="trapezoid", released_groups_ties=False)
