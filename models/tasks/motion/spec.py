"""Head and official conventions of the motion task (Shifts 1.0, section 5 and appendix E)."""

from models.card import Words
from models.head import Head
from models.tasks.motion.errors import ACCEPTABLE, UNITS

TRAJECTORIES = Head(
    name="trajectories",
    kind="trajectories",
    unit="m",
    label="position in each of the next 25 steps of 0.2 s, m in the frame of the agent",
    error="cnll",
    error_unit=UNITS["cnll"],
    acceptable=ACCEPTABLE["cnll"],
    ensemble_measure="request_uncertainty",
    single_measure="request_uncertainty",
    knowledge_measure="knowledge_spread",
    lower=-500.0,  # 5 s at 100 m/s, faster than vehicles drive
    upper=500.0,
)
HEADS = (TRAJECTORIES,)

CARD = Words(
    families={
        "bc": "Behavioural cloning: an encoder of the feature map and a GRU that says the next displacement as a "
        "normal distribution, trained on its own samples; robust imitative planning over members (Shifts 1.0, E.4).",
        "dim": "Deep imitative models: an encoder of the feature map and an autoregressive flow, trained with teacher "
        "forcing; robust imitative planning over members (Shifts 1.0, E.4).",
        "bc_dropout": "Behavioural cloning trained with dropout and run with frozen masks, one a plan: a dropout "
        "ensemble (Shifts 1.0, E.4).",
        "dim_dropout": "Deep imitative models trained with dropout and run with frozen masks, one a plan: a dropout "
        "ensemble (Shifts 1.0, E.4).",
    },
    predicts="Predicts five trajectories of a vehicle over the next 5 s, 0.2 s apart, with their confidences, from a "
    "map of what is around it now, and how uncertain the request is.",
    not_for="driving: neither a vehicle nor a person may be steered, warned or judged by it alone.",
    figures="Means over requests of the least and the weighted average and final displacement errors of the five "
    "trajectories, of the corrected negative log-likelihood (cNLL, sigma 1 m), and the area under its retention curve "
    "by the head's measure, by the conventions of Shifts 1.0. The set calibration holds development requests of the "
    "domain of training that neither trained members nor chose their weights; shifted sets are other cities and "
    "precipitation.",
    notice="Research software, not for use in traffic.",
    units="requests",
)
