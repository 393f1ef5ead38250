"""Scoring of the official submission file against the ground truth, request by request, as in the released scorer.

Requests come in the order of the ground truth, which is that of the released retention curves, whatever the order of
the submission: so two submissions have the same units in the same order.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.assessment.trajectories import WeightsError, checked_weights
from models.evaluation.unit_errors import BadFile, Mask
from models.tasks.motion.data import messages
from models.tasks.motion.data.futures import Key, named
from models.tasks.motion.data.truth import Truth, key_of, position_array
from models.tasks.motion.errors import UNITS, request_errors
from models.tasks.motion.protocol.motion_pb2 import ObjectPrediction

MOST_MODES = 25
"""Largest number of modes that the scorer keeps, by weight; the weights are not normalised again."""
_BLOCK = 2048  # requests scored at a time


@dataclass(frozen=True)
class Scores:
    """Errors and uncertainties of N requests, in the order of the ground truth."""

    errors: Mapping[str, NDArray[np.float64]]
    uncertainty: NDArray[np.float64]
    flagged: Mask
    """Mask of predictions that are marked as out of distribution."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Modes:
    """Prediction for one request, read but not scored."""

    key: Key
    row: int
    trajectories: NDArray[np.float64]
    """Trajectories [D, T, 2], m."""
    weights: NDArray[np.float64]


def score(path: Path, truth: Truth) -> Scores:
    """Score a submission.

    Raises:
        BadFile: the predictions are not exactly one for each request of the ground truth, or one has no modes, another
            number of steps than the truth, or weights that are not a distribution.
    """
    n = len(truth.rows)
    errors = {name: np.empty(n) for name in UNITS}
    uncertainty, flagged = np.empty(n), np.zeros(n, bool)
    waiting: dict[int, list[_Modes]] = defaultdict(list)  # by number of modes, so that a group needs no padding
    seen: set[Key] = set()
    ignored: Counter[str] = Counter()
    for prediction in messages.predictions(path):
        key = key_of(prediction)
        if key in seen:
            raise BadFile(f"{path}: {named(key)} is predicted twice; one prediction a request is needed")
        seen.add(key)
        if key in truth.left_out:
            ignored[truth.left_out[key]] += 1
            continue
        modes = _modes(path, prediction, truth)
        uncertainty[modes.row], flagged[modes.row] = prediction.uncertainty_measure, prediction.is_ood
        if np.isnan(prediction.uncertainty_measure):
            raise BadFile(f"{path}: {named(key)} has the uncertainty_measure nan; a number is needed")
        group = waiting[len(modes.weights)]
        group.append(modes)
        if len(group) == _BLOCK:
            _judge(path, group, truth, errors)
            group.clear()
    for group in waiting.values():
        if group:
            _judge(path, group, truth, errors)
    _check_complete(path, seen, truth)
    return Scores(errors, uncertainty, flagged, _notes(truth, ignored))


def _modes(path: Path, prediction: ObjectPrediction, truth: Truth) -> _Modes:
    key, steps = key_of(prediction), truth.trajectories.shape[1]
    if key not in truth.rows:
        raise BadFile(f"{path}: {named(key)} is predicted, and is no request of {truth.source}")
    trajectories = position_array(path, key, prediction.weighted_trajectories)
    if trajectories.shape[1] != steps:
        raise BadFile(
            f"{path}: {named(key)} has {trajectories.shape[1]} points a trajectory; the truth has {steps} steps"
        )
    weights = np.array([mode.weight for mode in prediction.weighted_trajectories], np.float64)
    if not (weights >= 0).all():
        mode = int(np.argmin(weights >= 0))
        raise BadFile(
            f"{path}: {named(key)} has the weight {weights[mode]} at mode {mode}; weights are expected to be "
            "non-negative, and to sum to 1"
        )
    heaviest = np.argsort(weights, kind="stable")[-MOST_MODES:]
    return _Modes(key, truth.rows[key], trajectories[heaviest], weights[heaviest])


def _judge(path: Path, group: list[_Modes], truth: Truth, errors: Mapping[str, NDArray[np.float64]]) -> None:
    """Write the errors of a group into their rows."""
    rows = [modes.row for modes in group]
    predicted = np.stack([modes.trajectories for modes in group])
    weights = np.stack([modes.weights for modes in group])
    try:
        group_errors = request_errors(truth.trajectories[rows], predicted, weights)
    except WeightsError:
        for modes in group:
            _check_weights(path, modes)
        raise
    for name, values in group_errors.items():
        errors[name][rows] = values


def _check_weights(path: Path, modes: _Modes) -> None:
    try:
        checked_weights(modes.weights[None])
    except WeightsError as error:
        kept = f" (the {MOST_MODES} largest weights count)" if len(modes.weights) == MOST_MODES else ""
        message = str(error).replace(" in row 0", "")
        raise BadFile(f"{path}: {named(modes.key)}, field weight{kept}: {message}") from error


def _check_complete(path: Path, seen: set[Key], truth: Truth) -> None:
    missing = [key for key in truth.rows if key not in seen]
    if missing:
        raise BadFile(
            f"{path}: {named(missing[0])} is not predicted; {len(missing)} of {len(truth.rows)} requests of "
            f"{truth.source} are missing, and every one counts"
        )


def _notes(truth: Truth, ignored: Mapping[str, int]) -> tuple[str, ...]:
    reasons: Mapping[str, int] = Counter(truth.left_out.values())
    return tuple(
        f"requests left out because {reason}: {count} ({ignored.get(reason, 0)} of them predicted)"
        for reason, count in reasons.items()
    )
