"""What the vessel task is: its head, its graph outputs, its official conventions (Shifts 2.0, section 4)."""

from __future__ import annotations

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
