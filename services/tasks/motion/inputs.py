"""Checked motion requests: the vehicle of each item, and the source of its feature map."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference import maps, scenes
from models.tasks.motion.inference.grid import FARTHEST, Grid
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import Agent, BadScene, Scene
from services.runtime.errors import DemurError, InvalidInput, TooLarge, refused
from services.tasks.motion.request import AgentRef, Form, Pose, RenderedForm, SceneForm, TensorForm

Map = NDArray[np.float32]

MOST_REQUESTS = 256
"""Maximum number of prediction requests in a call: a map of 128 x 128 cells has 1.1 MB."""
WAITING_BYTES = 32 << 20
"""Maximum size of unpacked maps that wait in memory, in bytes; larger requests unpack their files again."""
SCENE_FACTOR = 8
"""Memory of a scene relative to its bytes: as a message, as arrays, and drawn."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Vehicle whose future an item predicts."""

    scene_id: str
    track_id: int
    pose: Pose | None
    """Current pose; None if unknown."""
    unseen_steps: int = 0
    """Steps since the vehicle was last seen; 0 if it is seen now, or unknown."""


class Source(Protocol):
    """Source of feature maps."""

    @property
    def nbytes(self) -> int:
        """Memory that it holds, in bytes."""
        ...

    def opened(self) -> Callable[[int], Map]:
        """Return a slow function that makes the map of an item, [17, y, x]; its calls may run side by side."""
        ...


@dataclass(frozen=True)
class Input:
    """Checked request of N items."""

    subjects: tuple[Subject | None, ...]
    """Vehicles [N]; None: unknown, or failed."""
    tracks: tuple[int, ...]
    """Track ids [N]; 0 if unknown."""
    source: Source
    scene_id: str = ""
    failed: Mapping[int, DemurError] = field(default_factory=dict)
    """Items that cannot be predicted, with their errors."""
    left_out: int = 0
    """Number of vehicles and pedestrians of a scene that are not drawn, since their values are impossible."""
    scene: Scene | None = None


def read(form: Form, grid: Grid) -> Input:
    """Return the items of a request.

    Raises:
        InvalidInput, TooLarge: nothing to predict, too many requests, or an unusable input.
    """
    try:
        if isinstance(form, SceneForm):
            return _of_scene(form, grid)
        return _of_files(form, grid) if isinstance(form, RenderedForm) else _of_tensor(form, grid)
    except BadScene as error:
        raise refused(error) from error


def _of_scene(form: SceneForm, grid: Grid) -> Input:
    if not form.content:
        raise _missing("scene", "the request holds an empty scene; send a Scene of the Shifts motion data set")
    scene = scenes.parse(form.content)
    tracks = form.track_ids or tuple(scenes.requested(scene))
    if not tracks:
        raise InvalidInput(
            f"scene {scene.id!r} has no prediction requests; name vehicles by track_ids",
            code="no_requests",
            field="track_ids",
        )
    _check_count(len(tracks), "track_ids")
    _check_different(tracks)
    agents: dict[int, Agent] = {}
    failed: dict[int, DemurError] = {}
    for item, track in enumerate(tracks):
        try:
            agents[item] = scenes.agent(scene, track)
        except BadScene as error:
            failed[item] = refused(error, item)
            if form.track_ids and error.code == "unknown_track":  # an error of the caller, not missing data
                raise failed[item] from error
    if not agents:
        raise failed[0]
    vehicles = (agents.get(item) for item in range(len(tracks)))
    return Input(
        subjects=tuple(None if agent is None else _subject(agent) for agent in vehicles),
        tracks=tracks,
        source=_Scene(scene, agents, grid, SCENE_FACTOR * len(form.content)),
        scene_id=scene.id,
        failed=failed,
        left_out=len(scene.left_out),
        scene=scene,
    )


def _of_tensor(form: TensorForm, grid: Grid) -> Input:
    try:
        values = maps.read_tensor(form.values, grid)
    except BadScene as error:
        raise refused(error.of("tensor")) from error
    _check_count(len(values), "tensor")
    subjects = _subjects(form.agents, len(values), "tensor")
    failed = _failed(len(values), lambda item: maps.check(values[item]), "tensor")
    return Input(subjects, _tracks(subjects), _Maps(dict(enumerate(values))), failed=failed)


