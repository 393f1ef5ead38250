"""What an artefact says of real requests, offline, and what becomes of them at the artefact's threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.motion_real.data import Real
from models import artefact as artefacts
from models.artefact import numeric_profile
from models.assessment.figures import Errors, Figures, Rules, figures
from models.tasks.motion.artefact import calibration, recipe
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.errors import ACCEPTABLE, request_errors
from models.tasks.motion.inference import appearance, members, rip
from models.tasks.motion.inference.members import Planners
from models.tasks.motion.spec import TRAJECTORIES
from services.policy.decision import Decision, Policy, Shift, choose, decide

RETENTION = 0.95
"""In-domain requests that the threshold keeps: the services' default."""
MOVING = 2.0
"""Requests that are farther than this from where they were after five seconds are called moving, m."""
STEP = 0.2
"""s."""
ALL, STEADY = "all", "constant velocity"


@dataclass(frozen=True)
class Opened:
    """An artefact, ready."""

    name: str
    recipe: Recipe
    members: Planners
    policy: Policy
    """As a service takes it that nobody tells otherwise."""


@dataclass(frozen=True)
class Judged:
    """N requests as one model answers them."""

    errors: dict[str, NDArray[np.float64]]
    """[N] each, by ``models.tasks.motion.errors.UNITS``."""
    uncertainty: NDArray[np.float32]
    answered: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    """Something about the request lies outside of what training requests were like."""
    unfamiliar: NDArray[np.bool_]
    """The members' means are farther apart than in 99.9 % of in-domain requests."""


@dataclass(frozen=True)
class Line:
    """One group of requests."""

    group: str
    requests: int
    means: dict[str, float]
    """Mean errors."""
    figures: Figures
    """Of cNLL by the request uncertainty."""
    answered: float
    """Share."""
    cnll_answered: float
    cnll_deferred: float
    outside: float
    unfamiliar: float
    """Shares."""


def opened(directory: Path) -> Opened:
    """
    Raises:
        ArtefactError: it is damaged, or of another task.
    """
    one = artefacts.read(directory, "motion")
    manifest = one.manifest
    profile = numeric_profile(manifest.executors)
    policy = choose(
        TRAJECTORIES,
        manifest.heads[TRAJECTORIES.name].get(profile),
        model=directory.name,
        profile=profile,
        ensemble=manifest.ensemble,
        target_retention=RETENTION,
    )
    return Opened(directory.name, recipe.read(one), members.members(one), policy)


def judged(one: Opened, real: Sequence[Real]) -> Judged:
    """All requests, as a service would answer them."""
    future = np.stack([each.future for each in real])
    said = []
    for start in range(0, len(real), calibration.BATCH):
        maps = np.stack([each.drawn for each in real[start : start + calibration.BATCH]])
        said.append(rip.predictive(*one.members(maps), one.recipe))
    predictive = calibration.joined(said)
    weights = np.asarray(predictive.weights, np.float64)
    odd = [
        Shift.OUTSIDE_TRAINING_RANGE
        if appearance.remarks(appearance.measured(each.drawn), one.recipe.typical)
        else Shift(0)
        for each in real
    ]
    verdict = decide(one.policy, TRAJECTORIES, predictive, np.array(odd, np.uint8))
    return Judged(
        errors=request_errors(future, predictive.plans, weights / weights.sum(axis=1, keepdims=True)),
        uncertainty=np.asarray(verdict.uncertainty, np.float32),
        answered=np.asarray(verdict.decisions == Decision.ANSWER),
        outside=(verdict.shifts & Shift.OUTSIDE_TRAINING_RANGE) != 0,
        unfamiliar=(verdict.shifts & Shift.KNOWLEDGE_ABOVE_REFERENCE) != 0,
    )


def steady(real: Sequence[Real]) -> dict[str, NDArray[np.float64]]:
    """Errors of going straight on at the present speed, one mode."""
    future = np.stack([each.future for each in real])
    speed = np.array([each.agent.speed for each in real])
    plans = np.zeros((len(real), 1, future.shape[1], 2))
    plans[:, 0, :, 0] = speed[:, None] * STEP * np.arange(1, future.shape[1] + 1)
    return request_errors(future, plans, np.ones((len(real), 1)))


def lines(real: Sequence[Real], found: Judged) -> list[Line]:
    """All requests, those of each city, and those that move."""
    cities = np.array([each.city for each in real])
    moving = np.array([float(np.linalg.norm(each.future[-1])) > MOVING for each in real])
    groups = {ALL: np.ones(len(real), bool), "moving": moving, "standing": ~moving}
    for city in dict.fromkeys(cities):
        groups |= {str(city): cities == city, f"{city}, moving": (cities == city) & moving}
    return [_line(name, mask, found) for name, mask in groups.items() if mask.any()]


def _line(group: str, mask: NDArray[np.bool_], found: Judged) -> Line:
    cnll, answered = found.errors["cnll"][mask], found.answered[mask]
    errors = Errors(cnll, ACCEPTABLE["cnll"], Rules())
    return Line(
        group=group,
        requests=int(mask.sum()),
        means={name: float(values[mask].mean()) for name, values in found.errors.items()},
        figures=figures(errors, found.uncertainty[mask]),
        answered=float(answered.mean()),
        cnll_answered=float(cnll[answered].mean()) if answered.any() else float("nan"),
        cnll_deferred=float(cnll[~answered].mean()) if not answered.all() else float("nan"),
        outside=float(found.outside[mask].mean()),
        unfamiliar=float(found.unfamiliar[mask].mean()),
    )
