"""Artefacts as training builds them, of untrained networks of each kind: what is served is what the numerics say."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from models import npz
from models.artefact import Artefact, ArtefactError, write
from models.building import GOLDEN
from models.tasks.motion.artefact import build, recipe
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference import members, rip
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import parse
from models.tasks.motion.networks.settings import SAMPLES, Decoder, Sizes
from tests.models.motion.towns import town
from tests.models.motion.toys import untrained
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.sameness import timeless
from tests.services.tasks.motion.streets import agents
from tests.services.tasks.motion.test_service import same

SIZE = 64
KINDS: dict[str, tuple[Decoder, float, int]] = {
    "bc": ("bc", 0.0, 3),
    "dim": ("dim", 0.0, 1),
    "bc_dropout": ("bc", 0.2, 2),
}
"""Family to decoder, dropout and members."""
CONTENT = town(4, cars=7).SerializeToString()


@pytest.fixture(scope="module", params=KINDS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    decoder, dropout, count = KINDS[request.param]
    sizes = Sizes(decoder, "small", channels=(8, 8, 8, 8), hidden=16, dropout=dropout, unit=10.0, grid=SIZE)
    ensemble = Ensemble(
        family=request.param,
        networks=tuple(untrained(sizes, seed) for seed in range(count)),
        seeds=tuple(range(count)),
        training={"steps": 0},
        samples=SAMPLES if dropout else 1,
        sample_seed=5 if dropout else None,
    )
    folder: Path = tmp_path_factory.mktemp(request.param) / "artefact"
    return build.build(ensemble, Recipe(size=SIZE, plan_operator="LQ", request_operator="LQ"), folder)


async def test_what_is_served_is_what_the_numerics_say(built: Artefact) -> None:
    plan = recipe.read(built)
    renderer = Renderer(parse(CONTENT), plan.grid)
    maps = np.stack([renderer.draw(agent) for agent in agents(CONTENT)])
    expected = rip.predictive(*members.members(built)(maps), plan)
    async with serving(built) as served:
        answer, message = await served.answer(scene=CONTENT), await served.message(scene=CONTENT)
    same(answer, message)
    assert len(answer["answers"]) == 7
    for actual, plans, weights, total in zip(
        answer["answers"], expected.plans, expected.weights, expected.total, strict=True
    ):
        np.testing.assert_array_equal(np.array(actual["trajectories_m"], np.float32), plans)
        np.testing.assert_array_equal(np.array(actual["confidences"], np.float32), weights)
        np.testing.assert_array_equal(np.array(actual["total_m2"], np.float32), total)
        assert actual["decision"] == "DEFER", "nothing was calibrated"
        assert ("knowledge_m2" in actual) == (expected.knowledge is not None)


async def test_company_changes_no_digit(built: Artefact) -> None:
    contents = [town(seed, cars=1 + seed).SerializeToString() for seed in range(6)]
    async with serving(built, lanes=2) as served:
        alone = [await served.answer(scene=content) for content in contents]
        together = await asyncio.gather(*[served.answer(scene=content) for content in contents * 3])
    for number, response in enumerate(together):
        assert [*map(timeless, response["answers"])] == [*map(timeless, alone[number % len(contents)]["answers"])]


async def test_a_runtime_that_says_something_else_serves_nothing(built: Artefact, tmp_path: Path) -> None:
    with np.load(built.path(GOLDEN)) as recorded:
        arrays = {name: recorded[name] for name in recorded.files}
    arrays["plans"] = arrays["plans"] + np.float32(1)
    files = {name: built.path(name) for name in built.manifest.files}
    wrong = write(tmp_path / "wrong", built.manifest, files | {GOLDEN: npz.encode(arrays)})
    with pytest.raises(ArtefactError, match="does not compute what was calibrated"):
        async with serving(wrong):
            pass
