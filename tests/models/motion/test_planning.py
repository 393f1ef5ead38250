"""Passes of many requests: what they say of each is what it would be told alone, to the last bit."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference import rip
from models.tasks.motion.inference.members import Members
from models.tasks.motion.inference.planning import MOST_REQUESTS, QUANTUM_SECONDS, Planning
from tests.models.motion import straight

RECIPE = Recipe(size=16)
Float32 = NDArray[np.float32]


@pytest.fixture(scope="module", params=[1, 3])
def planners(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Members:
    path: Path = tmp_path_factory.mktemp("straight") / "members.onnx"
    path.write_bytes(straight.graph(request.param, RECIPE.size))
    return members_of.opened(path, RECIPE)


def rows(count: int) -> Float32:
    return np.random.default_rng(1).normal(0, 5, (count, 17 * RECIPE.size**2)).astype(np.float32)


def same(first: object, other: object) -> None:
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, getattr(other, name))


def test_a_pass_says_what_the_numerics_say(planners: Members) -> None:
    planning = Planning(planners, RECIPE)
    batch = rows(5)
    arrays = planning(batch)
    assert {array.shape[-1] for array in arrays} == {5}
    same(planning.read(arrays), rip.predictive(*planners(batch.reshape(-1, *RECIPE.grid.shape)), RECIPE))


def test_cut_and_joined_passes_say_the_same(planners: Members) -> None:
    planning = Planning(planners, RECIPE)
    batch = rows(7)
    whole = planning(batch)
    for start, stop in ((0, 7), (2, 5), (6, 7)):
        part = planning(batch[start:stop])
        same(planning.read(part), planning.read(tuple(array[..., start:stop] for array in whole)))


def test_the_quantum_is_what_a_caller_may_wait_for(planners: Members) -> None:
    planning = Planning(planners, RECIPE)
    assert planning.quantum_rows == 1, "before it was measured"
    planning.measure(rows(4))
    assert 1 <= planning.quantum_rows <= MOST_REQUESTS
    assert planning.quantum_rows == 1 or planning.seconds(planning.quantum_rows) <= QUANTUM_SECONDS
    assert 0 < planning.seconds(1) < planning.seconds(2)


class Leaning:
    """Planners whose answers depend on how many requests share a pass, as kernels chosen by size do."""

    def __init__(self, planners: Members, largest: int) -> None:
        self.count, self.samples = planners.count, planners.samples
        self._planners, self._largest = planners, largest

    def __call__(self, maps: Float32) -> tuple[Float32, Float32]:
        plans, scores = self._planners(maps)
        return (plans if len(maps) <= self._largest else np.nextafter(plans, np.float32(np.inf))), scores


@pytest.mark.parametrize(("largest", "alone"), [(1, True), (MOST_REQUESTS, False)])
def test_where_company_would_change_a_digit_requests_pass_alone(planners: Members, largest: int, alone: bool) -> None:
    planning = Planning(Leaning(planners, largest), RECIPE)
    planning.measure(rows(4))
    assert (planning.quantum_rows == 1) == alone
