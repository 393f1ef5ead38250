"""Build of a motion artefact: graph, calibration, recipe, golden maps, model card.

Calibration uses the code that serves: the graph in ONNX Runtime, with plans ranked by ``rip``.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from models import building, card, npz
from models.artefact import Artefact, write
from models.building import CARD, GOLDEN, UNSTATED, Provenance
from models.calibration import Calibration
from models.executors.device import CPU, Device, described
from models.manifest import Manifest
from models.profile import profile
from models.tasks.motion import spec
from models.tasks.motion.artefact import calibration as calibrating
from models.tasks.motion.artefact import export, recipe, replay_set
from models.tasks.motion.artefact.ensemble import GRAPH, Ensemble
from models.tasks.motion.artefact.recipe import RECIPE, Recipe
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference import appearance
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference.members import Members
from models.training.progress import Counter, ignore
from models.workbench import Progress

LOOKED = 4000
"""Training requests, evenly spaced, that define the typical appearance."""
_CALIBRATION = "calibration"


def build(
    ensemble: Ensemble,
    plan: Recipe,
    directory: Path,
    *,
    train: Examples | None = None,
    choosing: Examples | None = None,
    calibration: Examples | None = None,
    judge: Mapping[str, Examples] | None = None,
    provenance: Provenance = UNSTATED,
    device: Device = CPU,
    progress: Progress = ignore,
) -> Artefact:
    """Write the artefact into ``directory`` (replacing an older one there) and verify it.

    Without calibration requests nothing is calibrated: every request is deferred until a threshold is set. The replay
    set consists of calibration requests and of shifted ones of ``judge``.

    Args:
        plan: ranking of plans; its grid is that of the members.
        train: requests that the members were trained on; they define the typical appearance.
        choosing: development requests that chose the members' weights; recorded in the manifest.
        calibration: in-domain requests that the members have not seen.
        judge: further labelled requests by name, for figures in the manifest.
        device: runs the calibration, under its numeric profile.

    Raises:
        ArtefactError: the graph does not fit the plan.
    """
    judged_sets = {
        name: examples for name, examples in {_CALIBRATION: calibration, **(judge or {})}.items() if examples
    }
    steps = Counter(sum(map(len, judged_sets.values())), progress)
    graph = export.export(ensemble.networks, ensemble.masks)
    members = _opened(graph, plan, device)
    results = {
        name: calibrating.judge(examples, members, plan, steps.named(f"judging {name}"))
        for name, examples in judged_sets.items()
    }
    if train:
        plan = msgspec.structs.replace(plan, typical=typical(train))
    calibrated: dict[str, Calibration] = {}
    if _CALIBRATION in results:
        calibrated[profile([ensemble.executor], described(device)).name] = calibrating.calibration(
            results[_CALIBRATION]
        )
    roles = {"train": train, "choice of weights": choosing, _CALIBRATION: calibration}
    manifest = Manifest(
        task="motion",
        family=ensemble.family,
        members=len(ensemble),
        samples=ensemble.samples,
        sample_seed=ensemble.sample_seed,
        schema_hash=_inputs_hash(plan),
        executor=ensemble.executor,
        heads={spec.TRAJECTORIES.name: calibrated},
        golden=GOLDEN,
        golden_tolerance=members_of.GOLDEN_TOLERANCE,
        sources=building.sources_by_role(roles, provenance),
        seeds=ensemble.seeds,
        training=dict(ensemble.training),
        quality={name: calibrating.quality(judged) for name, judged in results.items()},
        versions=building.versions("numpy", "opencv-python-headless"),
        files={},
    )
    files: dict[str, bytes | Path] = {
        GRAPH: graph,
        RECIPE: recipe.encode(plan),
        GOLDEN: npz.encode(members_of.golden(members)),
        CARD: card.text(manifest, spec.HEADS, spec.CARD).encode(),
    }
    return replay_set.attached(write(directory, manifest, files), calibration, judge or {}, provenance, device=device)


def opened(ensemble: Ensemble, plan: Recipe, *, device: Device = CPU) -> Members:
    """Return the members of an ensemble, as in serving.

    Raises:
        ArtefactError: the graph does not fit the plan.
    """
    return _opened(export.export(ensemble.networks, ensemble.masks), plan, device)


def _opened(graph: bytes, plan: Recipe, device: Device) -> Members:
    with tempfile.TemporaryDirectory(prefix="demur-") as scratch:
        path = Path(scratch) / GRAPH
        path.write_bytes(graph)
        return members_of.opened(path, plan, device=device)


def typical(train: Examples) -> dict[str, tuple[float, float]]:
    """Return the range of the middle 99 % of training requests by the names of ``appearance.FEATURES``."""
    rows = np.unique(np.linspace(0, len(train) - 1, min(LOOKED, len(train))).astype(int))
    return building.typical(
        [appearance.measured(train.drawn(rows[number : number + 1])[0]) for number in range(len(rows))]
    )


def _inputs_hash(plan: Recipe) -> str:
    """Return the hash of the inputs: the released channels and the grid."""
    grid = plan.grid
    return hashlib.sha256(
        f"released channels {' '.join(map(str, grid.shape))} {grid.resolution:g} m".encode()
    ).hexdigest()