def _of_files(form: RenderedForm, grid: Grid) -> Input:
    if not form.files:
        raise _missing("rendered", "the request holds no files; send at least one {scene_id}_{track_id}.npy")
    _check_count(len(form.files), "rendered")
    subjects = _subjects(form.agents, len(form.files), "rendered")
    waiting = len(form.files) * 4 * math.prod(grid.shape) <= WAITING_BYTES
    kept: dict[int, Map] = {}

    def read(item: int) -> None:
        values = maps.read_rendered(form.files[item], grid)
        if waiting:
            kept[item] = values

    failed = _failed(len(form.files), read, "rendered")
    return Input(subjects, _tracks(subjects), _Maps(kept) if waiting else _Files(form.files, grid), failed=failed)


def _failed(count: int, read: Callable[[int], None], field: str) -> dict[int, DemurError]:
    """Return the errors of the maps that cannot be used.

    Raises:
        InvalidInput, TooLarge: no map can be used.
    """
    failed: dict[int, DemurError] = {}
    for item in range(count):
        try:
            read(item)
        except BadScene as error:
            failed[item] = refused(error.of(field), item)
    if len(failed) == count:
        raise failed[0]
    return failed


@dataclass(frozen=True)
class _Scene:
    """Source that draws the surroundings of agents."""

    scene: Scene
    agents: Mapping[int, Agent]
    grid: Grid
    nbytes: int

    def opened(self) -> Callable[[int], Map]:
        renderer = Renderer(self.scene, self.grid)
        return lambda item: renderer.draw(self.agents[item])


@dataclass(frozen=True)
class _Maps:
    """Source of maps in memory."""

    values: Mapping[int, Map]
    """Maps [17, y, x] by item."""

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.values.values())

    def opened(self) -> Callable[[int], Map]:
        return lambda item: self.values[item]


@dataclass(frozen=True)
class _Files:
    """Source that unpacks files again."""

    files: tuple[bytes, ...]
    grid: Grid

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.files))

    def opened(self) -> Callable[[int], Map]:
        return lambda item: maps.read_rendered(self.files[item], self.grid)


def _subject(agent: Agent) -> Subject:
    return Subject(agent.scene_id, agent.track_id, Pose(agent.x, agent.y, agent.yaw), agent.unseen_steps)


def _subjects(agents: tuple[AgentRef, ...], count: int, name: str) -> tuple[Subject | None, ...]:
    """Return the vehicles of maps as named by the caller."""
    if not agents:
        return (None,) * count
    if len(agents) != count:
        raise InvalidInput.about(
            "agents",
            len(agents),
            f"must be {count}, one for each map in {name}, or none",
            code="unequal_lengths",
            unit="agents",
            allowed=str(count),
        )
    for item, agent in enumerate(agents):
        if agent.pose is not None:
            _check_pose(agent.pose, item)
    return tuple(Subject(agent.scene_id, agent.track_id, agent.pose) for agent in agents)


def _check_pose(pose: Pose, item: int) -> None:
    for name, value, unit in (("x", pose.x, "m"), ("y", pose.y, "m"), ("yaw", pose.yaw, "rad")):
        if not abs(value) < FARTHEST:
            allowed = f"(-{FARTHEST:g}, {FARTHEST:g})"
            raise InvalidInput.about(
                f"pose.{name}",
                f"{value:g}",
                f"must be in {allowed} for agent {item}",
                code="out_of_range" if math.isfinite(value) else "not_finite",
                unit=unit,
                allowed=allowed,
                index=item,
            )


def _check_count(count: int, name: str) -> None:
    if count > MOST_REQUESTS:
        raise TooLarge.about(
            name,
            count,
            code="too_many",
            unit="requests",
            allowed=f"[1, {MOST_REQUESTS}]",
            advice="send them in several calls, or as a stream, which has no limit",
        )


def _check_different(tracks: tuple[int, ...]) -> None:
    seen: set[int] = set()
    for item, track in enumerate(tracks):
        if track in seen:
            raise InvalidInput.about(
                "track_ids",
                track,
                "must name each track once",
                code="duplicate",
                allowed="each track once",
                index=item,
            )
        seen.add(track)


def _tracks(subjects: tuple[Subject | None, ...]) -> tuple[int, ...]:
    return tuple(0 if subject is None else subject.track_id for subject in subjects)


def _missing(name: str, message: str) -> InvalidInput:
    return InvalidInput(message, code="missing", field=name)
