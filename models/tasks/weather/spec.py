"""Two heads and official conventions of the weather task (Shifts 1.0, section 3 and appendix C)."""

from models.card import Words
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
"""Factor from a class to its code in official files."""

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
    lower=-95.0,  # the records of stations are -89.2 and 56.7 °C (WMO); with a margin
    upper=65.0,
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
    class_codes=tuple(CODE_STEP * number for number in range(CLASSES)),
)
HEADS = (TEMPERATURE, PRECIPITATION)
CARD = Words(
    families={
        "catboost": "Gradient-boosted trees by CatBoost: RMSEWithUncertainty for temperature, MultiClass for "
        "precipitation (Shifts 1.0, C.4).",
        "catboost_virtual": "One CatBoost model a head, trained by stochastic gradient Langevin boosting and cut into "
        "virtual members (Malinin et al. 2021); not in the Shifts papers.",
        "ft_transformer": "FT-Transformers with both heads (Gorishniy et al. 2021; Shifts 1.0, C.5).",
        "ft_mcdp": "An FT-Transformer with dropout masks frozen at export (Shifts 1.0, C.5).",
        "combined": "CatBoost and FT-Transformer ensembles together, each member with the same weight "
        "(Shifts 1.0, C.5).",
    },
    predicts="Predicts air temperature 2 m above the ground (°C) as a normal distribution and the precipitation class "
    "(nine classes) as probabilities, each with data uncertainty and, for ensembles, knowledge uncertainty, from "
    "forecasts of numerical weather models.",
    not_for="warnings of danger to life, nor for places and seasons that the data do not hold without looking at "
    "what is deferred.",
    figures="All rows of each set are judged. Temperature: squared errors in °C², acceptable up to 1; precipitation: "
    "error rate. R-AUC is the mean of the points of the error-retention curve, F1 as in the released Shifts code; both "
    "under the head's own measure.",
)
