"""White-matter lesions as a served model: a brain scan in, mask, maps and lesions out, one unit a scan."""

import time
from collections.abc import Iterator

import nibabel as nib
import numpy as np

from models.artefact import Artefact
from models.executors.golden import Probe
from models.schema import Feature, Schema
from models.tasks.lesion.artefact import recipe as recipes
from models.tasks.lesion.inference import members as ensembles
from models.tasks.lesion.spec import HEADS
from services.request.contract import Description
from services.runtime.settings import Settings
from services.tasks.lesion import bodies, messages, tensors
from services.tasks.lesion.request import ScanRequest
from services.tasks.lesion.task import LesionTask, Pace
from services.transport.served_model import Parts, ServedModel

_REPEATS = 3
_LARGEST = float(np.finfo(np.float32).max)
_IMAGES = {
    "flair": Feature("flair", "1", -_LARGEST, _LARGEST, "FLAIR image, intensities in any unit"),
    "t1": Feature("t1", "1", -_LARGEST, _LARGEST, "T1-weighted image on the grid of flair, intensities in any unit"),
}


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified lesion artefact."""
    manifest = artefact.manifest
    recipe = recipes.read(artefact)
    members = ensembles.members(artefact, device=settings.device)
    pace = Pace()
    task = LesionTask(members, recipe, pace, lanes=settings.lane_count, keeps_inputs=settings.keep_payload == "on")
    schema = Schema(tuple(_IMAGES[name] for name in recipe.channels))
    description = Description(task=manifest.task, model=artefact.tag, schema=schema, heads=HEADS, max_rows=1)
    pipeline = parts.pipeline(task)

    probe = Probe(members, artefact.path(manifest.golden), parts.golden_tolerance, manifest.golden_tolerance)

    def examples() -> Iterator[ScanRequest]:
        """Yield a scan with a ball of tissue in one window; the windows of all scans have the same shape."""
        size = recipe.window
        places = np.indices(size) - (np.array(size)[:, None, None, None] - 1) / 2
        tissue = 100 + 10 * np.random.default_rng(0).standard_normal(size)
        ball = np.where((places**2).sum(axis=0) < (min(size) / 2.4) ** 2, tissue, 0).astype(np.float32)
        image = nib.Nifti1Image(ball, np.diag([recipe.spacing] * 3 + [1.0])).to_bytes()
        yield ScanRequest(image, t1=image if "t1" in recipe.channels else b"")

    def warm_up() -> None:
        probe()
        window = np.random.default_rng(0).standard_normal((len(recipe.channels), *recipe.window), np.float32)
        durations = []
        for _ in range(_REPEATS):
            start = time.perf_counter()
            members.difference(0, window)
            durations.append(time.perf_counter() - start)
        pace.window_seconds = float(np.median(durations))

    return ServedModel(
        pipeline=pipeline,
        description=description,
        grpc=messages.binding(
            description,
            pipeline,
            window_chunks=settings.stream_window_chunks,
            max_upload_bytes=settings.max_upload_bytes,
        ),
        http=bodies.binding(),
        oip=tensors.binding(recipe, ensemble=manifest.ensemble),
        warm_up=warm_up,
        examples=examples,
        probe=probe,
    )
