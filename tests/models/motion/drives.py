"""Made-up scenes of vehicles that drive straight on, with a past and a future of 25 steps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.tasks.motion.protocol.motion_pb2 import Scene, SceneTags, VehicleTrack

STEPS = 25


@dataclass(frozen=True)
class Drive:
    """A vehicle at constant velocity."""

    track: int
    at: tuple[float, float] = (0.0, 0.0)
    """Where it is now, m."""
    yaw: float = 0.3
    speed: float = 8.0
    unseen: frozenset[int] = frozenset()
    """Steps in which it is not seen, -24 to 25; 0 is now."""

    def state(self, step: int) -> VehicleTrack:
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        state = VehicleTrack(track_id=self.track, yaw=self.yaw)
        state.position.x = self.at[0] + 0.2 * step * self.speed * cos
        state.position.y = self.at[1] + 0.2 * step * self.speed * sin
        state.dimensions.x, state.dimensions.y = 4.0, 2.0
        state.linear_velocity.x, state.linear_velocity.y = self.speed * cos, self.speed * sin
        return state


def drive_scene(
    name: str,
    drives: Sequence[Drive],
    requested: Mapping[int, Sequence[int]] | None = None,
    tags: Mapping[str, int] | None = None,
    *,
    future: int = STEPS,
) -> Scene:
    """A scene.

    Args:
        requested: track to the tags of its request; None: all tracks, move forward.
        tags: of the scene, numbers of the enumerations; None: Moscow without precipitation.
    """
    scene = Scene(id=name, scene_tags=SceneTags(**{"track": 1, "precipitation": 1} if tags is None else tags))
    for step in range(1 - STEPS, 1):
        scene.past_vehicle_tracks.add(tracks=[drive.state(step) for drive in drives if step not in drive.unseen])
    for step in range(1, future + 1):
        scene.future_vehicle_tracks.add(tracks=[drive.state(step) for drive in drives if step not in drive.unseen])
    for track, maneuvers in ({drive.track: [2] for drive in drives} if requested is None else requested).items():
        scene.prediction_requests.add(track_id=track, trajectory_tags=maneuvers)
    return scene
