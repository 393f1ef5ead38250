"""A street with three vehicles, one of them not seen now, as the service is asked about it."""

import numpy as np

from models.tasks.motion.inference.maps import encode_rendered
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import Agent, agent, parse, requested
from models.tasks.motion.protocol.motion_pb2 import Scene
from tests.models.motion import towns
from tests.services.tasks.motion.straight_artefact import RECIPE_OF_TESTS

FAST, SLOW, HIDDEN = 7, 8, 9
"""Tracks; the last was not seen for three steps."""
SPEEDS = {FAST: 10.0, SLOW: 4.0, HIDDEN: 6.0}
"""m/s."""
UNSEEN_STEPS = 3
TIMES = 0.2 * np.arange(1, 26)
"""Of future steps, s from now."""


def street(name: str = "street") -> Scene:
    """Far from the origin, as real scenes are."""
    scene = towns.empty(name)
    towns.drive(scene, FAST, (1010.0, 2005.0), 0.3, SPEEDS[FAST])
    towns.drive(scene, SLOW, (1045.0, 1980.0), 2.5, SPEEDS[SLOW])
    towns.drive(scene, HIDDEN, (970.0, 2003.0), 0.0, SPEEDS[HIDDEN], unseen=UNSEEN_STEPS)
    towns.lane(scene, [(900.0 + step, 2000.0) for step in range(0, 200, 5)])
    towns.road(scene, towns.square((1000.0, 2000.0), 60.0))
    towns.walk(scene, 70, (1012.0, 2012.0), (0.5, -1.0))
    for track in SPEEDS:
        scene.prediction_requests.add(track_id=track)
    return scene


CONTENT = street().SerializeToString()


def agents(content: bytes = CONTENT) -> list[Agent]:
    """Those that the scene asks for."""
    scene = parse(content)
    return [agent(scene, track) for track in requested(scene)]


def rendered(content: bytes = CONTENT) -> list[bytes]:
    """Their maps, as files of the data set."""
    renderer = Renderer(parse(content), RECIPE_OF_TESTS.grid)
    return [encode_rendered(renderer.draw(vehicle)) for vehicle in agents(content)]


def tensor(content: bytes = CONTENT) -> bytes:
    """Their maps, as packed numbers."""
    renderer = Renderer(parse(content), RECIPE_OF_TESTS.grid)
    return b"".join(renderer.draw(vehicle).astype("<f4").tobytes() for vehicle in agents(content))


def broken(*tracks: int, name: str = "street") -> bytes:
    """The street with positions of vehicles that are no numbers, wherever they were seen."""
    scene = street(name)
    for step in scene.past_vehicle_tracks:
        for track in step.tracks:
            if track.track_id in tracks:
                track.position.x = float("nan")
    return scene.SerializeToString()
