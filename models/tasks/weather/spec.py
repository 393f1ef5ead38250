"""What the weather task is: its two heads and its official conventions (Shifts 1.0, section 3 and appendix C)."""

from __future__ import annotations

from models.head import Head

CLASSES = 9
"""Precipitation classes, codes 0, 10, 20 ... 80."""

TEMPERATURE = Head(
    name="temperature",
    kind="gaussian",
    unit="°C",
    label="air temperature measured 2 m above the ground, °C",
    error="squared_error",
    error_unit="°C²",
    acceptable=1.0,
    ensemble_measure="tvar",
    single_measure="variance",
    knowledge_measure="varm",
)
PRECIPITATION = Head(
    name="precipitation",
    kind="categorical",
    unit="1",
    label="observed precipitation class, 0 to 8",
    error="error_rate",
    error_unit="1",
    acceptable=0.5,
    ensemble_measure="confidence",
    single_measure="entropy",
    knowledge_measure="mi",
    classes=CLASSES,
)
HEADS = (TEMPERATURE, PRECIPITATION)
