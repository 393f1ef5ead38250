"""Build of a lesion artefact: threshold, calibration, recipe, golden window, model card.

Calibration uses the code that serves: the graphs in ONNX Runtime, through ``segment``.
"""

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from models import building, card, npz
from models.artefact import Artefact, write
from models.building import CARD, GOLDEN, UNSTATED, Provenance
from models.calibration import Calibration
from models.executors.device import CPU, Device, described
from models.manifest import Manifest
from models.profile import profile
from models.tasks.lesion import spec
from models.tasks.lesion.artefact import calibration as calibrating
from models.tasks.lesion.artefact import recipe, replay_set
from models.tasks.lesion.artefact.calibration import ComparedScan
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.recipe import RECIPE, Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.data.examples import Files
from models.tasks.lesion.inference import members as members_of
from models.tasks.lesion.inference.segment import Members, segment
from models.tasks.lesion.training import tuning
from models.training.progress import Counter, ignore
from models.workbench import Progress

GOLDEN_TOLERANCE = 2e-3
"""Relative tolerance of the logit difference: in flat parts of a window, instance norms amplify the rounding of other
processors.
"""
USUAL_RETENTION = 0.95
"""Default retention target (Shifts 2.0 keeps 95 %)."""
TUNING = "tuning of the threshold"
_TRAIN, _CALIBRATION = "train", "calibration"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fold:
    """Training scans with an ensemble that was trained in the same way on the other scans."""

    ensemble: Ensemble
    scans: Sequence[Files]


def build(
    ensemble: Ensemble,
    plan: Recipe,
    directory: Path,
    *,
    train: Sequence[Files] = (),
    tune: Sequence[Files] = (),
    calibration: Sequence[Files] = (),
    folds: Sequence[Fold] = (),
    judge: Mapping[str, Sequence[Files]] | None = None,
    provenance: Provenance = UNSTATED,
    threads: int = 1,
    device: Device = CPU,
    progress: Progress = ignore,
) -> Artefact:
    """Write the artefact into ``directory`` (replacing an older one there) and verify it.

    Without calibration scans nothing is calibrated: every scan is deferred until a threshold is set. The replay set
    consists of crops of the calibration scans and of those in ``judge``.

    Args:
        plan: preparation of scans; its threshold holds if none is tuned.
        train: scans that the members were trained on; recorded in the manifest.
        tune: in-domain scans that the threshold is tuned on.
        calibration: in-domain scans that neither members nor threshold have seen, preferably about 40.
        folds: instead of calibration scans, training scans with ensembles that have not seen them; the threshold of
            each ensemble is tuned on ``tune``, too, so that the scores of a fold are those of the whole procedure.
        judge: further labelled scans by name, for figures in the manifest.
        threads: number of threads that segment a scan.
        device: runs the calibration, under its numeric profile.

    Raises:
        ArtefactError: a graph is damaged, or does not fit the plan.
        BadFile: a scan cannot be read.
    """
    judge = judge or {}
    scans = len(calibration) + sum(map(len, judge.values())) + sum(len(fold.scans) for fold in folds)
    steps = Counter(scans + len(tune) * (2 * (1 + len(folds)) if folds else 1), progress)
    plan = msgspec.structs.replace(plan, channels=ensemble.channels, window=ensemble.window)
    training = dict(ensemble.training)
    scored: list[tuple[list[ComparedScan], list[ComparedScan]]] = []
    for fold in folds:
        with _opened(fold.ensemble, plan, device) as members:
            own, _ = _tuned(plan, tune, members, threads, steps)
            scored.append(
                (
                    judged(fold.scans, members, own, threads=threads, progress=steps.add),
                    judged(tune, members, own, threads=threads, progress=steps.add),
                )
            )
    with _opened(ensemble, plan, device) as members:
        plan, tuned = _tuned(plan, tune, members, threads, steps)
        training |= tuned
        results = {
            name: judged(cases, members, plan, threads=threads, progress=steps.add)
            for name, cases in {_CALIBRATION: calibration, **judge}.items()
            if cases
        }
        level = judged(tune, members, plan, threads=threads, progress=steps.add) if folds else []
        golden = members_of.golden(members, plan)
    factors = [calibrating.factor(level, other, ensemble=ensemble.several) for _, other in scored]
    crosswise = [
        scan
        for (here, _), by in zip(scored, factors, strict=True)
        for scan in calibrating.levelled(here, by, ensemble=ensemble.several)
    ]
    if crosswise:
        results = {_CALIBRATION: crosswise, **results}
    calibrated: dict[str, Calibration] = {}
    if _CALIBRATION in results:
        plan = calibrating.filled(plan, results[_CALIBRATION])
        known = calibrating.calibration(results[_CALIBRATION], ensemble=ensemble.several)
        calibrated[profile([ensemble.executor], described(device)).name] = known
        training |= {"calibration": _calibrated_by(factors, known)}
    else:
        _log.warning("nothing is calibrated: no scan is left that members have not seen; every scan will be deferred")
    manifest = Manifest(
        task="lesion",
        family=ensemble.family,
        members=len(ensemble.graphs),
        samples=ensemble.samples,
        sample_seed=ensemble.sample_seed,
        schema_hash=_inputs_hash(plan),
        executor=ensemble.executor,
        heads={spec.LESIONS.name: calibrated},
        golden=GOLDEN,
        golden_tolerance=GOLDEN_TOLERANCE,
        sources=building.sources_by_role(
            {
                _TRAIN: _Scans(train),
                TUNING: _Scans(tune),
                _CALIBRATION: _Scans(calibration),
                f"{_CALIBRATION}, cross-fitted": _Scans([scan for fold in folds for scan in fold.scans]),
            },
            provenance,
        ),
        seeds=ensemble.seeds,
        training=training,
        quality={name: calibrating.quality([scan.scores for scan in group]) for name, group in results.items()},
        versions=building.versions("numpy", "nibabel"),
        files={},
    )
    files: dict[str, bytes | Path] = {
        **ensemble.files,
        RECIPE: recipe.encode(plan),
        GOLDEN: npz.encode(golden),
        CARD: card.text(manifest, spec.HEADS, spec.CARD).encode(),
    }
    replayed = calibration or [scan for fold in folds for scan in fold.scans]
    return replay_set.attached(write(directory, manifest, files), replayed, judge, provenance, device=device)


