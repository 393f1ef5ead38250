"""Scenes of traffic: cost of drawing per request, and a scene of 60 requests from end to end.

    python -m benchmarks.motion_scene [--seconds 20] [--only drawing service]

*drawing*: reading and drawing of a simulated scene on one core, processor time of the thread. *service*: the real
``demur serve motion`` on all cores, with calls over gRPC and HTTP for one request and for a scene of 60; for comparison
the passes of the same maps through the same members on one core, without a service.
"""

import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import demur
from benchmarks import harness, service
from benchmarks.harness import Figure, interleaved
from benchmarks.questions import scene_of
from models import artefact as artefacts
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.render import Renderer
from services.runtime.cores import available_cores

ROOT = Path(__file__).resolve().parents[1]
MANY = 60
"""Number of requests of the large scene."""
ONE = 1
COPIES = 1_000_000
"""Offset of the track numbers of copies."""


def main(arguments: list[str] | None = None) -> int:
    options = harness.parser("motion_scene", __doc__, seconds=20, parts=PARTS).parse_args(arguments)
    harness.announce()
    return harness.report((figure for part in options.only for figure in PARTS[part](options.seconds)), load=False)


def crowded() -> bytes:
    """Return a simulated scene of a dense city with ``MANY`` requests: each vehicle drives beside a copy of itself.

    The simulator requests some twenty vehicles, those near the measuring car that are seen.
    """
    scene = scene_of(MANY // 2, "crowded_{seed}")
    for step in (*scene.past_vehicle_tracks, *scene.future_vehicle_tracks):
        for track in tuple(step.tracks):
            copy = step.tracks.add()
            copy.CopyFrom(track)
            copy.track_id += COPIES
            copy.position.x += 1.0
    for request in tuple(scene.prediction_requests):
        scene.prediction_requests.add(track_id=request.track_id + COPIES)
    return bytes(scene.SerializeToString(deterministic=True))


def drawing(seconds: float) -> Iterator[Figure]:
    """Measure reading and drawing of the large scene."""
    content = crowded()
    scene = scenes.parse(content)
    agents = [scenes.agent(scene, track) for track in scenes.requested(scene)]
    renderer = Renderer(scene, OFFICIAL)

    def draw() -> None:
        for agent in agents:
            renderer.draw(agent)

    cases = {"parse": lambda: scenes.parse(content), "prepare": lambda: Renderer(scene, OFFICIAL), "draw": draw}
    timed = interleaved(cases, seconds, clock=time.thread_time)
    part = f"drawing: {MANY} requests, {len(scene.message.path_graph.lanes)} lanes, {len(content) // 1000} kB, one core"
    yield Figure(part, "reading and checking the scene", 1e3 * timed["parse"].p50, "ms")
    yield Figure(part, "preparing it for drawing", 1e3 * timed["prepare"].p50, "ms")
    yield Figure(
        part, "drawing one request", 1e3 * timed["draw"].p50 / MANY, "ms", note=f"± {timed['draw'].spread():.0%}"
    )


def served(seconds: float) -> Iterator[Figure]:
    """Measure one request and the large scene over both protocols."""
    content = crowded()
    scene = scenes.parse(content)
    tracks = scenes.requested(scene)
    renderer = Renderer(scene, OFFICIAL)
    maps = np.stack([renderer.draw(scenes.agent(scene, track)) for track in tracks])
    directory = ROOT / "artefacts" / "motion" / "bc-5"
    members = members_of.members(artefacts.read(directory, "motion"))
    with (
        service.running(set(range(available_cores())), "motion", ledger="none") as server,
        demur.connect(server.grpc) as client,
    ):

        def ask(count: int) -> demur.MotionAnswers:
            return client.motion.predict(content, track_ids=tracks[:count], purpose="replay")

        def post() -> None:
            request = urllib.request.Request(f"http://{service.HOST}:{server.http_port}/v1/predict", *_form(content))
            with urllib.request.urlopen(request, timeout=60) as answer:
                answer.read()

        cases = {
            "one": lambda: ask(ONE),
            "many": lambda: ask(MANY),
            "post": post,
            "bare one": lambda: members(maps[:ONE]),
            "bare": lambda: members(maps),
        }
        timed = interleaved(cases, seconds, warm_up=2)
    part = f"service: small BC, K = {members.count}, Q = {members.samples}, {available_cores()} cores"
    for name, title in (
        ("one", "one request of the scene, gRPC, p50"),
        ("bare one", "its pass alone, one core"),
        ("many", f"the scene of {MANY}, gRPC, p50"),
        ("post", f"the scene of {MANY}, HTTP form, p50"),
        ("bare", f"{MANY} passes alone, one core"),
    ):
        yield Figure(part, title, 1e3 * timed[name].p50, "ms", note=f"± {timed[name].spread():.0%}")
    yield Figure(part, "scene over its passes on one core", timed["many"].p50 / timed["bare"].p50, "1")


def _form(content: bytes) -> tuple[bytes, dict[str, str]]:
    mark = "demur-motion-scene"
    head = f'--{mark}\r\ncontent-disposition: form-data; name="scene"; filename="scene.pb"\r\n\r\n'.encode()
    purpose = f'\r\n--{mark}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nreplay\r\n--{mark}--\r\n'.encode()
    return head + content + purpose, {"content-type": f"multipart/form-data; boundary={mark}"}


PARTS = {"drawing": drawing, "service": served}

if __name__ == "__main__":
    sys.exit(main())
