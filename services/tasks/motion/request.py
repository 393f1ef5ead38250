"""What callers ask: a scene, or feature maps as numbers or as files, and whose future each is about."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.runtime.errors import InvalidInput

MOST_TRACK = 2**64 - 1
_DIGITS = re.compile(r"\d{1,20}", re.ASCII)
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a vehicle is now, in the frame of its scene."""

    x: float
    """m."""
    y: float
    """m."""
    yaw: float
    """Direction of driving, rad."""


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose future a map is about, as its caller says."""

    scene_id: str = ""
    track_id: int = 0
    pose: Pose | None = None


@dataclass(frozen=True, slots=True)
class SceneForm:
    """A scene of the official format, protobuf or its JSON."""

    content: bytes
    track_ids: tuple[int, ...] = ()
    """Vehicles to predict; none: those of its prediction requests."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Feature maps [N, 17, y, x], float32 little-endian."""

    values: bytes
    agents: tuple[Whose, ...] = ()
    """Of each map; none: nothing is known of them."""


@dataclass(frozen=True, slots=True)
class RenderedForm:
    """Feature maps as files of the data set."""

    files: tuple[bytes, ...]
    agents: tuple[Whose, ...] = ()
    """Of each map; none: nothing is known of them."""


Form = SceneForm | TensorForm | RenderedForm


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """One call: some prediction requests, each a unit."""

    form: Form
    submission: bool = False
    """Whether the official submission is answered as well."""


def track(given: int | str, field: str) -> int:
    """The id of a track; the official JSON writes it as a text.

    Raises:
        InvalidInput: it is none.
    """
    number = given if isinstance(given, int) else int(given) if _DIGITS.fullmatch(given) else -1
    if not 0 <= number <= MOST_TRACK:
        raise InvalidInput(
            f"{field} names {str(given)[:_SHOWN]!r}, which is no track; give whole numbers from 0 to 2^64 - 1",
            code="not_a_number",
            field=field,
            value=str(given)[:_SHOWN],
            allowed=f"[0, {MOST_TRACK}]",
        )
    return number


def without_tracks(form: Form, track_ids: tuple[int, ...]) -> Form:
    """A form that is not a scene, for which nobody may choose tracks.

    Raises:
        InvalidInput: somebody did.
    """
    if track_ids:
        raise InvalidInput(
            "track_ids choose vehicles of a scene, and maps were sent: each is of one vehicle, which agents name",
            code="unknown_field",
            field="track_ids",
            allowed="with a scene only",
        )
    return form
