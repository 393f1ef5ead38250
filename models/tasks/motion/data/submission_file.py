"""Writer of the official submission: predictions as arrays to the bytes of the released format.

The concatenated bytes of two calls are one submission, so that a long file needs no more memory than one batch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.trajectories import WeightsError, checked_weights
from models.tasks.motion.data.messages import FRAME, POINT
from models.tasks.motion.data.submission import MOST_MODES
from models.tasks.motion.inference.grid import FARTHEST
from models.tasks.motion.protocol.motion_pb2 import ObjectPrediction

_PREDICTION = b"\x0a"  # field 1 of Submission
_MODE = b"\x1a"  # field 3 of ObjectPrediction
_TRAJECTORY = b"\x0a"  # field 1 of WeightedTrajectory
_WEIGHT = 0x15  # field 2 of it, four bytes


def encoded(
    scenes: Sequence[str],
    tracks: Sequence[int],
    trajectories: NDArray[np.floating[Any]],
    weights: NDArray[np.floating[Any]],
    uncertainty: NDArray[np.floating[Any]],
    shifted: NDArray[np.bool_] | None = None,
) -> bytes:
    """Serialise N predictions as a submission, in order; empty for none.

    Args:
        scenes: id of each scene.
        tracks: id of each vehicle.
        trajectories: positions [N, D, T, 2], m, each in the frame of its agent.
        weights: weights of modes [N, D], not negative, that sum to one for each request as the released scorer
            requires.
        uncertainty: [N], larger is less certain.
        shifted: mask of predictions that are marked as out of distribution [N]; None: none is.

    Raises:
        WeightsError: weights are not a distribution in float32, the type in the format.
        ValueError: a shape is wrong, there are more modes than are scored, an uncertainty is NaN, or a position is not
            finite or 1e7 m away. Any file that is written can be scored.
    """
    count = len(scenes)
    if not count:
        return b""
    flags = np.zeros(count, bool) if shifted is None else np.asarray(shifted, bool)
    single, spread = np.asarray(weights, np.float32), np.asarray(uncertainty, np.float32)
    _check(count, tracks, np.asarray(trajectories), single, spread, flags)
    modes = _modes(np.asarray(trajectories, np.float64), single)
    parts: list[bytes] = []
    for row, (scene, track) in enumerate(zip(scenes, tracks, strict=True)):
        named = ObjectPrediction(
            track_id=int(track), scene_id=scene, uncertainty_measure=spread[row], is_ood=bool(flags[row])
        ).SerializeToString()
        content = modes[row].tobytes()
        parts += (_PREDICTION, _varint(len(named) + len(content)), named, content)
    return b"".join(parts)


def _modes(trajectories: NDArray[np.float64], weights: NDArray[np.float32]) -> NDArray[np.void]:
    """Return the weighted trajectories [N, D] as in the file: all have the same length, as zeros are written, too."""
    steps = trajectories.shape[2]
    trajectory = _TRAJECTORY + _varint(steps * POINT.itemsize)
    head = _MODE + _varint(len(trajectory) + steps * POINT.itemsize + 5) + trajectory
    table = np.empty(
        weights.shape,
        [("head", f"V{len(head)}"), ("points", POINT, (steps,)), ("weight_tag", "u1"), ("weight", "<f4")],
    )
    table["head"], table["weight_tag"], table["weight"] = np.void(head), _WEIGHT, weights
    for name in FRAME.dtype.names or ():
        table["points"][name] = FRAME[name]
    table["points"]["x"], table["points"]["y"] = trajectories[..., 0], trajectories[..., 1]
    return table


def _varint(value: int) -> bytes:
    """Return a number in base 128, least digits first."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _check(
    count: int,
    tracks: Sequence[int],
    trajectories: NDArray[Any],
    weights: NDArray[np.float32],
    uncertainty: NDArray[np.float32],
    flags: NDArray[np.bool_],
) -> None:
    modes = weights.shape[1:]
    right = trajectories.ndim == 4 and trajectories.shape[2] > 0 and trajectories.shape[::3] == (count, 2)
    if not right or trajectories.shape[:2] != weights.shape:
        raise ValueError(
            f"trajectories must be [N, D, T, 2] in m and weights [N, D] with N = {count}, "
            f"got {list(trajectories.shape)} and {list(weights.shape)}"
        )
    if not 1 <= modes[0] <= MOST_MODES:
        raise ValueError(f"{modes[0]} modes a request; 1 to {MOST_MODES} can be scored: send the heaviest, normalised")
    for name, column in (("tracks", tracks), ("uncertainty", uncertainty), ("shifted", flags)):
        if len(column) != count:
            raise ValueError(f"{name} has {len(column)} values; one for each of {count} predictions is needed")
    if np.isnan(uncertainty).any():
        raise ValueError(f"uncertainty[{int(np.argmax(np.isnan(uncertainty)))}] is nan; a number is needed")
    if not (np.abs(trajectories) < FARTHEST).all():
        place = [int(index) for index in np.argwhere(~(np.abs(trajectories) < FARTHEST))[0]]
        raise ValueError(
            f"trajectories{place} is {trajectories[tuple(place)]}; finite metres, less than {FARTHEST:g}, are needed"
        )
    if not np.isfinite(weights).all():
        raise WeightsError("weights are expected to be finite numbers that sum to 1; scores need a softmax")
    checked_weights(weights)
