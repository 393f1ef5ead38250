"""Head and official conventions of the vessel task (Shifts 2.0, section 4)."""

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules
from models.card import Words
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
    lower=0.0,
)
HEADS = (POWER,)
CARD = Words(
    families={
        "dnn": "Deep networks 10-50-20-2 with softplus (Shifts 2.0, D.3).",
        "mc_dropout": "Networks 10-50-20-2 with dropout 0.005, masks frozen at export (Shifts 2.0, D.3).",
        "variational": "Networks 10-50-20-2 with Gaussian weight posteriors trained with Flipout; weight samples "
        "frozen at export (Shifts 2.0, D.3).",
        "symbolic": "A physics formula with learned bounded coefficients and a network that may correct it by a "
        "bounded factor (idea: Shifts 2.0, D.3; formula: this repository, models/tasks/vessel/networks/physics.py).",
    },
    predicts=f"Predicts {POWER.label} as a normal distribution, with data uncertainty (mean of the members' "
    "variances) and, for ensembles, knowledge uncertainty (variance of their means).",
    not_for="a ship other than the one the data describe, nor for control or safety.",
    figures="R-AUC is the trapezoid area of squared errors, F1 as in the released Shifts code.",
)


def rules(convention: Convention = OFFICIAL) -> Rules:
    """Return the rules of the released vessel notebook: trapezoid over [0, 1], tied units in the order of input."""
    return Rules(convention, released_area="trapezoid", released_groups_ties=False)
