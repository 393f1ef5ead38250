"""Scenes as they come: what is read of them, what is refused and how, and vehicles that are missing now."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tasks.motion.inference import scene_message, scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.objects import Objects
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import BadScene
from models.tasks.motion.protocol.motion_pb2 import Scene, VehicleTrack
from tests.models.motion import towns, wire


def packed(scene: Scene) -> bytes:
    return scene.SerializeToString()


def as_json(scene: Scene) -> bytes:
    return json_format.MessageToJson(scene, indent=None).encode()


FORMS = pytest.mark.parametrize("form", [packed, as_json])


def refusal(content: bytes | Scene, track: int | None = None) -> BadScene:
    def ask() -> None:
        scene = scenes.parse(content if isinstance(content, bytes) else packed(content))
        if track is not None:
            scenes.agent(scene, track)

    with pytest.raises(BadScene) as caught:
        ask()
    assert caught.value.message == str(caught.value)
    return caught.value


@FORMS
def test_a_scene_is_read_from_both_forms(form: Callable[[Scene], bytes]) -> None:
    town = towns.town(1)
    scene = scenes.parse(form(town))
    assert (scene.id, scene.steps) == ("town", 25)
    assert scenes.requested(scene) == list(range(1, 13))
    assert (len(scene.vehicles), len(scene.pedestrians), len(scene.ego)) == (12, 6, 1)
    assert (len(scene.graph.lanes), len(scene.graph.crosswalks), len(scene.graph.road_polygons)) == (40, 4, 4)
    assert scene.left_out == ()
    agent, track = scenes.agent(scene, 3), town.past_vehicle_tracks[-1].tracks[2]
    assert (agent.scene_id, agent.track_id, agent.unseen_steps) == ("town", 3, 0)
    assert (agent.x, agent.y) == (track.position.x, track.position.y)


def test_json_may_have_other_names_and_blanks_before_it() -> None:
    text = json_format.MessageToJson(towns.town(1), preserving_proto_field_name=True)
    assert scenes.parse(b" \n\t" + text.encode()).id == "town"


def test_one_step_and_vehicles_are_enough() -> None:
    content = wire.scene("s", [wire.vehicle(1, 7, (3.0, 4.0), (0.0, 2.0), math.pi / 2)], [], [7])
    scene = scenes.parse(content)
    agent = scenes.agent(scene, 7)
    assert (scene.steps, agent.speed, len(scene.ego)) == (1, 2.0, 0)
    assert Renderer(scene, OFFICIAL).draw(agent)[0].any()
    np.testing.assert_allclose(scenes.past(scene, agent), [(0, 0)])


@pytest.mark.parametrize("turned", [0.0, math.pi])
def test_an_agent_looks_where_it_drives(turned: float) -> None:
    town = towns.empty()
    town.past_vehicle_tracks[-1].tracks.append(towns.vehicle(1, (100.0, 50.0), 0.5, 10.0))
    town.past_vehicle_tracks[-1].tracks[0].yaw += turned
    agent = scenes.agent(scenes.parse(packed(town)), 1)
    assert math.cos(agent.yaw - 0.5) == pytest.approx(1)
    ahead = agent.in_scene(np.array([[(10.0, 0.0)]]))
    np.testing.assert_allclose(ahead, [[(100 + 10 * math.cos(0.5), 50 + 10 * math.sin(0.5))]])
    np.testing.assert_allclose(agent.in_agent_frame(ahead), [[(10, 0)]], atol=1e-12)


@pytest.mark.parametrize("unseen", [1, 3, scenes.MOST_UNSEEN_STEPS])
def test_a_vehicle_that_is_missing_now_is_moved_on_from_its_past_only(unseen: int) -> None:
    town = towns.empty()
    towns.drive(town, 1, (100.0, 50.0), 0.5, 10.0, unseen=unseen)
    for step in range(25):  # the future says something else, and nobody listens
        town.future_vehicle_tracks.add().tracks.append(towns.vehicle(1, (900.0 + step, 0.0), 2.0, 1.0))
    scene = scenes.parse(packed(town))
    agent = scenes.agent(scene, 1)
    assert agent.unseen_steps == unseen
    assert (agent.x, agent.y, agent.yaw, agent.speed) == pytest.approx((100, 50, 0.5, 10))
    past = scenes.past(scene, agent)
    assert past.shape == (25, 2)
    assert np.isnan(past[-unseen:]).all()
    behind = [(-2.0 * back, 0.0) for back in range(24, unseen - 1, -1)]
    np.testing.assert_allclose(past[:-unseen], behind, atol=1e-9)


def test_the_oldest_step_is_searched_too() -> None:
    town = towns.empty(steps=scenes.MOST_UNSEEN_STEPS + 1)
    towns.drive(town, 1, (1.0, 2.0), 0.0, 1.0, unseen=scenes.MOST_UNSEEN_STEPS)
    assert scenes.agent(scenes.parse(packed(town)), 1).unseen_steps == scenes.MOST_UNSEEN_STEPS


def test_vehicles_that_cannot_be_placed_are_refused_by_their_reason() -> None:
    town = towns.town(1)
    towns.drive(town, 50, (0.0, 0.0), 0.0, 5.0, unseen=scenes.MOST_UNSEEN_STEPS + 1)
    town.prediction_requests.add(track_id=60)
    assert refusal(town, 50).code == "unseen"
    assert refusal(town, 50).value == "2.2"
    assert refusal(town, 60).code == "no_past_state"
    unknown = refusal(town, 70)
    assert (unknown.code, unknown.field, unknown.value) == ("unknown_track", "track_id", "70")


@pytest.mark.parametrize(
    ("field", "value", "code", "unit"),
    [
        ("position.x", math.nan, "not_finite", "m"),
        ("position.y", -math.inf, "not_finite", "m"),
        ("position.x", 2e7, "out_of_range", "m"),
        ("dimensions.x", -1.0, "out_of_range", "m"),
        ("linear_velocity.y", 1e5, "out_of_range", "m/s"),
        ("linear_acceleration.x", math.nan, "not_finite", "m/s²"),
        ("yaw", math.inf, "not_finite", "rad"),
        ("yaw", 1e300, "out_of_range", "rad"),
    ],
)
def test_impossible_numbers_of_one_vehicle_are_its_own_affair(field: str, value: float, code: str, unit: str) -> None:
    town = towns.town(1)
    part, _, axis = field.partition(".")
    track = town.past_vehicle_tracks[-1].tracks[4]
    setattr(getattr(track, part) if axis else track, axis or part, value)
    refused = refusal(town, 5)
    assert (refused.code, refused.unit) == (code, unit)
    assert refused.field == f"past_vehicle_tracks[24].tracks[4].{field}"
    assert refused.field in str(refused)
    scene = scenes.parse(packed(town))
    assert scene.left_out == ("past_vehicle_tracks[24].tracks[4]",)
    assert scenes.agent(scene, 4).track_id == 4


def test_an_impossible_place_in_the_past_is_only_missing_from_the_past() -> None:
    town = towns.town(1)
    town.past_vehicle_tracks[3].tracks[4].position.x = math.nan
    scene = scenes.parse(packed(town))
    past = scenes.past(scene, scenes.agent(scene, 5))
    assert np.flatnonzero(np.isnan(past).any(axis=1)).tolist() == [3]


def changed(change: Callable[[Scene], object]) -> Scene:
    town = towns.town(1)
    change(town)
    return town


def with_lane(x: float = 0.0, limit: float = 1.0) -> Callable[[Scene], object]:
    return lambda town: towns.lane(town, [(0.0, 0.0), (x, 1.0)], limit=limit)


REFUSED = {
    "no_id": (lambda town: town.ClearField("id"), "no_id", "id"),
    "long_id": (lambda town: setattr(town, "id", "s" * 300), "long_id", "id"),
    "no_past": (lambda town: town.ClearField("past_vehicle_tracks"), "no_past", "past_vehicle_tracks"),
    "many steps": (lambda town: town.past_vehicle_tracks.add(), "steps", "past_vehicle_tracks"),
    "few walkers": (lambda town: town.past_pedestrian_tracks.pop(), "steps", "past_pedestrian_tracks"),
    "few ego": (lambda town: town.past_ego_track.pop(), "steps", "past_ego_track"),
    "few lights": (lambda town: town.traffic_lights.pop(), "steps", "traffic_lights"),
    "twice": (
        lambda town: town.prediction_requests.add(track_id=2),
        "duplicate",
        "prediction_requests[12].track_id",
    ),
    "ego": (
        lambda town: setattr(town.past_ego_track[-1].position, "y", math.nan),
        "not_finite",
        "past_ego_track[24].position.y",
    ),
    "lane": (with_lane(math.nan), "not_finite", "path_graph.lanes[40].centers[1].x"),
    "far lane": (with_lane(-1e9), "out_of_range", "path_graph.lanes[40].centers[1].x"),
    "limit": (with_lane(limit=math.nan), "not_finite", "path_graph.lanes[40].max_velocity"),
    "no limit": (with_lane(limit=-1.0), "out_of_range", "path_graph.lanes[40].max_velocity"),
    "crosswalk": (
        lambda town: towns.crosswalk(town, [(0.0, math.inf)]),
        "not_finite",
        "path_graph.crosswalks[4].geometry.points[0].y",
    ),
    "road": (
        lambda town: towns.road(town, [(0.0, 0.0), (math.nan, 0.0)]),
        "not_finite",
        "path_graph.road_polygons[4].geometry.points[1].x",
    ),
    "requests": (
        lambda town: town.prediction_requests.extend(town.prediction_requests[0] for _ in range(2000)),
        "too_many",
        "prediction_requests",
    ),
    "lanes": (
        lambda town: town.path_graph.lanes.extend(town.path_graph.lanes[0] for _ in range(10_001)),
        "too_many",
        "path_graph.lanes",
    ),
    "points": (
        lambda town: towns.lane(town, [(1.0, 2.0)] * 100_001),
        "too_many",
        "path_graph",
    ),
    "lights": (
        lambda town: [town.traffic_lights[-1].sections.add(id=1) for _ in range(10_001)],
        "too_many",
        "traffic_lights[-1].sections",
    ),
}


@pytest.mark.parametrize(("change", "code", "field"), REFUSED.values(), ids=REFUSED)
def test_wrong_scenes_are_refused_by_code_and_field(change: Callable[[Scene], object], code: str, field: str) -> None:
    refused = refusal(changed(change))
    assert (refused.code, refused.field) == (code, field)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "no_id"),
        (b"\xff\xff", "not_a_scene"),
        (wire.nested(1, b"s") + wire.nested(2, b"\xff"), "not_a_scene"),
        (wire.nested(1, b"\xff\xfe"), "not_a_scene"),
        (wire.prediction("s", 1, [([(1, 2)], 1.0)]), "not_a_scene"),
        (b"{", "not_json"),
        (b'{"id": "s"', "not_json"),
        (b'  {"id": "\xff"}', "not_json"),
        (b'{"a": ' + b"[" * 100_000, "not_json"),
        (b"[]", "not_a_scene"),
        (b'{"id": 7}', "not_a_scene"),
        (b'{"identity": "s"}', "not_a_scene"),
        (b'{"id": "s", "pastVehicleTracks": {}}', "not_a_scene"),
        (b'{"id": "s", "predictionRequests": [{"trackId": -1}]}', "not_a_scene"),
        (b'{"id": "s", "pastEgoTrack": [{"yaw": 1e999}]}', "not_json"),
        (b'{"id": "s"}', "no_past"),
    ],
)
def test_what_is_no_scene_is_refused(content: bytes, code: str) -> None:
    assert refusal(content).code == code


def test_a_scene_that_is_cut_off_is_none() -> None:
    content = packed(towns.town(1))
    for end in (len(content) - 1, len(content) // 2, 3):
        assert refusal(content[:end]).code == "not_a_scene"
    assert refusal(as_json(towns.town(1))[:-3]).code == "not_json"


class Parts:
    """Parts of a scene that were looked at, and messages and numbers that were made of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looked = self.messages = self.objects = 0
        check, message, vehicles = scene_message._check_parts, scene_message.Scene, scenes.vehicles

        def each(parts: Iterator[object]) -> Iterator[object]:
            for part in parts:
                self.looked += 1
                yield part

        def made() -> Scene:
            self.messages += 1
            return message()

        def converted(tracks: Sequence[VehicleTrack]) -> Objects:
            self.objects += len(tracks)
            return vehicles(tracks)

        monkeypatch.setattr(scene_message, "_check_parts", lambda parts: check(each(parts)))
        monkeypatch.setattr(scene_message, "Scene", made)
        monkeypatch.setattr(scenes, "vehicles", converted)


