"""Recorded traffic of all cities: nobody breaks physics, the law or each other."""

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest

from simulators.motion import bicycle, lights, recording
from simulators.motion.cities import CITIES
from simulators.motion.drivers import DRY_BRAKING
from simulators.motion.lanes import NONE
from simulators.motion.parking import STEP
from simulators.motion.recording import Recording
from tests.models.motion.simulator.quarters import SEEDS, corners, overlap, recorded

every_recording = pytest.mark.parametrize(("city", "seed"), [(city, seed) for city in CITIES for seed in SEEDS])
NEAR = 130.0


def near(record: Recording, step: int) -> np.ndarray:
    """Which vehicles are there, and not at the edge of the quarter."""
    world = record.world
    return np.flatnonzero(world.there[step] & (np.hypot(world.x[step], world.y[step]) < NEAR))


def boxes(record: Recording, step: int, which: np.ndarray) -> np.ndarray:
    world = record.world
    return corners(world.x[step, which], world.y[step, which], world.yaw[step, which], world.size[which, :2])


@every_recording
def test_speed_and_acceleration_are_those_of_cars(city: str, seed: int) -> None:
    world = recorded(city, seed).world
    assert world.acceleration[world.there].min() >= -DRY_BRAKING - 1e-9
    assert world.acceleration[world.there].max() < 4.0
    assert world.speed.max() < 24
    sideways = world.speed * world.turning
    assert np.abs(sideways[world.there]).max() < 6.0


@every_recording
def test_cars_move_along_their_heading_as_fast_as_they_say(city: str, seed: int) -> None:
    record = recorded(city, seed)
    world = record.world
    both = world.there[1:] & world.there[:-1]
    x, y = np.diff(world.x, axis=0), np.diff(world.y, axis=0)
    pace = (world.speed[1:] + world.speed[:-1]) / 2
    heading = (world.yaw[1:] + world.yaw[:-1]) / 2
    ahead, aside = x * np.cos(heading) + y * np.sin(heading), y * np.cos(heading) - x * np.sin(heading)
    assert np.abs(ahead - pace * STEP)[both].max() < 0.12
    # the middle of a bicycle is before its rear axle, so it goes aside by less than the turn over the wheelbase
    turned = np.abs(np.diff(world.yaw, axis=0))
    assert (np.abs(aside) - (0.31 * world.size[:, 0] * turned + 0.05))[both].max() < 0.05
    tightest = 0.6 * world.size[: record.moving, 0] / np.tan(bicycle.LARGEST_STEERING)
    moved = np.hypot(x, y)[:, : record.moving]
    assert (turned[:, : record.moving] <= moved / tightest * 1.2 + 0.01).all()


@every_recording
def test_vehicles_do_not_run_into_each_other(city: str, seed: int) -> None:
    record = recorded(city, seed)
    for step in range(0, 50, 2):
        here = near(record, step)
        shapes, world = boxes(record, step, here), record.world
        apart = np.hypot(
            *(world.x[step, here][:, None] - world.x[step, here], world.y[step, here][:, None] - world.y[step, here])
        )
        reach = (world.size[here, 0][:, None] + world.size[here, 0]) / 2
        for a, b in np.argwhere(np.triu(apart < reach, 1)):
            assert overlap(shapes[a], shapes[b]) < 0.25, (city, seed, step, here[a], here[b])


@every_recording
def test_nobody_drives_over_people(city: str, seed: int) -> None:
    record = recorded(city, seed)
    world = record.world
    for step in range(50):
        here = near(record, step)
        moving = here[np.abs(world.speed[step, here]) > 0.5]
        for place in record.people[step]:
            dx, dy = place[0] - world.x[step, moving], place[1] - world.y[step, moving]
            yaw = world.yaw[step, moving]
            ahead, aside = np.cos(yaw) * dx + np.sin(yaw) * dy, np.cos(yaw) * dy - np.sin(yaw) * dx
            size = world.size[moving]
            hit = (np.abs(ahead) < size[:, 0] / 2 - 0.1) & (np.abs(aside) < size[:, 1] / 2)
            assert not hit.any(), (city, seed, step, moving[hit])


@every_recording
def test_cars_keep_to_the_road(city: str, seed: int) -> None:
    record = recorded(city, seed)
    scale, size = 4, 3400
    image = np.ones((size, size), np.uint8)
    for polygon in (*record.network.polygons, *record.lots):
        cv2.fillPoly(image, [np.round((polygon + size / scale / 2) * scale).astype(np.int32)], 0)
    outside = cv2.distanceTransform(image, cv2.DIST_L2, 5) / scale
    for step in range(0, 50, 5):
        here = near(record, step)
        cells = np.round((boxes(record, step, here) + size / scale / 2) * scale).astype(int)
        assert outside[cells[..., 1], cells[..., 0]].max() < 0.75  # a bumper over the kerb when parking


