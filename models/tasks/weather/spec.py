"""What the weather task is: its two heads and its official conventions (Shifts 1.0, section 3 and appendix C)."""

from __future__ import annotations

from models.head import Head

CLASS_NAMES = (
    "no precipitation, no clouds",
    "no precipitation, partly cloudy",
    "rain, partly cloudy",
    "sleet, partly cloudy",
    "snow, partly cloudy",
    "no precipitation, cloudy",
    "rain, cloudy",
    "sleet, cloudy",
    "snow, cloudy",
)
"""Precipitation classes 0 to 8 (Shifts 1.0, C.1); official files write them as codes 0, 10, 20 ... 80."""
CLASSES = len(CLASS_NAMES)
CODE_STEP = 10
"""Code of a class in official files, over the class."""

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
    class_names=CLASS_NAMES,
)
HEADS = (TEMPERATURE, PRECIPITATION)
