"""What the motion task is: its head and its official conventions (Shifts 1.0, section 5 and appendix E)."""

from __future__ import annotations

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
)
HEADS = (TRAJECTORIES,)
