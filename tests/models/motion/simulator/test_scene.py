"""Scenes as official messages, read by those who read the official ones."""

from pathlib import Path

import numpy as np
import pytest

from models.tasks.motion.data import maneuvers, truth
from models.tasks.motion.data.futures import futures
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.render import CHANNEL_NAMES, Renderer
from models.tasks.motion.protocol import motion_pb2
from simulators.motion import scene
from simulators.motion.cities import CITIES
from tests.models.motion.simulator.quarters import simulated

every_city = pytest.mark.parametrize("city", CITIES)


def tracks(step: motion_pb2.VehicleTracks) -> dict[int, motion_pb2.VehicleTrack]:
    return {track.track_id: track for track in step.tracks}


@every_city
def test_a_scene_is_ten_seconds_far_from_its_origin(city: str) -> None:
    message = simulated(city)
    for past in (
        message.past_vehicle_tracks,
        message.past_pedestrian_tracks,
        message.past_ego_track,
        message.traffic_lights,
    ):
        assert len(past) == 25
    for future in (message.future_vehicle_tracks, message.future_pedestrian_tracks, message.future_ego_track):
        assert len(future) == 25
    ego = message.past_ego_track[-1].position
    assert 500 < np.hypot(ego.x, ego.y) < 5e4
    assert message.path_graph.lanes
    assert message.path_graph.road_polygons
    assert motion_pb2.Location.Name(message.scene_tags.track) == city
    assert all(getattr(message.scene_tags, name) for name in ("day_time", "season", "sun_phase", "precipitation"))


@every_city
def test_the_readers_of_official_scenes_take_it(city: str) -> None:
    message = simulated(city)
    parsed = scenes.parse(message.SerializeToString())
    assert not parsed.left_out
    requested = scenes.requested(parsed)
    assert requested
    assert len(requested) <= 20
    for track in requested:
        agent = scenes.agent(parsed, track)
        assert agent.unseen_steps == 0
        assert (
            np.hypot(agent.x - message.past_ego_track[-1].position.x, agent.y - message.past_ego_track[-1].position.y)
            < 72
        )


@every_city
def test_maps_show_the_agent_on_the_road(city: str) -> None:
    parsed = scenes.parse(simulated(city).SerializeToString())
    renderer = Renderer(parsed, OFFICIAL)
    road, occupied, lanes = (
        CHANNEL_NAMES.index(name) for name in ("road_polygons", "vehicle_occupancy", "lane_occupancy")
    )
    on_road = 0
    requested = scenes.requested(parsed)
    for track in requested:
        drawn = renderer.draw(scenes.agent(parsed, track))
        assert drawn[occupied, 62:66, 62:66].any()
        assert drawn[lanes].any()
        on_road += bool(drawn[road, 62:66, 62:66].any())
    assert on_road == len(requested)


def test_the_first_future_step_is_a_fifth_of_a_second_from_now() -> None:
    checked = 0
    for city in CITIES:
        message = simulated(city)
        before, now, after = (
            tracks(step)
            for step in (
                message.past_vehicle_tracks[-2],
                message.past_vehicle_tracks[-1],
                message.future_vehicle_tracks[0],
            )
        )
        for track in before.keys() & now.keys() & after.keys():
            places = np.array([(moment[track].position.x, moment[track].position.y) for moment in (before, now, after)])
            velocity = np.array([now[track].linear_velocity.x, now[track].linear_velocity.y])
            np.testing.assert_allclose(np.diff(places, axis=0) / 0.2, [velocity] * 2, atol=2.0)
            checked += 1
    assert checked > 50


@every_city
def test_truth_of_the_requests_is_read_and_tags_are_those_of_the_rules(city: str, tmp_path: Path) -> None:
    message = simulated(city)
    path = tmp_path / f"{message.id}.pb"
    path.write_bytes(message.SerializeToString())
    read = truth.read(path)
    assert len(read.rows) + len(read.left_out) == len(message.prediction_requests)
    assert read.trajectories.shape[1:] == (25, 2)
    now = tracks(message.past_vehicle_tracks[-1])
    future = [tracks(step) for step in message.future_vehicle_tracks]
    valid = 0
    for request, known in zip(message.prediction_requests, futures(path, message), strict=True):
        states = [step.get(request.track_id) for step in future]
        assert tuple(request.trajectory_tags) == maneuvers.of_tracks(now[request.track_id], states)
        assert (known.trajectory is None) == (None in states)
        if known.trajectory is not None:
            valid += 1
            assert np.abs(known.trajectory).max() < 130
    assert valid == len(read.rows)


@every_city
def test_lights_of_lanes_and_crosswalks_are_told_in_all_steps(city: str) -> None:
    message = simulated(city)
    for step in message.traffic_lights:
        lit = {section.id: section.state for section in step.sections}
        used = {lane.traffic_light_section_ids.main_section_id for lane in message.path_graph.lanes} - {0}
        used |= {
            section.id
            for crosswalk in message.path_graph.crosswalks
            for rule in crosswalk.control_rules
            for section in rule.sections
        }
        assert used == set(lit)


def test_lanes_say_who_gives_way_and_how_fast_one_may_go() -> None:
    lanes = [lane for city in CITIES for lane in simulated(city).path_graph.lanes]
    assert 0.05 < np.mean([lane.gives_way_to_some_lane for lane in lanes]) < 0.7
    limits = np.array([lane.max_velocity for lane in lanes])
    assert limits.min() > 5
    assert limits.max() < 25


@pytest.mark.long
def test_some_futures_are_partial_and_some_vehicles_miss_steps_of_the_past() -> None:
    partial = holes = 0
    for city in CITIES:
        for seed in (0, 1):
            message = simulated(city, seed)
            future = [tracks(step) for step in message.future_vehicle_tracks]
            partial += sum(
                not all(request.track_id in step for step in future) for request in message.prediction_requests
            )
            past = [tracks(step) for step in message.past_vehicle_tracks]
            holes += sum(any(track not in step for step in past) for track in past[-1])
    assert partial > 0
    assert holes > 0


def test_fewer_requests_are_thinned_at_random_from_the_same_scene() -> None:
    few = scene.simulate(np.random.default_rng([0, 13]), CITIES["Moscow"], 0, "Moscow-0", 3)
    many = simulated("Moscow")
    assert len(few.prediction_requests) == 3
    requested = {request.track_id for request in few.prediction_requests}
    assert requested <= set(tracks(many.past_vehicle_tracks[-1]))
    assert list(few.past_vehicle_tracks) == list(many.past_vehicle_tracks)


def test_equal_generators_give_equal_scenes() -> None:
    first = scene.simulate(np.random.default_rng([4, 13]), CITIES["TelAviv"], 0, "same")
    second = scene.simulate(np.random.default_rng([4, 13]), CITIES["TelAviv"], 0, "same")
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
    other = scene.simulate(np.random.default_rng([5, 13]), CITIES["TelAviv"], 0, "same")
    assert first.SerializeToString(deterministic=True) != other.SerializeToString(deterministic=True)
