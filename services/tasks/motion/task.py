"""Motion task for the pipeline: maps are drawn side by side and planned in shared passes, chunk by chunk."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.input_warning import InputWarning
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference import appearance
from models.tasks.motion.inference.planning import Planning
from models.tasks.motion.inference.scenes import BadScene
from models.tasks.motion.protocol.motion_pb2 import Scene as SceneMessage
from models.tasks.motion.spec import HEADS, TRAJECTORIES
from services.ledger.contract import Portion
from services.policy.decision import Shift
from services.request.contract import Done, ItemFailed, Progress, Step, Steps, Units, Work
from services.runtime.errors import DemurError, InvalidInput, execution_failed, refused
from services.tasks.motion import inputs
from services.tasks.motion.inputs import Input, Map, Source, Subject
from services.tasks.motion.passes import planned
from services.tasks.motion.request import MotionRequest

MOST_CHUNK = 32
"""Maximum number of requests whose maps are in memory at once, unless one pass takes more."""
OPEN_SECONDS = 0.005
"""Declared device time of preparing a scene, in seconds."""
ANSWER_BYTES = 16 << 10
"""Memory of a request's answer until it is sent, in bytes."""
LEFT_OUT = "left_out"
"""Code of the remark on a scene with objects that could not be drawn."""
COPIES = 4
"""Copies of a map while its request is processed: as drawn, in its chunk, joined with other requests, in its pass."""
KEPT_BYTES = 1 << 20
"""Largest scene that is kept for reviewers, in bytes; of a larger one only the id is kept."""


@dataclass
class Pace:
    """Duration of making the map of a request, in seconds; a guess until some were made."""

    map_seconds: float = 0.005

    def note(self, seconds: Iterable[float]) -> None:
        """Update the average with maps that were made."""
        for duration in seconds:
            self.map_seconds += 0.1 * (duration - self.map_seconds)


@dataclass(frozen=True, slots=True)
class CallData:
    """Common data of all items of a call."""

    scene_id: str
    """Id of the scene; empty for maps."""
    tracks: tuple[int, ...]
    """Track ids [N]; 0 if unknown."""
    subjects: tuple[Subject | None, ...]
    """Vehicles [N]; None: unknown, or failed."""
    submission: bool

    @property
    def named(self) -> bool:
        """True if scenes and tracks of all requests are known, as a submission requires."""
        return bool(self.scene_id) or all(subject is not None and subject.scene_id for subject in self.subjects)


@dataclass(frozen=True, slots=True)
class ItemsResult:
    """Result of the work on consecutive items, besides their statistics."""

    call_data: CallData
    remarks: tuple[tuple[InputWarning, ...], ...]
    """Remarks on these items; an item with remarks counts as shifted."""


@dataclass(slots=True)
class _Payload:
    """Payload that the work empties at its start, since the payload may outlive the answer if it is explored."""

    call_data: CallData
    input: Input | None
    kept: bytes = b""
    """Scene for reviewers, without its request; empty if inputs are not kept."""


