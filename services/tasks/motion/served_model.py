"""Motion as a served model: a scene or feature maps in, five weighted trajectories per prediction request out."""

import math
from collections.abc import Iterator

import numpy as np

from models.artefact import Artefact
from models.executors.golden import Probe
from models.tasks.motion.artefact import recipe as recipes
from models.tasks.motion.inference import maps
from models.tasks.motion.inference import members as ensembles
from models.tasks.motion.inference.planning import Planning
from models.tasks.motion.spec import HEADS
from services.request.contract import Description
from services.runtime.settings import Settings
from services.tasks.motion import bodies, messages, tensors
from services.tasks.motion.inputs import MOST_REQUESTS
from services.tasks.motion.request import MotionRequest, TensorForm
from services.tasks.motion.task import MotionTask, Pace
from services.transport.served_model import Parts, ServedModel

_MEASURED = 4
"""Number of maps for measuring the speed of planning."""


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified motion artefact."""
    manifest = artefact.manifest
    recipe = recipes.read(artefact)
    members = ensembles.members(artefact, device=settings.device)
    planning = Planning(members, recipe)
    task = MotionTask(planning, recipe, Pace(), lanes=settings.lane_count, keeps_inputs=settings.keep_payload == "on")
    description = Description(
        task=manifest.task,
        model=artefact.tag,
        schema=maps.channel_schema(recipe.grid),
        heads=HEADS,
        max_rows=MOST_REQUESTS,
    )
    pipeline = parts.pipeline(task)

    probe = Probe(members, artefact.path(manifest.golden), parts.golden_tolerance, manifest.golden_tolerance)

    def examples() -> Iterator[MotionRequest]:
        with np.load(artefact.path(manifest.golden)) as recorded:
            maps = ensembles.enlarged(recorded[ensembles.MAPS], recipe.grid)
        for size in sorted({1, 2, planning.quantum_rows, 2 * planning.quantum_rows + 1}):
            values = np.resize(maps, (size, *maps.shape[1:])).astype("<f4")
            yield MotionRequest(TensorForm(values.tobytes()))

    def warm_up() -> None:
        probe()
        values = np.random.default_rng(0).standard_normal((_MEASURED, math.prod(recipe.grid.shape)), np.float32)
        planning.measure(values)

    return ServedModel(
        pipeline=pipeline,
        description=description,
        grpc=messages.binding(
            description,
            pipeline,
            quantum_rows=lambda: planning.quantum_rows,
            window_chunks=settings.stream_window_chunks,
        ),
        http=bodies.binding(),
        oip=tensors.binding(recipe.grid, ensemble=manifest.ensemble),
        warm_up=warm_up,
        examples=examples,
        probe=probe,
    )
