"""Motion requests: a scene, or feature maps as numbers or as files, with the vehicle of each."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from services.runtime.errors import InvalidInput

MOST_TRACK = 2**64 - 1
_DIGITS = re.compile(r"\d{1,20}", re.ASCII)
_SHOWN = 40
SCENE = "Scene of the Shifts motion data set, protobuf or its JSON"
RENDERED = "Feature maps as files {scene_id}_{track_id}.npy of the data set"
"""Descriptions of the inputs that several protocols have."""


@dataclass(frozen=True, slots=True)
class Pose:
    """Pose of a vehicle now, in the frame of its scene."""

    x: float
    """Position, m."""
    y: float
    """Position, m."""
    yaw: float
    """Direction of driving, rad."""


@dataclass(frozen=True, slots=True)
class AgentRef:
    """Vehicle of a map, as named by the request."""

    scene_id: str = ""
    track_id: int = 0
    pose: Pose | None = None


@dataclass(frozen=True, slots=True)
class SceneForm:
    """Scene of the official format, protobuf or its JSON."""

    content: bytes
    track_ids: tuple[int, ...] = ()
    """Vehicles to predict; if empty, those of the scene's prediction requests."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Feature maps [N, 17, y, x], float32 little-endian."""

    values: bytes
    agents: tuple[AgentRef, ...] = ()
    """Vehicle of each map; empty if unknown."""


@dataclass(frozen=True, slots=True)
class RenderedForm:
    """Feature maps as files of the data set."""

    files: tuple[bytes, ...]
    agents: tuple[AgentRef, ...] = ()
    """Vehicle of each map; empty if unknown."""


Form = SceneForm | TensorForm | RenderedForm


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """Motion request: the prediction requests of a call, each a unit."""

    form: Form
    submission: bool = False
    """True to return the official submission, too."""


def track(track_id: int | str, field: str) -> int:
    """Return the id of a track, which the official JSON writes as a text.

    Raises:
        InvalidInput: it is not the id of a track.
    """
    number = track_id if isinstance(track_id, int) else int(track_id) if _DIGITS.fullmatch(track_id) else -1
    if not 0 <= number <= MOST_TRACK:
        raise InvalidInput.about(
            field,
            str(track_id)[:_SHOWN],
            "must be a whole number from 0 to 2^64 - 1",
            code="not_a_number",
            allowed=f"[0, {MOST_TRACK}]",
        )
    return number


def only_input(names: Iterable[str], allowed: Iterable[str]) -> str:
    """Return the name of the one input of a request.

    Args:
        names: names of the inputs that the request holds.
        allowed: names of all inputs.

    Raises:
        InvalidInput: there is none, or there are several.
    """
    names, listed = list(names), ", ".join(allowed)
    if not names:
        raise InvalidInput(
            f"the request holds no input; send one of {listed}", code="missing", field="scene", allowed=listed
        )
    if names[1:]:
        raise InvalidInput(
            f"the request holds {' and '.join(names)}; send one of them",
            code="two_inputs",
            field=names[1],
            allowed=listed,
        )
    return names[0]


def without_tracks(form: Form, track_ids: tuple[int, ...]) -> Form:
    """Return a form that is not a scene; tracks cannot be chosen for it.

    Raises:
        InvalidInput: tracks were chosen.
    """
    if track_ids:
        raise InvalidInput(
            "track_ids choose vehicles of a scene, and maps were sent: each is of one vehicle, which agents name",
            code="unknown_field",
            field="track_ids",
            allowed="with a scene only",
        )
    return form