@contextmanager
def _opened(ensemble: Ensemble, plan: Recipe, device: Device) -> Iterator[members_of.Members]:
    """Open the members of an ensemble from temporary files that exist while the context is active."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in ensemble.files.items():
            (Path(scratch) / name).write_bytes(content)
        yield members_of.opened(
            lambda name: Path(scratch) / name,
            [ensemble.executor],
            plan,
            samples=ensemble.samples,
            sampled=ensemble.sample_seed is not None,
            device=device,
        )


def _tuned(
    plan: Recipe, tune: Sequence[Files], members: Members, threads: int, steps: Counter
) -> tuple[Recipe, dict[str, float]]:
    """Return the plan with the best threshold on the scans ``tune``, and figures for the manifest."""
    if not tune:
        return plan, {}
    best = tuning.tune(_probabilities(tune, members, plan, threads, steps), small_voxels=plan.small_voxels)
    figures = {"tuned_threshold": best.threshold, "tuned_ndsc": round(best.ndsc, 4)}
    return msgspec.structs.replace(plan, threshold=best.threshold), figures


def _calibrated_by(factors: Sequence[float], known: Calibration) -> str:
    """Return the origin of the scans' thresholds; log a warning if they do not reach the usual target."""
    table = known.retention
    how = (
        f"cross-fitted: {table.units} training scans in {len(factors)} folds, each scored by as many members that were "
        "trained on the other folds and tuned in the same way, and brought to the level of the served ones by "
        + ", ".join(f"{value:.3g}" for value in factors)
        if factors
        else f"{table.units} scans that no member was trained on"
    )
    origin = f"{how}; targets up to a retention of {table.levels[-1]:g}"
    if table.levels[-1] < USUAL_RETENTION:
        _log.warning("calibrated on %s: a target of %g falls back to it", origin, USUAL_RETENTION)
    return origin


def judged(
    cases: Sequence[Files],
    members: Members,
    plan: Recipe,
    *,
    threads: int = 1,
    progress: Callable[[str], None] = lambda what: None,
) -> list[ComparedScan]:
    """Segment labelled scans as in serving and compare them with their truth; one scan is in memory at a time.

    Raises:
        BadFile: see ``examples.read``.
    """
    results = []
    for case in cases:
        scan, truth = examples.read(case, plan.channels)
        results.append(calibrating.compare(scan, truth, segment(scan, members, plan, threads)))
        progress(f"judging {case.id}")
    return results


def _probabilities(
    cases: Sequence[Files], members: Members, plan: Recipe, threads: int, steps: Counter
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    for case in cases:
        scan, truth = examples.read(case, plan.channels)
        yield segment(scan, members, plan, threads).maps["probability"], truth
        steps.add(f"tuning on {case.id}")


@dataclass(frozen=True)
class _Scans:
    """Labelled scans as a data set of the manifest."""

    cases: Sequence[Files]

    @property
    def fingerprint(self) -> str:
        return examples.fingerprint(self.cases)

    def __len__(self) -> int:
        return len(self.cases)


def _inputs_hash(plan: Recipe) -> str:
    """Return the hash of the modalities in their order and of the voxel size."""
    return hashlib.sha256(f"{' '.join(plan.channels)} {plan.spacing:g} mm".encode()).hexdigest()
