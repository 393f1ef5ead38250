"""A data set in the official layout: a street, a few cars a scene, scenes of Moscow and of other cities."""

import math
from pathlib import Path

from models import provenance
from models.tasks.motion.data.tags import VALUES
from models.tasks.motion.data.writer import Writer
from models.tasks.motion.inference import maps, scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.protocol.motion_pb2 import Scene

SPLITS = {"train": ("Moscow", "AnnArbor"), "dev": ("Moscow", "Skolkovo"), "eval": ("Moscow", "AnnArbor")}
CARS = 3


def scene(name: str, number: int, city: str) -> Scene:
    """Cars that follow each other around a bend; the last one is lost in the future."""
    message = Scene(id=name)
    message.scene_tags.track = VALUES["track"][city]
    message.scene_tags.precipitation = VALUES["precipitation"]["NoPrecipitation"]
    lane = message.path_graph.lanes.add()
    lane.max_velocity = 15
    for metre in range(-80, 120, 4):
        lane.centers.add(x=metre, y=metre * abs(metre) / 200)
    road = message.path_graph.road_polygons.add()
    for x, y in ((-80, -80), (120, -80), (120, 120), (-80, 120)):
        road.geometry.points.add(x=x, y=y)
    speed = 3.0 + number % 7
    for step in range(-24, 26):
        tracks = (message.past_vehicle_tracks if step <= 0 else message.future_vehicle_tracks).add().tracks
        for car in range(CARS):
            if car == CARS - 1 and step > 20:
                continue
            x = 0.2 * step * speed - 12 * car
            slope = abs(x) / 100
            track = tracks.add(track_id=car + 1, yaw=math.atan(slope))
            track.position.x, track.position.y = x, x * abs(x) / 200
            track.linear_velocity.x, track.linear_velocity.y = speed, speed * slope
            track.dimensions.x, track.dimensions.y, track.dimensions.z = 4.5, 1.9, 1.6
    for car in range(CARS):
        message.prediction_requests.add(track_id=car + 1)
    return message


def write(root: Path, scenes_each: int = 4, *, rendered: bool = True) -> Path:
    """So many scenes of each city in each split; two of their three requests are valid."""
    root.mkdir(parents=True)
    for split, cities in SPLITS.items():
        with Writer(root, split) as writer:
            for city in cities:
                for number in range(scenes_each):
                    message = scene(f"{split}-{city}-{number:03d}", number, city)
                    writer.add(message, drawn(message) if rendered else {})
    provenance.write(root, "toy street", "none")
    return root


def drawn(message: Scene) -> dict[int, bytes]:
    parsed = scenes.parse(message.SerializeToString())
    renderer = Renderer(parsed, OFFICIAL)
    return {
        track: maps.encode_rendered(renderer.draw(scenes.agent(parsed, track))) for track in scenes.requested(parsed)
    }
