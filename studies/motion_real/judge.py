"""Real requests, and an artefact's errors and decisions on them, offline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import artefact as artefacts
from models.assessment.figures import Errors, Figures, Rules, figures
from models.tasks.motion.artefact import calibration, recipe
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data import folders
from models.tasks.motion.data.argoverse import convert
from models.tasks.motion.data.futures import futures
from models.tasks.motion.errors import ACCEPTABLE, request_errors
from models.tasks.motion.inference import appearance, members, rip, scenes
from models.tasks.motion.inference.grid import Float32, Grid
from models.tasks.motion.inference.members import Planners
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import Agent
from models.tasks.motion.spec import TRAJECTORIES
from services.policy.decision import Decision, Policy, Shift, decide
from studies.pages import real_data
from studies.served import default_policy

ATTRIBUTION = (
    "Moscow: the public test scene of the Shifts motion data (CC BY-NC-SA 4.0). The others: Argoverse 2 test files of "
    "its public code (CC BY-NC-SA 4.0), Wilson et al. 2021, converted by `demur data motion convert`. Neither is part "
    "of this repository."
)
BESIDE = ("Austin", "Miami", "Pittsburgh")
"""Cities whose windows were used to adjust the simulator's parameters, by its data sheet: all of Argoverse."""


@dataclass(frozen=True)
class Real:
    """Request whose future is known in full."""

    city: str
    scene: str
    track: int
    file: Path
    agent: Agent
    drawn: Float32
    """Feature map [channels, y, x]."""
    future: Float32
    """Future positions, [T, 2], m, in the agent's frame."""


def folder() -> Path:
    """Return the folder of the files.

    Raises:
        LookupError: the files are missing.
    """
    return real_data("motion", "argoverse2")


def prepared(source: Path, work: Path) -> Path:
    """Convert everything to an official folder ``eval``, once, and return it."""
    target = work / "data"
    if not target.exists():
        part = work / "data.part"
        convert.convert([source / "argoverse2"], part, "eval")
        part.rename(target)
    return target


def files(source: Path, data: Path) -> Iterator[tuple[Path, str]]:
    """Yield all scenes with their cities."""
    for path, tags in folders.tagged_files(folders.split(data, "eval")):
        assert tags is not None
        yield path, tags["city"]
    yield source / "shifts_test_scene.pb", "Moscow"


def requests(source: Path, data: Path, grid: Grid) -> Iterator[Real]:
    """Yield all requests whose future is known in full, scene by scene."""
    for path, city in files(source, data):
        scene = scenes.parse(path.read_bytes())
        renderer = Renderer(scene, grid)
        for future in futures(path, scene.message):
            if future.trajectory is not None:
                agent = scenes.agent(scene, future.key[1])
                yield Real(city, *future.key, path, agent, renderer.draw(agent), future.trajectory)


MOVING = 2.0
"""Distance after five seconds above which a request counts as moving, m."""
STEP = 0.2
"""Time step, s."""
ALL, STEADY = "all", "constant velocity"


@dataclass(frozen=True)
class Opened:
    """Loaded artefact."""

    name: str
    recipe: Recipe
    members: Planners
    policy: Policy
    """Policy of a service with default settings."""


@dataclass(frozen=True)
class Answers:
    """Results of one model for N requests."""

    errors: dict[str, NDArray[np.float64]]
    """Errors, [N] each, by ``models.tasks.motion.errors.UNITS``."""
    uncertainty: NDArray[np.float32]
    answered: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    """Mask of requests outside the range of training requests."""
    unfamiliar: NDArray[np.bool_]
    """Mask of requests whose members' means are farther apart than in 99.9 % of in-domain requests."""


@dataclass(frozen=True)
class Line:
    """Figures of one group of requests."""

    group: str
    requests: int
    means: dict[str, float]
    """Mean errors."""
    figures: Figures
    """Figures of cNLL by the request uncertainty."""
    answered: float
    """Share of answered requests."""
    cnll_answered: float
    cnll_deferred: float
    outside: float
    unfamiliar: float
    """Share of unfamiliar requests."""


def opened(directory: Path) -> Opened:
    """Load an artefact.

    Raises:
        ArtefactError: it is damaged, or of another task.
    """
    artefact = artefacts.read(directory, "motion")
    policy = default_policy(artefact, TRAJECTORIES)
    return Opened(directory.name, recipe.read(artefact), members.members(artefact), policy)


def judged(model: Opened, real: Sequence[Real]) -> Answers:
    """Return the results for all requests, as a service would answer them."""
    future = np.stack([each.future for each in real])
    batches = []
    for start in range(0, len(real), calibration.BATCH):
        maps = np.stack([each.drawn for each in real[start : start + calibration.BATCH]])
        batches.append(rip.predictive(*model.members(maps), model.recipe))
    predictive = calibration.joined(batches)
    weights = np.asarray(predictive.weights, np.float64)
    odd = [
        Shift.OUTSIDE_TRAINING_RANGE
        if appearance.remarks(appearance.measured(each.drawn), model.recipe.typical)
        else Shift(0)
        for each in real
    ]
    verdict = decide(model.policy, TRAJECTORIES, predictive, np.array(odd, np.uint8))
    return Answers(
        errors=request_errors(future, predictive.plans, weights / weights.sum(axis=1, keepdims=True)),
        uncertainty=np.asarray(verdict.uncertainty, np.float32),
        answered=np.asarray(verdict.decisions == Decision.ANSWER),
        outside=(verdict.shifts & Shift.OUTSIDE_TRAINING_RANGE) != 0,
        unfamiliar=(verdict.shifts & Shift.KNOWLEDGE_ABOVE_REFERENCE) != 0,
    )


def steady(real: Sequence[Real]) -> dict[str, NDArray[np.float64]]:
    """Return the errors of one mode that goes straight on at the present speed."""
    future = np.stack([each.future for each in real])
    speed = np.array([each.agent.speed for each in real])
    plans = np.zeros((len(real), 1, future.shape[1], 2))
    plans[:, 0, :, 0] = speed[:, None] * STEP * np.arange(1, future.shape[1] + 1)
    return request_errors(future, plans, np.ones((len(real), 1)))


def lines(real: Sequence[Real], answers: Answers) -> list[Line]:
    """Return figures of all requests, of those that move or stand, and of each city."""
    cities = np.array([each.city for each in real])
    moving = np.array([float(np.linalg.norm(each.future[-1])) > MOVING for each in real])
    groups = {ALL: np.ones(len(real), bool), "moving": moving, "standing": ~moving}
    for city in dict.fromkeys(cities):
        groups |= {str(city): cities == city, f"{city}, moving": (cities == city) & moving}
    return [_line(name, mask, answers) for name, mask in groups.items() if mask.any()]


def _line(group: str, mask: NDArray[np.bool_], answers: Answers) -> Line:
    cnll, answered = answers.errors["cnll"][mask], answers.answered[mask]
    errors = Errors(cnll, ACCEPTABLE["cnll"], Rules())
    return Line(
        group=group,
        requests=int(mask.sum()),
        means={name: float(values[mask].mean()) for name, values in answers.errors.items()},
        figures=figures(errors, answers.uncertainty[mask]),
        answered=float(answered.mean()),
        cnll_answered=float(cnll[answered].mean()) if answered.any() else float("nan"),
        cnll_deferred=float(cnll[~answered].mean()) if not answered.all() else float("nan"),
        outside=float(answers.outside[mask].mean()),
        unfamiliar=float(answers.unfamiliar[mask].mean()),
    )
