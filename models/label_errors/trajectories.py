"""Label rule for sets of trajectories: the corrected likelihood of the true one (Shifts 1.0, equation 15)."""

import math
import struct
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.agreement.relation import Relation
from models.assessment.trajectories import cnll
from models.head import Head
from models.label_errors.values import BadLabel
from models.predictive import Trajectories

STEPS = 25
"""Number of future positions of a label, 0.2 s apart (Shifts 1.0, section 5)."""
FARTHEST = 1e7
"""Largest coordinate, m; the limit of ``demur evaluate``, beyond which float32 loses metres."""
_HEADER = struct.Struct("<HH")
_LARGEST = 1e300


class CorrectedNll:
    """Corrected negative log likelihood of the true trajectory.

    Evidence: D and T as uint16, then weights [D] and plans [D, T, 2] in m, all float32 little-endian.

    Label: positions [25, 2] in m, float64 little-endian, NaN if the truth is not known. A partial future is a label,
    but has no error, because the likelihood of a part is another quantity.
    """

    relation: Relation | None = None
    largest = math.inf

    def __init__(self, head: Head) -> None:
        self._head = head

    def evidence(self, predictive: Trajectories, units: NDArray[np.intp]) -> list[bytes]:
        plans = np.ascontiguousarray(predictive.plans[units], "<f4")
        weights = np.ascontiguousarray(predictive.weights[units], "<f4")
        head = _HEADER.pack(plans.shape[1], plans.shape[2])
        return [head + own.tobytes() + plan.tobytes() for own, plan in zip(weights, plans, strict=True)]

    def label(self, value: object) -> bytes:
        """Read positions as ``[[x, y], ...]``, or 50 numbers in that order.

        A step may be null, and steps at the end may be missing, if they are unknown.
        """
        steps = _pairs(value)
        if steps is None or not 1 <= len(steps) <= STEPS:
            raise BadLabel(
                f"no label of {self._head.name}; needed: up to {STEPS} positions [x, y] or null, m ({self._head.label})"
            )
        positions = np.full((STEPS, 2), np.nan)
        for index, step in enumerate(steps):
            if step is None:
                continue
            if not all(abs(metres) < FARTHEST for metres in step):
                raise BadLabel(f"step {index} is {list(step)}; needed: finite metres, less than {FARTHEST:g}, or null")
            positions[index] = step
        if np.isnan(positions).all():
            raise BadLabel(f"no position of {self._head.name} is known; needed: at least one of {STEPS}, m")
        return (positions + 0.0).astype("<f8").tobytes()

    def value(self, label: bytes) -> list[list[float] | None]:
        steps = np.frombuffer(label, "<f8").reshape(STEPS, 2).tolist()
        return [None if step[0] != step[0] else step for step in steps]

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        """Return errors in nats [n]; NaN for a partial future, other numbers of steps, or plans that are not finite."""
        errors = np.full(len(labels), np.nan)
        by_modes: defaultdict[int, list[int]] = defaultdict(list)
        for index, content in enumerate(evidence):
            modes, steps = _HEADER.unpack_from(content)
            if steps == STEPS:
                by_modes[modes].append(index)
        for modes, members in by_modes.items():
            rows = np.array(members)
            truth = np.frombuffer(b"".join(labels[row] for row in members), "<f8").reshape(-1, STEPS, 2)
            body = b"".join(evidence[row][_HEADER.size :] for row in members)
            packed = np.frombuffer(body, "<f4").reshape(len(rows), -1)
            weights, plans = packed[:, :modes], packed[:, modes:].reshape(-1, modes, STEPS, 2)
            good = np.isfinite(truth).all(axis=(1, 2)) & _plausible(weights, plans)
            if good.any():
                errors[rows[good]] = cnll(truth[good], plans[good], weights[good])
        return errors

    def prediction(self, evidence: bytes) -> dict[str, object]:
        """Return ``{"plans": [[[x, y], ...], ...], "weights": [...]}`` in m, the heaviest plan first."""
        modes, steps = _HEADER.unpack_from(evidence)
        packed = np.frombuffer(evidence, "<f4", offset=_HEADER.size)
        weights, plans = packed[:modes], packed[modes:].reshape(modes, steps, 2)
        order = np.argsort(-np.nan_to_num(weights), kind="stable")
        finite = [float(weight) if np.isfinite(weight) else None for weight in weights[order]]
        positions = [[step if np.isfinite(step).all() else None for step in plan.tolist()] for plan in plans[order]]
        return {"plans": positions, "weights": finite}

    def difference(self, one: bytes, other: bytes) -> float:
        """Return the mean distance of two truths over the steps that both have, m; NaN if they share none."""
        pair = np.frombuffer(one + other, "<f8").reshape(2, STEPS, 2)
        distances = np.hypot(*(pair[0] - pair[1]).T)
        shared = distances[np.isfinite(distances)]
        return float(shared.mean()) if len(shared) else np.nan


def _plausible(weights: NDArray[np.float32], plans: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return the mask of the units whose weights are distributions and whose plans with weight are finite."""
    with np.errstate(invalid="ignore"):
        total: NDArray[np.bool_] = np.isclose(weights.sum(axis=1, dtype=np.float64), 1) & (weights >= 0).all(axis=1)
    finite: NDArray[np.bool_] = (np.isfinite(plans).all(axis=(2, 3)) | (weights == 0)).all(axis=1)
    return np.asarray(total & finite)


def _pairs(value: object) -> list[tuple[float, float] | None] | None:
    """Return the steps of a list of pairs or of a flat list of numbers; None if it is neither."""
    if not isinstance(value, list | tuple):
        return None
    if value and all(_number(number) for number in value):
        if len(value) % 2:
            return None
        pairs = zip(value[::2], value[1::2], strict=True)
        return [None if x != x and y != y else (float(x), float(y)) for x, y in pairs]
    steps: list[tuple[float, float] | None] = []
    for step in value:
        if step is None:
            steps.append(None)
        elif isinstance(step, list | tuple) and len(step) == 2 and all(_number(number) for number in step):
            steps.append((float(step[0]), float(step[1])))
        else:
            return None
    return steps


def _number(value: object) -> bool:
    """Return whether a value is a number that a float can hold, NaN included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value != value or abs(value) < _LARGEST