HUGE = {
    "in a step": (100_000, 1, 0, "past_vehicle_tracks[24].tracks"),
    "in all steps": (4_000, 25, 0, "past_vehicle_tracks[0].tracks"),
    "with the future": (2_000, 25, 5, "scene"),
}


@pytest.mark.long
@pytest.mark.parametrize("form", [packed, as_json])
@pytest.mark.parametrize(("count", "steps", "future", "field"), HUGE.values(), ids=HUGE)
def test_a_hundred_thousand_objects_are_refused_soon(
    form: Callable[[Scene], bytes], count: int, steps: int, future: int, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any of them becomes numbers."""
    town = towns.empty()
    track = towns.VehicleTrack(track_id=1) if form is as_json else towns.vehicle(1, (1.5, 2.5), 0.3, 5.0)
    for _ in range(future):
        town.future_vehicle_tracks.add()
    for step in (*town.past_vehicle_tracks[-steps:], *town.future_vehicle_tracks):
        step.tracks.extend([track] * count)
    content, parts = form(town), Parts(monkeypatch)
    refused = refusal(content)
    assert count * (steps + future) <= parts.looked <= scene_message.MOST_PARTS
    assert (parts.messages, parts.objects) == (1, 0)
    assert (refused.code, refused.unit) == ("too_many", "objects")
    assert refused.field == field


@pytest.mark.parametrize("content", [b"\x12\x00", b"\x0a\x00"])
@pytest.mark.parametrize("number", [2, 7, None])
def test_many_empty_parts_are_refused_before_they_take_memory(
    number: int | None, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three million messages would take 240 MB; of their bytes, as many parts are looked at as may be, and one more."""
    many = content * 3_000_000
    if number == 7:
        many = wire.nested(1, many)
    whole = wire.nested(1, b"s") + (many if number is None else wire.nested(number, many))
    parts = Parts(monkeypatch)
    refused = refusal(whole)
    assert (refused.code, refused.field) == ("too_many", "scene")
    assert (parts.looked, parts.messages) == (scene_message.MOST_PARTS + 1, 0)


def test_parts_of_large_scenes_are_counted_as_they_are() -> None:
    """A large scene within the limits passes, cut off it does not, and groups are unknown to it."""
    town = towns.town(1, lanes=900, points=60)
    content = packed(town)
    assert len(content) > 1 << 20 > len(content) // 2
    assert len(scenes.parse(content).graph.lanes) == 900
    assert refusal(content[:-1]).code == "not_a_scene"
    assert refusal(content + b"\x0b").code == "not_a_scene"
    assert refusal(content + b"\x08" + b"\xff" * 11).code == "not_a_scene"
    assert len(scenes.parse(content + b"\x78\x01\x7d1234\x7912345678").graph.lanes) == 900, "unknown fields"


def test_too_many_bytes_are_not_looked_at() -> None:
    assert refusal(b"\x00" * (1 << 24) + b"\x00").code == "too_large"
    assert refusal(b"{" + b" " * (1 << 23)).code == "too_large"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with pytest.raises(BadScene):
        scenes.parse(content)
    with pytest.raises(BadScene):
        scenes.parse(b"{" + content)


@pytest.mark.parametrize("seed", range(150))
def test_broken_scenes_are_read_or_refused(seed: int) -> None:
    broken(packed(towns.town(0, lanes=4, cars=3, walkers=2)), seed)


@pytest.mark.parametrize("seed", range(60))
def test_broken_real_scenes_are_read_or_refused(real_scene: Path, seed: int) -> None:
    broken(real_scene.read_bytes(), seed)


def broken(content: bytes, seed: int) -> None:
    """Some bits are flipped, a piece is cut out or doubled; what is read all the same is drawn."""
    rng = np.random.default_rng(seed)
    bits = np.frombuffer(content, np.uint8).copy()
    for place in rng.integers(0, len(bits), rng.integers(1, 6)):
        bits[place] ^= 1 << rng.integers(0, 8)
    start, length = rng.integers(0, len(bits)), rng.integers(0, 40)
    pieces = [bits.tobytes(), bits[:start].tobytes() + bits[start + length :].tobytes()]
    pieces.append(bits[: start + length].tobytes() + bits[start:].tobytes())
    with suppress(BadScene):
        scene = scenes.parse(pieces[seed % 3])
        renderer = Renderer(scene, OFFICIAL)
        for track in [*scene.requests, *scene.seen][:6]:
            agent = scenes.agent(scene, track)
            assert np.isfinite(renderer.draw(agent)).all()
            assert scenes.past(scene, agent).shape == (scene.steps, 2)