def test_red_lights_are_obeyed() -> None:
    crossed = 0
    for city in CITIES:
        for seed in SEEDS:
            record = recorded(city, seed)
            for step, car, state in entries_by_light(record):
                crossed += 1
                assert state != lights.RED, (city, seed, step, car)
    assert crossed > 20


def entries_by_light(record: Recording) -> list[tuple[int, int, int]]:
    """Step, car and state of the light for each bumper that comes over a stop line with a light."""
    world, passed = record.world, []
    cos, sin = np.cos(world.yaw), np.sin(world.yaw)
    front = np.stack([world.x + world.size[:, 0] / 2 * cos, world.y + world.size[:, 0] / 2 * sin], axis=2)
    lines = {}
    for lane in record.network.lanes:
        if lane.signal != NONE:
            begin, out = lane.points[0], lane.points[1] - lane.points[0]
            lines[tuple(begin.round(3))] = (begin, out / np.hypot(*out), lane.signal)
    for begin, out, signal in lines.values():
        ahead = (front - begin) @ out
        aside = np.abs((front - begin) @ np.array([-out[1], out[0]]))
        heading = cos * out[0] + sin * out[1]
        over = (ahead[:-1] < 0.8) & (ahead[1:] >= 0.8) & (ahead[1:] < 6) & (aside[1:] < 1.2) & (heading[1:] > 0.9)
        over &= world.there[1:] & world.there[:-1] & (np.arange(world.x.shape[1]) < record.moving)
        passed += [(int(step), int(car), int(record.lights[step, signal])) for step, car in np.argwhere(over)]
    return passed


def test_traffic_flows_stands_turns_and_leaves_kerbs() -> None:
    still = turned = started = stopped = cars = 0
    for city in CITIES:
        for seed in SEEDS:
            record = recorded(city, seed)
            here = [car for car in near(record, 24) if car < record.moving]
            speed, yaw = record.world.speed[:, here], record.world.yaw[:, here]
            cars += len(here)
            still += int((speed.max(axis=0) < 0.3).sum())
            turned += int((np.abs(yaw[-1] - yaw[24]) > 0.7).sum())
            started += int(((speed[24] < 0.3) & (speed[-1] > 2)).sum())
            stopped += int(((speed[24] > 2) & (speed[-1] < 0.3)).sum())
    assert 0.02 * cars < still < 0.5 * cars
    assert turned > 0.03 * cars
    assert started > 0.02 * cars
    assert stopped > 0.02 * cars


def test_parked_cars_stand_except_those_that_back_out() -> None:
    backing = 0
    for city in CITIES:
        for seed in SEEDS:
            record = recorded(city, seed)
            world = record.world
            parked = np.arange(world.x.shape[1]) >= record.moving
            moved = np.hypot(world.x[-1] - world.x[0], world.y[-1] - world.y[0])[parked]
            backing += int((moved > 0.5).sum())
            assert world.speed[:, parked].max(initial=0) <= 0
            assert moved.max(initial=0) < 6
    assert backing < 12


def test_cars_change_lanes() -> None:
    """Some car's lane index among the lanes of one road changes while it goes on."""
    changes = 0
    for city in ("Moscow", "Modiin", "TelAviv"):
        for seed in (0, 1, 2):
            record = recorded(city, seed)
            lanes = [lane for lane in record.network.lanes if lane.road != NONE]
            points = np.concatenate([lane.points for lane in lanes])
            owner = np.repeat(np.arange(len(lanes)), [len(lane.points) for lane in lanes])
            roads = np.array([lane.road for lane in lanes])
            for car in [car for car in near(record, 24) if car < record.moving]:
                on = []
                for step in (0, 12, 24, 36, 49):
                    away = np.hypot(*(points - [record.world.x[step, car], record.world.y[step, car]]).T)
                    on.append(int(owner[away.argmin()]) if away.min() < 0.8 else NONE)
                known = [lane for lane in on if lane != NONE]
                changes += any(a != b and roads[a] == roads[b] for a, b in pairwise(known))
    assert changes > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_quarter_where_nobody_drives_is_drawn_anew(seed: int) -> None:
    """A scene is seen from a car, and asks for others."""
    deserted = replace(CITIES["Innopolis"], density=0.5)
    assert recording.record(np.random.default_rng(seed), deserted, 1).moving >= 2
