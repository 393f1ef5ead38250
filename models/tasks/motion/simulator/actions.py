"""What ``demur data motion simulate`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.tasks.motion.simulator import dataset
from models.tasks.motion.simulator.cities import CITIES
from models.workbench import Action, Option, Progress

DATASHEET = "docs/datasheets/motion-simulator.md"


def _simulate(given: Mapping[str, Any], progress: Progress) -> list[Path]:
    return dataset.simulate(
        given["out"],
        given["scale"],
        given["seed"],
        tuple(given["cities"]),
        given["requests"],
        not given["no_rendered"],
        given["processes"],
        progress,
    )


SIMULATE = Action(
    "simulate",
    "simulate traffic in six cities, in the official layout",
    (
        Option("--out", "directory for the splits' folders", Path, required=True),
        Option("--scale", "multiplies the canonical numbers of scenes, at least one each", float, 1.0),
        Option("--seed", "equal seeds make equal scenes", int, 0),
        Option("--cities", "which cities", str, tuple(CITIES), count="+", choices=tuple(CITIES), metavar="CITY"),
        Option("--requests", "prediction requests of a scene at most", int, 8),
        Option("--no-rendered", "write no feature maps", None, False),
        Option("--processes", "how many work side by side", int, 2),
    ),
    _simulate,
    "simulating",
    DATASHEET,
)
ACTIONS = (SIMULATE,)