@dataclass(frozen=True, slots=True)
class _Made:
    """Result of making a map."""

    remarks: tuple[InputWarning, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Failed:
    """Error of making a map; if a quantum returned it bare, the whole request would fail."""

    error: DemurError


class MotionTask:
    """Motion task, in which each prediction request is a unit."""

    name = "motion"
    heads: tuple[Head, ...] = HEADS
    payload_type = "application/x-protobuf"
    """Media type of an input: a Scene of the official format, with id and request, and the past and map of a scene."""
    payload_kept = False

    def __init__(self, planning: Planning, recipe: Recipe, pace: Pace, *, lanes: int, keeps_inputs: bool) -> None:
        self._planning = planning
        self._recipe = recipe
        self._pace = pace
        self._lanes = lanes
        self._keeps_inputs = keeps_inputs

    def expand(self, request: MotionRequest) -> Units[_Payload]:
        """Check a call; each prediction request is an item.

        Raises:
            InvalidInput, TooLarge: see ``inputs.read``; or a submission of maps whose vehicles are not named.
        """
        parsed = inputs.read(request.form, self._recipe.grid)
        count = len(parsed.tracks)
        call_data = CallData(parsed.scene_id, parsed.tracks, parsed.subjects, request.submission)
        if request.submission and not call_data.named:
            raise InvalidInput(
                "a submission names scene and track of each request; give them in agents, or do not ask for one",
                code="missing",
                field="agents",
            )
        kept = _kept(parsed) if self._keeps_inputs else b""
        quantum = min(self._planning.quantum_rows, count)
        pass_seconds = self._planning.seconds(quantum) / quantum
        map_bytes = 4 * math.prod(self._recipe.grid.shape)
        return Units(
            payload=_Payload(call_data, parsed, kept),
            count=count,
            seconds=OPEN_SECONDS + count * (self._pace.map_seconds + pass_seconds),
            nbytes=parsed.source.nbytes
            + COPIES * min(self._chunk, count) * map_bytes
            + count * ANSWER_BYTES
            + len(kept),
        )

    @property
    def _chunk(self) -> int:
        """Number of requests whose maps are made and planned together: a pass for every lane."""
        quantum = self._planning.quantum_rows
        return max(quantum, min(MOST_CHUNK, quantum * self._lanes))

    def run(self, units: Units[_Payload]) -> Work:
        """Yield the work of each chunk: maps side by side, passes side by side, then ``Done`` for successful rows."""
        payload = units.payload
        parsed, payload.input = payload.input, None
        assert parsed is not None
        source: Source = parsed.source
        make = yield Step(partial(_opened, source), OPEN_SECONDS)
        for start in range(0, units.count, self._chunk):
            items = range(start, min(start + self._chunk, units.count))
            yield Progress(start / units.count, "maps")
            yield from self._worked_off(items, payload.call_data, parsed, make)
            yield Progress(items.stop / units.count, "planned")

    def _worked_off(self, items: range, call_data: CallData, parsed: Input, make: Callable[[int], Map]) -> Work:
        block = np.empty((len(items), math.prod(self._recipe.grid.shape)), np.float32)
        steps = [self._step(item, parsed, make, block[row]) for row, item in enumerate(items)]
        made: list[_Made | _Failed] = yield Steps(tuple(steps))
        self._pace.note(rendered.seconds for rendered in made if isinstance(rendered, _Made))
        for item, outcome in zip(items, made, strict=True):
            if isinstance(outcome, _Failed):
                yield ItemFailed(item, outcome.error)
        good = [row for row, rendered in enumerate(made) if isinstance(rendered, _Made)]
        for rows, plan in (yield from planned(self._planning, block, good, self._lanes)):
            if isinstance(plan, DemurError):
                for row in rows:
                    yield ItemFailed(items[row], plan)
                continue
            remarks = tuple(rendered.remarks for row in rows if isinstance(rendered := made[row], _Made))
            yield Done(
                first=items[rows.start],
                count=len(rows),
                predictives={TRAJECTORIES.name: self._planning.read(plan)},
                payload=ItemsResult(call_data, remarks),
                shifts=np.array(
                    [Shift.OUTSIDE_TRAINING_RANGE if item_remarks else 0 for item_remarks in remarks], np.uint8
                ),
            )

    def _step(self, item: int, parsed: Input, make: Callable[[int], Map], row: NDArray[np.float32]) -> Step:
        if (failure := parsed.failed.get(item)) is not None:
            return Step(lambda: _Failed(failure), 0.0)
        return Step(partial(self._made, item, parsed.left_out, make, row), self._pace.map_seconds)

    def _made(self, item: int, left_out: int, make: Callable[[int], Map], row: NDArray[np.float32]) -> _Made | _Failed:
        """Write the map of an item into its row; a failure affects this item only."""
        start = time.perf_counter()
        try:
            drawn = make(item)
            seen = appearance.remarks(appearance.measured(drawn), self._recipe.typical)
            row[:] = drawn.reshape(-1)
        except BadScene as error:
            return _Failed(refused(error, item))
        except Exception as error:
            return _Failed(execution_failed(error))
        return _Made((*seen, *_left_out(left_out)), time.perf_counter() - start)

    def collapse(self, units: Units[_Payload], portion: Portion) -> Portion:
        """Return the portion, which is the answer to its requests."""
        return portion

    def payload(self, units: Units[_Payload], items: NDArray[np.intp]) -> list[bytes]:
        """Return scenes with one request each, for reviewers; as protobuf messages they can be concatenated."""
        call_data, kept = units.payload.call_data, units.payload.kept
        return [kept + _request(call_data, item).SerializeToString() for item in items.tolist()]


def _opened(source: Source) -> Callable[[int], Map]:
    try:
        return source.opened()
    except BadScene as error:
        raise refused(error) from error


def _request(call_data: CallData, item: int) -> SceneMessage:
    """Return a scene with only its id and one request."""
    subject = call_data.subjects[item]
    message = SceneMessage(id=call_data.scene_id if subject is None else subject.scene_id)
    message.prediction_requests.add(track_id=call_data.tracks[item])
    return message


def _left_out(count: int) -> Iterable[InputWarning]:
    """Yield a remark on objects that could not be drawn, if there are any."""
    if count:
        yield InputWarning(
            code=LEFT_OUT,
            message=f"{count} vehicles or pedestrians of the scene have impossible numbers and are not drawn; correct "
            "them",
            value=float(count),
            unit="objects",
            lower=0.0,
            upper=0.0,
        )


def _kept(parsed: Input) -> bytes:
    """Return the past and map of a scene, without its future and requests; only its id if that is too large."""
    if parsed.scene is None:
        return b""
    message = SceneMessage()
    message.CopyFrom(parsed.scene.message)
    for name in ("future_vehicle_tracks", "future_pedestrian_tracks", "future_ego_track", "prediction_requests"):
        message.ClearField(name)
    content = message.SerializeToString()
    return content if len(content) <= KEPT_BYTES else SceneMessage(id=parsed.scene_id).SerializeToString()
