"""An artefact whose members say that vehicles keep their velocity: known answers, without training."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import building, card, npz
from models.artefact import Artefact, write
from models.building import CARD, GOLDEN, UNSTATED
from models.manifest import Executor, Manifest, numeric_profile
from models.tasks.motion import spec
from models.tasks.motion.artefact import calibration, recipe
from models.tasks.motion.artefact.calibration import LabelledPredictions
from models.tasks.motion.artefact.ensemble import GRAPH
from models.tasks.motion.artefact.recipe import RECIPE, Recipe
from models.tasks.motion.errors import request_errors
from models.tasks.motion.inference import appearance, rip
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import agent, parse, requested
from tests.models.motion import straight
from tests.models.motion.towns import town

SIZE = 32
RECIPE_OF_TESTS = Recipe(size=SIZE)
_TIMES = 0.2 * np.arange(1, 26)


def artefact(folder: Path, members: int = 3, *, towns: int = 30) -> Artefact:
    """Calibrated on made-up towns, whose vehicles do what the members say, but for noise."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GRAPH).write_bytes(straight.graph(members, SIZE))
    plan = RECIPE_OF_TESTS
    planners = members_of.opened(folder / GRAPH, plan)
    maps, futures = _labelled(towns)
    predictive = rip.predictive(*planners(maps), plan)
    errors = request_errors(futures, predictive.plans, predictive.weights)
    typical = building.typical([appearance.measured(feature_map) for feature_map in maps])
    plan = Recipe(size=SIZE, typical=typical)
    executor = Executor(kind="onnx", file=GRAPH)
    manifest = Manifest(
        task="motion",
        family="straight",
        members=members,
        schema_hash="0" * 64,
        executor=executor,
        heads={
            spec.TRAJECTORIES.name: {
                numeric_profile([executor]): calibration.calibration(LabelledPredictions(predictive, errors))
            }
        },
        golden=GOLDEN,
        golden_tolerance=1e-4,
        sources=building.sources({}, UNSTATED),
        seeds=tuple(range(members)),
        training={"steps": 0},
        quality={},
        versions=building.versions("numpy"),
        files={},
    )
    files: dict[str, bytes | Path] = {
        GRAPH: folder / GRAPH,
        RECIPE: recipe.encode(plan),
        GOLDEN: npz.encode(members_of.golden(planners)),
        CARD: card.text(manifest, spec.HEADS, spec.CARD).encode(),
    }
    return write(folder / "artefact", manifest, files)


def _labelled(towns: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Maps of requests [N, 17, SIZE, SIZE] and where the vehicles went [N, 25, 2], m, in their frames."""
    maps, speeds = [], []
    for seed in range(towns):
        scene = parse(town(seed).SerializeToString())
        renderer = Renderer(scene, RECIPE_OF_TESTS.grid)
        for track in requested(scene):
            vehicle = agent(scene, track)
            maps.append(renderer.draw(vehicle))
            speeds.append(vehicle.speed)
    noise = np.random.default_rng(0).normal(0, 0.3, (len(speeds), 25, 2))
    futures = noise + 0.0
    futures[:, :, 0] += np.array(speeds)[:, None] * _TIMES
    return np.stack(maps), futures
