"""What is measured: range, occlusion, noise, half turns of yaw."""

from dataclasses import replace

import numpy as np
import pytest

from simulators.motion import sensing
from simulators.motion.sensing import RANGE, World

STEPS, COUNT = 50, 60


def row_of_cars(spacing: float = 8.0, height: float = 1.5) -> World:
    """The ego car at the begin of a row of cars along x that stand."""
    shape = (STEPS, COUNT)
    zero = np.zeros(shape)
    x = np.broadcast_to(spacing * np.arange(COUNT), shape).astype(np.float64)
    size = np.tile([4.5, 1.8, height], (COUNT, 1))
    return World(x, zero, zero, zero, zero, zero, np.ones(shape, bool), size)


def seen(world: World, seed: int = 0) -> sensing.Seen:
    return sensing.vehicles(np.random.default_rng(seed), world, 0)


def test_the_car_that_measures_is_not_among_its_tracks() -> None:
    assert not seen(row_of_cars()).there[:, 0].any()


def test_what_is_far_is_not_seen() -> None:
    perceived = seen(row_of_cars())
    distance = 8.0 * np.arange(COUNT)
    near, far = (distance > 0) & (distance < RANGE - 25), distance > RANGE + 20
    assert perceived.there[:, near].mean() > 0.9
    assert not perceived.there[:, far].any()


def test_a_truck_hides_what_is_behind_it_and_cars_do_not() -> None:
    world = row_of_cars()
    size = world.size.copy()
    size[3, 2] = 3.2
    hidden = seen(replace(world, size=size)).there
    assert not hidden[:, 4:].any()
    assert hidden[:, 1:4].mean() > 0.9
    aside = world.y.copy()
    aside[:, 3] = 4.0
    assert seen(replace(world, size=size, y=aside)).there[:, 4:8].mean() > 0.9


def test_noise_is_centimetres_and_changes_slowly() -> None:
    world = replace(row_of_cars(), speed=np.full((STEPS, COUNT), 8.0))
    perceived = seen(world)
    error = perceived.position - np.stack([world.x, world.y], axis=2)
    assert 0.04 < error.std() < 0.12
    steps = np.diff(error, axis=0).std()
    assert steps < error.std()
    velocity = perceived.velocity - np.array([8.0, 0.0])
    assert 0.05 < velocity.std() < 0.25
    assert np.abs(perceived.acceleration).mean() < 1.0
    still = seen(row_of_cars())
    assert not still.velocity.any()
    assert not still.acceleration.any()


def test_yaw_is_known_up_to_half_a_turn() -> None:
    perceived = seen(row_of_cars())
    off = np.abs(np.asarray(sensing.wrapped(perceived.yaw)))
    forward, backward = off < 0.3, off > np.pi - 0.3
    assert (forward | backward).all()
    assert 0.02 < backward[0].mean() < 0.3
    turned = replace(row_of_cars(), speed=np.full((STEPS, COUNT), 8.0))
    again = seen(turned)
    moving = np.abs(np.asarray(sensing.wrapped(again.yaw))) > 1.5
    assert (moving == moving[0]).all()  # only what stands turns round from step to step


def test_accelerations_hold_both_directions() -> None:
    world = row_of_cars()
    world = replace(
        world,
        speed=np.full((STEPS, COUNT), 6.0),
        turning=np.full((STEPS, COUNT), 0.4),
        acceleration=np.full((STEPS, COUNT), -1.5),
    )
    mean = seen(world).acceleration.mean(axis=(0, 1))
    assert mean == pytest.approx([-1.5, 6 * 0.4], abs=0.1)


def test_few_tracks_are_lost_and_most_come_back() -> None:
    world = row_of_cars(spacing=0.8)
    there = seen(world).there[:, 5:55]
    assert 0.02 < (~there.all(axis=0)).mean() < 0.4
    assert there.mean() > 0.93


def test_people_are_seen_nearby() -> None:
    place = np.stack(np.broadcast_arrays(np.arange(0.0, 120.0, 4)[None], np.zeros((STEPS, 1))), axis=2)
    perceived = sensing.people(np.random.default_rng(0), place, np.zeros((STEPS, 2)))
    assert perceived.there[:, :8].mean() > 0.9
    assert not perceived.there[:, -6:].any()
    assert (perceived.size[:, 2] > 1).all()
