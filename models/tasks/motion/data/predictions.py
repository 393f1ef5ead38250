"""Reader of predicted trajectories for ``demur evaluate``: the official submission, or NPZ that contains the truth."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.figures import Rules
from models.assessment.trajectories import WeightsError, checked_weights
from models.evaluation import files
from models.evaluation.unit_errors import BadFile, ErrorColumn, ErrorOptions, Mask, UnitErrors, ordered, unranked
from models.tasks.motion.data import submission, truth
from models.tasks.motion.errors import ACCEPTABLE, UNITS, request_errors
from models.tasks.motion.inference.grid import FARTHEST

OPTIONS = frozenset({"scenes"})
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""

UNCERTAINTY = "uncertainty"


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read a submission (``.pb``; its ground truth is the companion ``scenes``) or an NPZ file.

    NPZ: ``trajectories`` [N, D, T, 2] and ``target`` [N, T, 2] in the agents' frames, m; ``weights`` [N, D];
    ``uncertainty`` [N]; optionally ``shifted`` [N] and columns [N] for groups of figures. Padding is a trajectory of
    NaN with the weight zero; a trajectory with positions and weight zero counts for the least and average errors, as in
    the released scorer. The tags of scenes are groups of a submission's figures.

    Raises:
        BadFile: the message names file and field, and scene and track if there are any.
    """
    if path.suffix == ".npz":
        return _of_arrays(path, options)
    if path.suffix == ".pb":
        return _of_submission(path, options)
    raise BadFile(f"{path} is neither a submission (.pb) nor arrays (.npz)")


def _of_arrays(path: Path, options: ErrorOptions) -> UnitErrors:
    if "scenes" in options.companions:
        raise BadFile(f"{path} holds the truth itself: leave --scenes out, it is for submissions")
    arrays = files.read_npz(path)
    sizes: dict[str, int] = {}
    trajectories = files.stored_numbers(path, arrays, "trajectories", "N D T 2", sizes)
    weights = files.numbers(path, arrays, "weights", "N D", sizes)
    target = files.stored_numbers(path, arrays, "target", "N T 2", sizes)
    uncertainty = files.numbers(path, arrays, UNCERTAINTY, "N", sizes)
    try:
        checked_weights(weights)
    except WeightsError as error:
        raise BadFile(f"{path}: weights: {error}") from error
    _check_metres(path, "target", _near(target, (1, 2)))
    _check_metres(path, "trajectories", _near(trajectories, (2, 3)) | _padding(trajectories, weights))
    return _judged(
        path,
        options,
        request_errors(target, trajectories, weights),
        uncertainty,
        shifted=files.shifted_flags(path, "shifted", arrays.get("shifted"), len(target)),
        groups=files.group_columns(path, arrays, options.by, len(target)),
        labels=hashlib.sha256(np.ascontiguousarray(target).tobytes()).hexdigest(),
    )


def _of_submission(path: Path, options: ErrorOptions) -> UnitErrors:
    if options.companions.get("scenes") is None:
        raise BadFile(
            f"{path} holds no truth: give --scenes, a folder of the official scene files or a file of true trajectories"
        )
    known = truth.read(Path(options.companions["scenes"]))
    scores = submission.score(path, known)
    shifted = known.shifted
    notes = scores.notes
    if shifted is None and scores.flagged.any():
        shifted = scores.flagged
        notes += (f"shifted is what the predictions say (is_ood); {known.source} does not say",)
    judged = _judged(
        path, options, scores.errors, scores.uncertainty, shifted=shifted, groups=known.tags, labels=known.digest
    )
    return replace(judged, notes=notes)


def _near(positions: NDArray[Any], axes: tuple[int, ...]) -> Mask:
    """Return whether positions are finite and on Earth, over the axes, without copying them."""
    return np.asarray((positions.min(axis=axes) > -FARTHEST) & (positions.max(axis=axes) < FARTHEST))


def _padding(trajectories: NDArray[Any], weights: NDArray[np.float64]) -> Mask:
    """Return which modes are padding, [N, D]; only modes of weight zero are checked."""
    padding = np.zeros(weights.shape, bool)
    empty = weights == 0
    padding[empty] = np.isnan(trajectories[empty]).all(axis=(1, 2))
    return padding


def _check_metres(path: Path, name: str, good: Mask) -> None:
    if not good.all():
        place = [int(index) for index in np.argwhere(~good)[0]]
        raise BadFile(
            f"{path}: {name}{place} holds a value that is not finite, or {FARTHEST:g} and more; metres are "
            "needed; a mode that is padding has NaN in all positions, and the weight 0"
        )


def _judged(
    path: Path,
    options: ErrorOptions,
    errors: Mapping[str, Any],
    uncertainty: NDArray[np.float64],
    *,
    shifted: Mask | None,
    groups: Mapping[str, NDArray[Any]],
    labels: str,
) -> UnitErrors:
    columns = {name: ErrorColumn(errors[name], unit, ACCEPTABLE[name]) for name, unit in UNITS.items()}

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        return {name: float(np.mean(column.values[part])) for name, column in columns.items()}

    return UnitErrors(
        task="motion",
        source=str(path),
        errors=ordered(options, columns, str(path)),
        measures={UNCERTAINTY: uncertainty},
        shifted=shifted,
        groups=groups,
        rules=Rules(options.convention),
        own=own,
        own_units=UNITS,
        labels=labels,
        notes=unranked(uncertainty),
    )
