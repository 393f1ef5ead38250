"""Replay sets of artefacts with heads of their own."""

from models.artefact import Artefact
from models.executors.device import Device
from models.replay import Arrays, Passes
from models.rows import executors
from models.rows.replay_set import passes


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Passes:
    """Return the passes that score the rows of a replay set; see ``models.rows.replay_set.passes``."""
    return passes(artefact, arrays, executors.of_artefact(artefact, device=device))
